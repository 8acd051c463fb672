"""Fisher's discriminant analysis."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import svd

from likewise._numerics.spread import rounding_errors
from likewise._runtime.arrays import Array
from likewise._runtime.tensors import numpy_dtype
from likewise._runtime.threads import single_threaded_blas
from likewise._runtime.validation import (
    TableLike,
    check_labelled,
    check_n_components,
)
from likewise.base import fitting
from likewise.batch._covariance_learner import CovarianceLearner
from likewise.batch._scatter import group_means, mean_offsets
from likewise.metric import with_positive_peaks

_EPS = np.finfo(np.float64).eps


class FDA(CovarianceLearner):
    r"""FDA: maximise the variance between classes relative to the variance within classes.

    Fisher's (linear) discriminant analysis learns from labels. Use it to reduce the data to at most
    ``n_classes - 1`` dimensions, for instance for verification. With the class means
    :math:`m_c`, the overall mean m and the class sizes :math:`n_c`,

    .. math:: S_w = \frac1n \sum_i (x_i - m_{y_i})(x_i - m_{y_i})^\top, \qquad
              S_b = \sum_c \frac{n_c}{n} (m_c - m)(m_c - m)^\top,

    the rows of L are the generalised eigenvectors :math:`S_b w = \lambda S_w w` with
    :math:`\lambda > 0`, largest first, scaled to :math:`w^\top S_w w = 1`. Where the class means
    span fewer directions the last rows are zero.

    A direction in which the class means differ but no class varies separates the classes
    perfectly, and comes first: the rows are the limit of vanishing shrinkage, in which
    :math:`\lambda` is infinite. Its weight and eigenvalue are those of the smallest variance
    within classes that is not taken for rounding. Features that are constant within every class
    and differ between classes are named in a `DegenerateMetricWarning`.

    Parameters
    ----------
    n_components : int, optional
        Number of directions to keep; None keeps ``min(n_classes - 1, n_features)``, the maximum.
    shrinkage : float, "auto" or None
        Shrink the correlations within classes towards zero before inversion: 1 is all the way, None
        and 0 are no shrinkage. ``"auto"`` is the Ledoit–Wolf estimate if there are fewer than five
        independent samples per feature, else none.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        L.
    eigenvalues_ : array of shape (n_components,)
        λ: the ratio of the variance between classes to the variance within.

    Notes
    -----
    Class means are weighted by class size, as in Rao (1948) and in scikit-learn's
    ``LinearDiscriminantAnalysis``. Eq. 5 of the LMNN paper (Weinberger and Saul, 2009) weights all
    classes equally, :math:`C_b = \frac1C \sum_c m_c m_c^\top` for centred data. The two agree if
    all classes have the same size; otherwise Eq. 5 gives small classes more influence.

    References
    ----------
    R. A. Fisher, The use of multiple measurements in taxonomic problems, 1936. C. R. Rao, The
    utilization of multiple measurements in problems of biological classification, 1948.

    Examples
    --------
    >>> import likewise as lw
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> lw.FDA().fit(X, y).transform(X).shape
    (150, 2)
    """

    eigenvalues_: Array

    _separating: ClassVar[Literal["keep", "drop"]] = "keep"
    _few_suffice: ClassVar[bool] = True

    @fitting
    def fit(self, X: TableLike, y: ArrayLike) -> Self:
        """Learn from labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or Dask array or dataframe
            Training data.
        y : array-like of shape (n_samples,), or Dask array or series
            Labels of at least two classes.

        Returns
        -------
        FDA
            The fitted metric.
        """
        X, codes, classes = check_labelled(self, X, y, blocked=True, tensors=True)
        most = min(len(classes) - 1, X.shape[1])
        check_n_components(
            "FDA", self.n_components, most, "one fewer than classes, and no more than features"
        )
        means = group_means(X, codes)
        within_whitener = self._whitener(X, means, codes)
        if not within_whitener.any():
            raise ValueError(
                "The samples of each class are equal, but FDA needs two different ones in a class."
            )
        # In data whitened within classes, the discriminants are the principal directions of the
        # class means, weighted by class size.
        offsets = mean_offsets(X, means, codes) @ within_whitener.T
        with single_threaded_blas():
            _, values, directions = svd(offsets, full_matrices=False)
        components = with_positive_peaks(directions @ within_whitener)
        # Rounding of the data and of the sums above may separate equal means by this much.
        noise = (
            np.linalg.norm(components * rounding_errors(X), axis=1) + values[0] * X.shape[1] * _EPS
        )
        if not (values > noise).any():
            raise ValueError("All classes have the same mean, but FDA needs means that differ.")
        n_components = self.n_components or most
        values = np.where(values > noise, values, 0)[:n_components]
        self.eigenvalues_ = np.square(values).astype(numpy_dtype(X))
        return self._keep(components[:n_components] * (values > 0)[:, None], numpy_dtype(X))
