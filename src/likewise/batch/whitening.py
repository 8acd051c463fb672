"""Whitening: the inverse of the covariance matrix."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from likewise._runtime.tensors import numpy_dtype
from likewise._runtime.validation import TableLike, check_n_components, check_rows
from likewise.base import fitting
from likewise.batch._covariance_learner import CovarianceLearner
from likewise.batch._scatter import group_means


class Whitening(CovarianceLearner):
    r"""Whitening: the inverse of the data's covariance, which needs no supervision.

    The metric is the original Mahalanobis distance, :math:`M = \Sigma^{-1}`: after `transform` all
    features are uncorrelated with variance 1. Use it as a baseline, or before a method that
    assumes features of equal scale. Directions in which the data do not vary get weight zero.

    Parameters
    ----------
    n_components : int, optional
        Number of directions to keep: those of largest variance of the standardised features. None
        keeps all.
    shrinkage : float, "auto" or None
        Shrink the correlations of the features towards zero before inversion: 1 is all the way,
        None and 0 are no shrinkage. ``"auto"`` is the Ledoit–Wolf estimate if there are fewer than
        five independent samples per feature, else none.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        L, eigenvalues of M descending.

    See Also
    --------
    RCA : the same with the covariance within classes or groups.

    References
    ----------
    P. C. Mahalanobis, On the generalised distance in statistics, 1936. O. Ledoit, M. Wolf, A
    well-conditioned estimator for large-dimensional covariance matrices, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> import likewise as lw
    >>> X = np.random.default_rng(0).normal(size=(500, 2)) * [1.0, 100.0]
    >>> np.cov(lw.Whitening().fit_transform(X), rowvar=False, bias=True).round(6) + 0.0
    array([[1., 0.],
           [0., 1.]])
    """

    _needs_labels: ClassVar[bool] = False

    @fitting
    def fit(self, X: TableLike, y: Any = None) -> Self:
        """Learn from data without labels; `y` is ignored.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or Dask array or dataframe
            Training data with at least two different samples.
        y : ignored

        Returns
        -------
        Whitening
            The fitted metric.
        """
        X = check_rows(self, X, reset=True, min_rows=2, blocked=True, tensors=True)
        check_n_components("Whitening", self.n_components, X.shape[1], "the features of X")
        one_group = np.zeros(len(X), dtype=np.int64)
        means = group_means(X, one_group)
        components = self._whitener(X, means, one_group, n_axes=self.n_components)
        if not components.any():
            raise ValueError("All rows of X are equal, but Whitening needs two different rows.")
        return self._keep(components[: self.n_components], numpy_dtype(X))
