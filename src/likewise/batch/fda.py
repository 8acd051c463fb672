"""Fisher's discriminant analysis."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import svd

from likewise._runtime.threads import single_threaded_blas
from likewise._runtime.validation import (
    TableLike,
    check_labelled,
    check_n_components,
)
from likewise.base import fitting
from likewise.batch._covariance_learner import CovarianceLearner
from likewise.batch._scatter import group_means, rounding_of, whitener
from likewise.metric import with_positive_peaks

_EPS = np.finfo(np.float64).eps


class FDA(CovarianceLearner):
    r"""Fisher's discriminant analysis: the few directions that best separate the classes.

    With the scatter within classes :math:`S_w` and between class means :math:`S_b`, the rows of L
    are the generalised eigenvectors :math:`S_b w = \lambda S_w w` with :math:`\lambda > 0`,
    largest first, scaled to :math:`w^\top S_w w = 1`. There are at most one fewer than classes.
    Directions in which no class varies get weight zero, and where the class means span fewer
    directions the last rows are zero.

    Parameters
    ----------
    n_components : int, optional
        Directions to keep, at most ``min(n_classes - 1, n_features)``, which None keeps.
    shrinkage : float, "auto" or None
        Move the correlations within classes towards zero by this share before they are inverted;
        ``"auto"`` is Ledoit and Wolf's share. None and 0 change nothing.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        L.
    eigenvalues_ : array of shape (n_components,)
        λ: the variance between classes in units of the variance within.

    References
    ----------
    R. A. Fisher, The use of multiple measurements in taxonomic problems, 1936.

    Examples
    --------
    >>> import likewise as lw
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> lw.FDA().fit(X, y).transform(X).shape
    (150, 2)
    """

    @fitting
    def fit(self, X: TableLike, y: ArrayLike) -> Self:
        """Learn from labels.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The data.
        y : array-like of shape (n_rows,)
            Labels of at least two classes.

        Returns
        -------
        FDA
            The fitted metric.
        """
        X, codes, classes = check_labelled(self, X, y)
        most = min(len(classes) - 1, X.shape[1])
        check_n_components(
            "FDA", self.n_components, most, "one fewer than classes, and no more than features"
        )
        means = group_means(X, codes)
        rounder = whitener(X, means, codes, shrinkage=self.shrinkage)
        if not rounder.any():
            raise ValueError(
                "The rows of each class are equal, but FDA needs a class with two different rows."
            )
        # Where the scatter within is round, the discriminants are the principal directions of
        # the class means, each mean counted as often as its class has rows.
        share = np.bincount(codes) / len(codes)
        offsets = np.sqrt(share)[:, None] * (means - share @ means) @ rounder.T
        with single_threaded_blas():
            _, values, directions = svd(offsets, full_matrices=False)
        components = with_positive_peaks(directions @ rounder)
        # What rounding of the data, or of the sums above, may have put between equal means.
        noise = np.linalg.norm(components * rounding_of(X), axis=1) + values[0] * X.shape[1] * _EPS
        if not (values > noise).any():
            raise ValueError("All classes have the same mean, but FDA needs means that differ.")
        n_components = self.n_components or most
        values = np.where(values > noise, values, 0)[:n_components]
        self.eigenvalues_ = np.square(values).astype(X.dtype)
        return self._keep(components[:n_components] * (values > 0)[:, None], X.dtype)
