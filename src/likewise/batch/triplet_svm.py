"""Triplet-SVM."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike

from likewise._runtime.arrays import Array
from likewise._runtime.validation import TableLike, at_least, boolean
from likewise.base import fitting
from likewise.batch._margin_learner import COMMON_RULES, MarginLearner
from likewise.constraints import Triplets, triplets
from likewise.kernels import KERNEL_RULES


class TripletSVM(MarginLearner):
    r"""Triplet-SVM: a support vector machine on triplets, from labels or triplets.

    Each anchor should be closer to its positive than to its negative, by a margin of squared
    distance. Use it for ranking and nearest neighbours, where only the order of distances matters;
    `DoubletSVM` also learns a threshold. `LMNN` is similar, and also minimises the distances to
    the positives.

    With the differences :math:`v_{12}` of anchor and positive and :math:`v_{13}` of anchor and
    negative, it minimises

    .. math:: \min_M\ \tfrac12 \lVert M \rVert_F^2
              + C \sum_l \max(0,\; 1 - v_{13}^\top M v_{13} + v_{12}^\top M v_{12}),

    over all symmetric M: a one-class SVM on triplets. At the end M is projected on the positive
    semidefinite matrices.

    Parameters
    ----------
    n_same, n_different : int
        `fit` combines the `n_same` nearest neighbours of each sample in its class with its
        `n_different` nearest neighbours of other classes.
    C : float
        The weight of the sum of losses: the larger, the less regularisation.
    psd : bool
        Whether `matrix_` is that after the projection. `components_` always is.
    kernel : None, "linear", "rbf", "poly" or callable
        Learn in the feature space of a Mercer kernel. The model keeps all samples, and needs an
        n_samples × n_samples kernel matrix. A callable takes two arrays of samples and returns
        their kernel matrix.
    kernel_params : dict, optional
        Parameters of the kernel, named as in scikit-learn: "gamma" (default 1 / n_features),
        "coef0" (1), "degree" (3); or the keyword arguments of a callable.
    scale : "auto" or float
        Factor by which X is multiplied internally, since the margin of 1 fixes a unit of squared
        distance. "auto" makes the median squared distance of anchor and positive 1.
    tol : float
        The relative duality gap to reach. The relative distance of `objective_` to the minimum is
        at most this.
    max_iter : int
        The maximum number of steps of coordinate ascent and Newton steps, together.
    n_jobs : int or None
        Number of threads; None uses all cores. The result does not depend on it.
    warm_start : bool
        Start from the multipliers of the last fit, such as one with a smaller C.
    verbose : int
        1 shows a progress bar.

    Attributes
    ----------
    components_ : array of shape (n_features, n_features)
        L, with eigenvalues of M in descending order. With a kernel, `components_` and `matrix_` are
        over the kernel principal components instead of the features.
    matrix_ : array of shape (n_features, n_features)
        M; with ``psd=False`` that of the SVM, which may be indefinite.
    dual_coef_, support_pairs_ : arrays
        The coefficients λ of the support triplets, and their indices in the list of triplets.
    duality_gap_ : float
        The relative duality gap ``(primal - dual) / primal`` at the solution.
    history_ : dict of arrays
        "primal", "dual" and "gap": both objectives and the relative gap at every step.
    objective_, n_iter_, converged_
        The primal objective, the number of steps, and whether `tol` was reached.

    References
    ----------
    F. Wang, W. Zuo, L. Zhang, D. Meng, D. Zhang, A kernel classification framework for metric
    learning, IEEE TNNLS 26(9), 2015.

    Examples
    --------
    >>> import likewise as lw
    >>> X = [[0.0, 0.0], [0.1, 4.0], [0.0, 2.0], [3.0, 1.0], [3.1, 4.0], [2.9, 0.0]]
    >>> svm = lw.TripletSVM(1, 1).fit(X, ["a", "a", "a", "b", "b", "b"])
    >>> near, far = svm.pair_distance([[0.0, 0.0], [0.0, 0.0]], [[0.0, 3.0], [3.0, 0.0]])
    >>> print(near < far)
    True
    """

    _rules: ClassVar = {
        "n_same": at_least(1),
        "n_different": at_least(1),
        "psd": boolean(),
        **COMMON_RULES,
        **KERNEL_RULES,
    }

    def __init__(
        self,
        n_same: int = 1,
        n_different: int = 1,
        C: float = 1.0,
        *,
        psd: bool = True,
        kernel: str | Callable[..., Any] | None = None,
        kernel_params: dict[str, Any] | None = None,
        scale: str | float = "auto",
        tol: float = 1e-3,
        max_iter: int = 500,
        n_jobs: int | None = None,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        self.n_same = n_same
        self.n_different = n_different
        self.C = C
        self.psd = psd
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.scale = scale
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.verbose = verbose

    @fitting
    def fit_triplets(self, X: TableLike, triplets: ArrayLike) -> Self:
        """Fit the metric to triplets.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The data.
        triplets : int array-like of shape (n_triplets, 3)
            Sample indices: anchor, positive, negative.

        Returns
        -------
        TripletSVM
            The fitted metric.
        """
        return self._fit_triplets(X, triplets)

    def _constraints(self, X: Array, labels: Array) -> Triplets:
        return triplets(X, labels, self.n_same, self.n_different, n_jobs=self.n_jobs)
