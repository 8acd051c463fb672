"""Whose neighbours a metric changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from likewise._runtime.arrays import FloatArray, IndexArray
from likewise._runtime.validation import at_least, check_parameters
from likewise.evaluation.knn_error import rows_and_labels
from likewise.neighbors import nearest


@dataclass(frozen=True, eq=False)
class NeighborChanges:
    """Neighbours of test rows under two metrics.

    Attributes
    ----------
    before, after : array of int of shape (n_test, n_neighbors)
        Training rows, nearest first, under the one and the other metric.
    right_before, right_after : array of int of shape (n_test,)
        How many of them are of the test row's own class.
    """

    before: IndexArray
    after: IndexArray
    right_before: IndexArray
    right_after: IndexArray

    @property
    def n_neighbors(self) -> int:
        """The number of neighbours."""
        return int(self.before.shape[1])

    @property
    def counts(self) -> IndexArray:
        """Test rows by right neighbours before (first index) and after (second): a table."""
        size = self.n_neighbors + 1
        codes = self.right_before * size + self.right_after
        return np.bincount(codes, minlength=size**2).reshape(size, size).astype(np.int64)

    @property
    def replaced(self) -> FloatArray:
        """The share of each test row's neighbours that are others than before."""
        kept = (self.before[:, :, None] == self.after[:, None, :]).any(axis=2)
        return np.asarray(1.0 - kept.mean(axis=1))

    def largest(self, n_rows: int, *, gained: bool = True) -> IndexArray:
        """Return the test rows that gained (or lost) most neighbours of their own class.

        Parameters
        ----------
        n_rows : int
            At most this number; rows that neither gain nor lose are left out.
        gained : bool, default=True
            False for those that lost.

        Returns
        -------
        array of int
            Row numbers, the largest change first; of equal ones, the first row.
        """
        change = (self.right_after - self.right_before) * (1 if gained else -1)
        order = np.argsort(-change, kind="stable")[:n_rows]
        return order[change[order] > 0].astype(np.int64)


def neighbor_changes(
    X_train: ArrayLike,
    y_train: ArrayLike,
    X_test: ArrayLike,
    y_test: ArrayLike,
    *,
    metric: Any,
    before: Any = None,
    n_neighbors: int = 3,
    n_jobs: int | None = None,
) -> NeighborChanges:
    """Find which test rows have other neighbours under a metric, and whether better ones.

    Parameters
    ----------
    X_train, y_train, X_test, y_test : array-like
        Rows and labels. Neighbours are training rows; test rows should be others than those that
        the metric was learned from.
    metric : fitted transformer
        Distances are Euclidean after its `transform`.
    before : fitted transformer, optional
        What it is compared with; by default the Euclidean distance of the rows as given.
    n_neighbors : int, default=3
        Neighbours of each test row.
    n_jobs : int, optional
        Threads; all cores by default.

    Returns
    -------
    NeighborChanges

    Examples
    --------
    >>> import likewise as lw
    >>> from likewise.evaluation import neighbor_changes
    >>> wine = lw.datasets.load("wine")
    >>> X, y, X_new, y_new = wine.X[::2], wine.y[::2], wine.X[1::2], wine.y[1::2]
    >>> changes = neighbor_changes(X, y, X_new, y_new, metric=lw.FDA().fit(X, y))
    >>> int(changes.right_before.sum()), int(changes.right_after.sum())
    (178, 260)
    >>> changes.largest(3)
    array([10, 64, 78])
    """
    check_parameters("neighbor_changes", {"n_neighbors": n_neighbors}, {"n_neighbors": at_least(1)})
    found = []
    for one in (before, metric):
        train, labels = rows_and_labels(X_train, y_train, "train", one, "neighbor_changes")
        test, truth = rows_and_labels(X_test, y_test, "test", one, "neighbor_changes")
        if train.shape[1] != test.shape[1]:
            raise ValueError(
                f"X_train has {train.shape[1]} features and X_test {test.shape[1]}, but they must "
                "have the same."
            )
        if n_neighbors > len(train):
            raise ValueError(
                f"n_neighbors is {n_neighbors}, but there are {len(train)} training rows."
            )
        _, index = nearest(test, train, n_neighbors, n_jobs=n_jobs)
        right = (labels[index] == truth[:, None]).sum(axis=1)
        found.append((index, right.astype(np.int64)))
    (old, right_before), (new, right_after) = found
    return NeighborChanges(old, new, right_before, right_after)
