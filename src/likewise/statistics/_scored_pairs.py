"""Pairs with their distances, in both orders in which they become errors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from likewise._runtime.arrays import BoolArray, FloatArray, IndexArray
from likewise._runtime.validation import warn_user
from likewise.statistics._error_order import ErrorOrder
from likewise.statistics._pair_units import check_scored_pairs, count_items, units_of_pairs
from likewise.statistics.dyadic import FEW_DEGREES_OF_FREEDOM


@dataclass(frozen=True, eq=False)
class ScoredPairs:
    """Pairs with their distances.

    Attributes
    ----------
    distances : array of shape (n_pairs,)
    same : array of bool of shape (n_pairs,)
    units : array of shape (n_pairs, 2) or None
        What pairs share; None if they are independent.
    n_items : int
    unit : {"items", "subjects"}
        What the units are.
    """

    distances: FloatArray
    same: BoolArray
    units: IndexArray | None
    n_items: int
    unit: Literal["items", "subjects"]

    @classmethod
    def check(
        cls,
        distances: ArrayLike,
        same: ArrayLike,
        items: ArrayLike | None,
        groups: ArrayLike | None,
        name: str = "distances",
    ) -> Self:
        """Check what a user gave; `name` is that of the distances."""
        values, flags = check_scored_pairs(distances, same, name)
        units = None
        if items is not None:
            units = units_of_pairs(items, groups, n_pairs=len(values))
        elif groups is not None:
            raise ValueError("groups is given, but items, which are positions in it, are not.")
        n_items = 2 * len(values) if items is None else count_items(items)
        return cls(values, flags, units, n_items, "items" if groups is None else "subjects")

    @property
    def n_same(self) -> int:
        """Number of same pairs."""
        return int(self.same.sum())

    @property
    def n_different(self) -> int:
        """Number of different pairs."""
        return len(self.same) - self.n_same

    @property
    def n_units(self) -> int:
        """Number of items, or of subjects."""
        return self.n_items if self.units is None else len(np.unique(self.units))

    def warn_of_few_degrees(self, degrees_of_freedom: float) -> None:
        """Warn if a variance rests on few items or subjects."""
        if degrees_of_freedom < FEW_DEGREES_OF_FREEDOM:
            warn_user(
                f"Few {self.unit} cause most of the errors: the interval has about "
                f"{degrees_of_freedom:.1f} degrees of freedom, fewer than "
                f"{FEW_DEGREES_OF_FREEDOM}, and may be too narrow."
            )

    @cached_property
    def different_pairs(self) -> ErrorOrder:
        """The different pairs, which are errors up to the threshold."""
        return ErrorOrder("different", self.distances, self.same, self.units)

    @cached_property
    def same_pairs(self) -> ErrorOrder:
        """The same pairs, which are errors beyond the threshold."""
        return ErrorOrder("same", self.distances, self.same, self.units)
