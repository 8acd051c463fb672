"""Pairs of one kind in the order in which they become errors."""

from __future__ import annotations

from typing import Literal

import numpy as np

from likewise._runtime.arrays import BoolArray, FloatArray, IndexArray
from likewise.statistics._rate_variances import RateVariances

GROWTH = 1.01  # of the number of errors from one threshold of the grid to the next


class ErrorOrder:
    """Pairs of one kind, from the threshold at which none is an error on.

    Different pairs become errors as the threshold rises, same pairs as it falls.

    Parameters
    ----------
    kind : {"different", "same"}
    distances : array of shape (n_pairs,)
        Of all pairs.
    same : array of bool of shape (n_pairs,)
    units : array of shape (n_pairs, 2) or None
        Of all pairs, in an order that does not depend on the distances; None if they are
        independent.

    Attributes
    ----------
    distances : array
        Of the pairs of this kind, in the order in which they become errors.
    variances : RateVariances or None
        Those of the share of errors, with the units in this order; None for independent pairs.
    """

    def __init__(
        self,
        kind: Literal["different", "same"],
        distances: FloatArray,
        same: BoolArray,
        units: IndexArray | None,
    ) -> None:
        self.rising = kind == "different"
        chosen = np.flatnonzero(same != self.rising)
        of_kind = distances[chosen]
        order = np.argsort(of_kind if self.rising else -of_kind, kind="stable")
        self.distances = of_kind[order]
        self.variances = None if units is None else RateVariances(units[chosen], order)

    def __len__(self) -> int:
        return len(self.distances)

    def count(self, thresholds: FloatArray) -> IndexArray:
        """Return the number of errors at each threshold."""
        if self.rising:
            return np.searchsorted(self.distances, thresholds, side="right")
        return np.searchsorted(-self.distances, -thresholds, side="left")

    def grid(self, start: int, stop: int) -> tuple[FloatArray, IndexArray]:
        """Return thresholds with `start` to `stop` errors, strict ones first, and these numbers.

        The numbers grow by one, later by `GROWTH`: they are known before the distances are. Among
        equal distances there is no threshold.
        """
        n_steps = int(np.log(max(stop, 2)) / np.log(GROWTH)) + 2
        numbers = np.append(np.geomspace(max(start, 1), max(stop, 1), n_steps), start)
        numbers = np.unique(np.rint(numbers).astype(np.int64))
        numbers = numbers[numbers <= stop]
        # A threshold accepts pairs of equal distance: the last error, or the first that is none.
        numbers = numbers[numbers > 0] if self.rising else numbers[numbers < len(self)]
        thresholds = np.unique(self.distances[numbers - 1 if self.rising else numbers])
        if not self.rising:
            thresholds = thresholds[::-1]
        return thresholds, self.count(thresholds)
