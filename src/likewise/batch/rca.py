"""Relevant component analysis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import svd

from likewise._runtime.arrays import Array, IndexArray
from likewise._runtime.blocks.rows import BlockedRows
from likewise._runtime.tensors import numpy_dtype
from likewise._runtime.threads import single_threaded_blas
from likewise._runtime.validation import (
    TableLike,
    check_labelled,
    check_n_components,
    check_rows,
)
from likewise.base import fitting
from likewise.batch._covariance_learner import CovarianceLearner
from likewise.batch._scatter import (
    Rows,
    group_means,
    group_sizes,
    in_one_group,
    map_groups,
    small_factor,
)
from likewise.constraints import Pairs, as_pairs, chunks_from_pairs, pairs_from_chunks
from likewise.metric import with_positive_peaks


class RCA(CovarianceLearner):
    r"""RCA: the inverse of the covariance within groups of similar samples.

    Relevant component analysis learns from chunklets (groups of samples known to be similar), from
    similar pairs, or from labels. Use it as a fast first choice where similar samples are known
    and dissimilar ones are not. Directions of large variance within groups are irrelevant and get
    small weight:

    .. math:: M = \Big(\frac1N \sum_j \sum_{x \in G_j} (x - m_j)(x - m_j)^\top\Big)^{-1},

    with :math:`m_j` the mean of group :math:`G_j` and N the number of grouped samples. Groups of
    one sample are not counted. Directions in which no group varies get weight zero; features that
    vary between groups only are named in a `DegenerateMetricWarning`.

    Parameters
    ----------
    n_components : int, optional
        Number of directions to keep: those with the largest ratio of total variance to variance
        within groups. None keeps all.
    shrinkage : float, "auto" or None
        Shrink the correlations within groups towards zero before inversion: 1 is all the way, None
        and 0 are no shrinkage. ``"auto"`` is the Ledoit–Wolf estimate if there are fewer than five
        independent samples per feature, else none.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        L, eigenvalues of M descending; with `n_components`, variance ratios descending.

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
    array([ 2.5, 22.6])
    >>> rca.fit_chunks(X, [[0, 1], [2, 3]]).fit_pairs(X, [[0, 1], [2, 3]], [True, True])
    RCA()
    """

    @fitting
    def fit(self, X: TableLike, y: ArrayLike) -> Self:
        """Learn from labels: each class is one group.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or Dask array or dataframe
            Training data.
        y : array-like of shape (n_samples,), or Dask array or series
            Labels of at least two classes.

        Returns
        -------
        RCA
            The fitted metric.
        """
        X, codes, _ = check_labelled(self, X, y, blocked=True, tensors=True)
        return self._learn(X, codes, X)

    @fitting
    def fit_chunks(self, X: TableLike, chunks: ArrayLike | Sequence[Sequence[int]]) -> Self:
        """Learn from chunklets: groups of samples that are known to be similar.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data.
        chunks : list of lists of row indices, or int array of shape (n_samples,)
            The groups, or the group number of each sample with -1 for none.

        Returns
        -------
        RCA
            The fitted metric.
        """
        X = check_rows(self, X, reset=True, min_rows=2, tensors=True)
        return self._learn_from_pairs(X, pairs_from_chunks(chunks, len(X)))

    @fitting
    def fit_pairs(self, X: TableLike, pairs: ArrayLike, same: ArrayLike) -> Self:
        """Learn from similar pairs; samples connected by such pairs form a group.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data.
        pairs : int array-like of shape (n_pairs, 2)
            Row indices into X.
        same : bool array-like of shape (n_pairs,)
            True for similar pairs; the others are not used.

        Returns
        -------
        RCA
            The fitted metric.
        """
        X = check_rows(self, X, reset=True, min_rows=2, tensors=True)
        return self._learn_from_pairs(X, as_pairs(pairs, same, len(X)))

    def _learn_from_pairs(self, X: Array, pairs: Pairs) -> Self:
        groups = chunks_from_pairs(pairs, len(X))
        if groups.max() < 0:
            raise ValueError("same is False for every pair, but RCA needs similar pairs.")
        return self._learn(X[np.flatnonzero(groups >= 0)], groups[groups >= 0], X)

    def _learn(self, X: Rows, groups: IndexArray, all_samples: Rows) -> Self:
        """Learn from grouped samples; `all_samples` includes those of no group."""
        check_n_components("RCA", self.n_components, X.shape[1], "the features of X")
        X, groups = _in_larger_groups(X, groups)
        if not len(X):
            raise ValueError("Every group has one sample, but RCA needs a group with two or more.")
        components = self._whitener(X, group_means(X, groups), groups)
        if not components.any():
            raise ValueError(
                "The samples of each group are equal, but RCA needs two different ones in a group."
            )
        if self.n_components is not None:
            components = _of_largest_variance(components, all_samples, self.n_components)
        return self._keep(components, numpy_dtype(X))


def _in_larger_groups(X: Rows, groups: IndexArray) -> tuple[Rows, IndexArray]:
    """Return the samples of groups of two or more, and their groups numbered anew."""
    larger = group_sizes(X, groups) > 1
    number = np.where(larger, np.cumsum(larger) - 1, -1)
    if isinstance(X, BlockedRows):
        return X.regrouped(number), groups
    grouped = larger[groups]
    return X[np.flatnonzero(grouped)], number[groups[grouped]]


def _of_largest_variance(components: Array, X: Rows, n_components: int) -> Array:
    """Rotate L so that its rows are the principal axes of the mapped X; return the first ones."""
    reduced = isinstance(X, BlockedRows)
    rows, one_group = in_one_group(X)
    mean = group_means(rows, one_group)

    def mapped(block: Array, members: IndexArray) -> Array:
        Z = np.asarray((block - mean) @ components.T)
        return small_factor(Z) if reduced else Z

    with single_threaded_blas():
        parts = map_groups(mapped, rows, one_group, max(1, len(X)), n_jobs=1)
        _, _, axes = svd(np.concatenate(parts), full_matrices=False)
        rotated = with_positive_peaks(axes[:n_components] @ components)
    return np.vstack([rotated, np.zeros((n_components - len(rotated), components.shape[1]))])
