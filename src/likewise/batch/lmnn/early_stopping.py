"""Rows held out to see when learning has gone far enough."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from likewise import neighbors
from likewise._runtime.arrays import Array, FloatArray, IndexArray
from likewise._runtime.validation import counted, shown
from likewise.batch.lmnn.preconditioning import CentredRows


class HeldOut(NamedTuple):
    """Rows that are not learned from, their classes, and the classes of the others."""

    X: Array
    codes: IndexArray
    codes_learned_from: IndexArray

    def error(self, nearest: IndexArray) -> float:
        """Return the share of the rows whose nearest of the others vote for a wrong class."""
        codes = self.codes_learned_from
        winners, _ = neighbors.vote(codes[nearest], int(codes.max()) + 1)
        return float(np.mean(winners != self.codes))


def split_off(
    codes: IndexArray,
    classes: Array,
    weights: FloatArray,
    fraction: float | None,
    n_neighbors: int,
    random_state: Any,
) -> tuple[IndexArray, IndexArray]:
    """Return the rows to learn from and those held out: `fraction` of each class, at random.

    All rows are learned from if `fraction` is None.
    """
    if fraction is None:
        return np.arange(len(codes)), np.empty(0, dtype=np.int64)
    random = check_random_state(random_state)
    held: list[IndexArray] = []
    for code, label in enumerate(classes):
        members = np.flatnonzero(codes == code)
        n_held = round(fraction * len(members))
        if n_held < 1 or len(members) - n_held <= n_neighbors:
            raise ValueError(
                f"validation_fraction={fraction} would hold out {n_held} of the "
                f"{counted(len(members), 'row')} of class {shown(label)}, but at least 1 must be "
                f"held out and {n_neighbors + 1} be left for n_neighbors={n_neighbors}."
            )
        held.append(random.permutation(members)[:n_held])
    left = np.zeros(len(codes), dtype=bool)
    left[np.concatenate(held)] = True
    if not weights[~left].any():
        raise ValueError(
            f"validation_fraction={fraction} would hold out every row whose sample_weight is not "
            "0, but at least 1 must be left to learn from."
        )
    return np.flatnonzero(~left), np.flatnonzero(left)


class HeldOutError:
    """The error rate on the held-out rows, as a function of the solver's point.

    Parameters
    ----------
    held_out : HeldOut
    data : CentredRows
        The rows that are learned from.
    forth : array
        Brings the solver's point back to an L for them.
    k : int
        How many neighbours vote.
    n_jobs : int or None
    """

    def __init__(
        self, held_out: HeldOut, data: CentredRows, forth: Array, k: int, n_jobs: int | None
    ) -> None:
        self.held_out, self.data, self.forth = held_out, data, forth
        self.asked = data.like(held_out.X)
        self.k, self.n_jobs = k, n_jobs

    def __call__(self, x: Array) -> float:
        """Return the error rate at a point of the solver."""
        across = (x @ self.forth).T.astype(self.asked.dtype)
        _, index = neighbors.nearest(
            self.asked @ across, self.data.rows @ across, self.k, n_jobs=self.n_jobs
        )
        return self.held_out.error(index)
