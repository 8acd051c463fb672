"""Early stopping of LMNN by the error rate on a validation set."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from likewise import neighbors
from likewise._runtime.arrays import Array, FloatArray, IndexArray
from likewise.batch.lmnn.preconditioning import CentredData


class ValidationSet(NamedTuple):
    """Held-out rows, their classes, and the classes of the training rows."""

    X: Array
    codes: IndexArray
    train_codes: IndexArray

    def error_rate(self, nearest: IndexArray) -> float:
        """Return the error rate of the vote of the `nearest` training rows of each row."""
        n_classes = int(self.train_codes.max()) + 1
        predicted, _ = neighbors.vote(self.train_codes[nearest], n_classes)
        return float(np.mean(predicted != self.codes))


def split_validation(
    codes: IndexArray,
    weights: FloatArray,
    fraction: float | None,
    random_state: Any,
    solver: str = "lbfgs",
) -> tuple[IndexArray, IndexArray]:
    """Return the row numbers of a stratified random split: training rows, validation rows.

    There are no validation rows if `fraction` is None. At least one row of each class is a training
    row.
    """
    if fraction is None:
        return np.arange(len(codes)), np.empty(0, dtype=np.int64)
    if solver == "projected":
        raise ValueError(
            "solver='projected' has no early stopping, but validation_fraction="
            f"{fraction} asks for it; solver='lbfgs' has."
        )
    random = check_random_state(random_state)
    held_out = np.zeros(len(codes), dtype=bool)
    for code in range(int(codes.max()) + 1):
        members = np.flatnonzero(codes == code)
        n_held = min(round(fraction * len(members)), len(members) - 1)
        held_out[random.permutation(members)[:n_held]] = True
    if not held_out.any():
        raise ValueError(
            f"validation_fraction={fraction} would hold out none of the {len(codes)} rows, but at "
            "least 1 is needed."
        )
    if np.bincount(codes[~held_out]).max() < 2:
        raise ValueError(
            f"validation_fraction={fraction} would leave 1 row of each class, but at least one "
            "class needs 2 to learn from."
        )
    if not weights[~held_out].any():
        raise ValueError(
            f"validation_fraction={fraction} would hold out every row whose anchor_weight is not "
            "0, but at least 1 must be left to learn from."
        )
    return np.flatnonzero(~held_out), np.flatnonzero(held_out)


class ErrorRate:
    """The error rate on the validation set, as a function of the solver's variable.

    Parameters
    ----------
    validation : ValidationSet
    data : CentredData
        The training rows.
    to_original : array of shape (n_features, n_features)
        ``L = x @ to_original`` for the solver's variable x.
    n_neighbors : int
        Number of neighbours that vote.
    n_jobs : int or None
    """

    queries: Array

    def __init__(
        self,
        validation: ValidationSet,
        data: CentredData,
        to_original: Array,
        n_neighbors: int,
        n_jobs: int | None,
    ) -> None:
        self.validation = validation
        self.data = data
        self.to_original = to_original
        self.queries = data.centre_and_scale(validation.X)
        self.n_neighbors = n_neighbors
        self.n_jobs = n_jobs

    def __call__(self, x: Array) -> float:
        """Return the error rate at x."""
        L = x @ self.to_original
        index = self.data.nearest(self.queries, L, self.n_neighbors, self.n_jobs)
        return self.validation.error_rate(index)
