"""The inverse of the covariance: Mahalanobis' own distance."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from likewise._validation import TableLike, check_rows
from likewise.base import MetricLearner, fitting
from likewise.batch._scatter import group_means, whitener


class Whitening(MetricLearner):
    r"""Whitening: distances in units of the data's own spread, without labels.

    The metric is the inverse of the covariance, :math:`M = \Sigma^{-1}`: after `transform` all
    features are uncorrelated with variance 1. Directions in which the data do not vary get
    weight zero.

    Attributes
    ----------
    components_ : array of shape (n_features, n_features)
        L, eigenvalues of M descending.

    See Also
    --------
    RCA : the same with the spread within classes or groups.

    References
    ----------
    P. C. Mahalanobis, On the generalised distance in statistics, 1936.

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
        """Learn from rows; `y` is ignored.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            At least two different rows.
        y : ignored

        Returns
        -------
        Whitening
            The fitted metric.
        """
        X = check_rows(self, X, reset=True, min_rows=2)
        together = np.zeros(len(X), dtype=np.int64)
        components = whitener(X, group_means(X, together), together)
        if not components.any():
            raise ValueError("All rows of X are equal, but Whitening needs two different rows.")
        return self._keep(components, X.dtype)
