"""Pairs with their distances, in both orders in which they become errors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from likewise._runtime.arrays import BoolArray, FloatArray, IndexArray
from likewise.statistics._error_order import ErrorOrder


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
    unit: str

    @cached_property
    def different_pairs(self) -> ErrorOrder:
        """The different pairs, which are errors up to the threshold."""
        return ErrorOrder("different", self.distances, self.same, self.units)

    @cached_property
    def same_pairs(self) -> ErrorOrder:
        """The same pairs, which are errors beyond the threshold."""
        return ErrorOrder("same", self.distances, self.same, self.units)
