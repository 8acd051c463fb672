"""Relevant component analysis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import svd

from likewise._runtime.arrays import Array, IndexArray
from likewise._runtime.threads import single_threaded_blas
from likewise._runtime.validation import (
    TableLike,
    check_labelled,
    check_n_components,
    check_rows,
)
from likewise.base import fitting
from likewise.batch._covariance_learner import CovarianceLearner
from likewise.batch._scatter import group_means, whitener
from likewise.constraints import Pairs, as_pairs, chunks_from_pairs, pairs_from_chunks
from likewise.metric import with_positive_peaks


class RCA(CovarianceLearner):
    r"""Relevant component analysis: what varies among alike things does not matter.

    The metric is the inverse of the mean covariance within groups of rows known to be alike,

    .. math:: M = \Big(\frac1N \sum_j \sum_{x \in G_j} (x - m_j)(x - m_j)^\top\Big)^{-1},

    with :math:`m_j` the mean of group :math:`G_j` and N the number of grouped rows. A group of
    one row says nothing and is not counted. Directions in which no group varies get weight zero,
    since nothing is known of them.

    Parameters
    ----------
    n_components : int, optional
        Keep only that many directions: those in which all rows vary most, in units of the
        variation within groups. None keeps all.
    shrinkage : float, "auto" or None
        Move the correlations within groups towards zero by this share before they are inverted;
        ``"auto"`` is Ledoit and Wolf's share. None and 0 change nothing.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        L, eigenvalues of M descending; with `n_components`, ratios of variances descending.

    References
    ----------
    A. Bar-Hillel, T. Hertz, N. Shental, D. Weinshall, Learning a Mahalanobis metric from
    equivalence constraints, JMLR 6, 2005.

    Examples
    --------
    >>> import likewise as lw
    >>> X = [[0.0, 0.0], [0.0, 4.0], [9.0, 1.0], [9.5, 3.0]]
    >>> rca = lw.RCA().fit(X, ["a", "a", "b", "b"])
    >>> rca.pair_distance([[0.0, 0.0], [0.0, 0.0]], [[0.0, 4.0], [4.0, 0.0]]).round(1)
    array([ 2.8, 25.3])
    >>> rca.fit_chunks(X, [[0, 1], [2, 3]]).fit_pairs(X, [[0, 1], [2, 3]], [True, True])
    RCA()
    """

    @fitting
    def fit(self, X: TableLike, y: ArrayLike) -> Self:
        """Learn from labels: the rows of one class are one group.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The data.
        y : array-like of shape (n_rows,)
            Labels of at least two classes.

        Returns
        -------
        RCA
            The fitted metric.
        """
        X, codes, _ = check_labelled(self, X, y)
        return self._learn(X, codes, X)

    @fitting
    def fit_chunks(self, X: TableLike, chunks: ArrayLike | Sequence[Sequence[int]]) -> Self:
        """Learn from groups of rows that are known to be alike.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The data.
        chunks : list of lists of row numbers, or int array of shape (n_rows,)
            The groups, or the group number of each row with -1 for none.

        Returns
        -------
        RCA
            The fitted metric.
        """
        X = check_rows(self, X, reset=True, min_rows=2)
        return self._learn_from_pairs(X, pairs_from_chunks(chunks, len(X)))

    @fitting
    def fit_pairs(self, X: TableLike, pairs: ArrayLike, same: ArrayLike) -> Self:
        """Learn from pairs; rows joined by *same* pairs form a group.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The data.
        pairs : int array-like of shape (n_pairs, 2)
            Row numbers.
        same : bool array-like of shape (n_pairs,)
            True where the two rows are alike; the other pairs are not used.

        Returns
        -------
        RCA
            The fitted metric.
        """
        X = check_rows(self, X, reset=True, min_rows=2)
        return self._learn_from_pairs(X, as_pairs(pairs, same, len(X)))

    def _learn_from_pairs(self, X: Array, pairs: Pairs) -> Self:
        groups = chunks_from_pairs(pairs, len(X))
        if groups.max() < 0:
            raise ValueError("same is False for every pair, but RCA needs pairs that are alike.")
        return self._learn(X[groups >= 0], groups[groups >= 0], X)

    def _learn(self, X: Array, groups: IndexArray, everything: Array) -> Self:
        """Learn from grouped rows; `everything` is X with the rows of no group."""
        check_n_components("RCA", self.n_components, X.shape[1], "the features of X")
        grouped = np.bincount(groups)[groups] > 1
        X, groups = X[grouped], np.unique(groups[grouped], return_inverse=True)[1]
        if not len(X):
            raise ValueError("Every group has one row, but RCA needs a group with two or more.")
        components = whitener(X, group_means(X, groups), groups, shrinkage=self.shrinkage)
        if not components.any():
            raise ValueError(
                "The rows of each group are equal, but RCA needs a group with two different rows."
            )
        if self.n_components is not None:
            components = _most_varying(components, everything, self.n_components)
        return self._keep(components, X.dtype)


def _most_varying(components: Array, X: Array, count: int) -> Array:
    """Return L turned so that its rows are the directions in which X varies, the first most."""
    together = np.zeros(len(X), dtype=np.int64)
    centred = X - group_means(X, together)
    with single_threaded_blas():
        _, _, axes = svd(centred @ components.T, full_matrices=False)
        turned = with_positive_peaks(axes[:count] @ components)
    return np.vstack([turned, np.zeros((count - len(turned), components.shape[1]))])
