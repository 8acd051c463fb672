"""Nonnegative-coefficient constrained metric learning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from likewise._runtime.arrays import Array
from likewise._runtime.validation import at_least
from likewise.batch._margin_learner import COMMON_RULES, PairMarginLearner
from likewise.cones import Cone, ConicHull
from likewise.constraints import Pairs, nearest_and_farthest_pairs
from likewise.kernels import KERNEL_RULES


class NCML(PairMarginLearner):
    r"""NCML: the doublet-SVM over non-negative combinations of pairs, from labels or pairs.

    Nonnegative-coefficient constrained metric learning. Use it where M should be positive
    semidefinite in the feature space of a kernel, too: all computations are inner products.

    With the difference v of a pair, h = +1 for *different* and -1 for *same*, it minimises

    .. math:: \min_{\alpha \ge 0,\,b}\ \tfrac12 \lVert M \rVert_F^2
              + C \sum_l \max(0,\; 1 - h_l\,(v_l^\top M v_l + b)),
              \qquad M = \sum_l \alpha_l v_l v_l^\top.

    Parameters
    ----------
    n_neighbors : int
        `fit` pairs each sample with its `n_neighbors` nearest samples of the same class and its
        `n_neighbors` *farthest* samples of other classes.
    C : float
        The weight of the sum of losses: the larger, the less regularisation.
    kernel : None, "linear", "rbf", "poly" or callable
        Learn in the feature space of a Mercer kernel. The model keeps all samples, and needs an
        n_samples × n_samples kernel matrix. A callable takes two arrays of samples and returns
        their kernel matrix.
    kernel_params : dict, optional
        Parameters of the kernel, named as in scikit-learn: "gamma" (default 1 / n_features),
        "coef0" (1), "degree" (3); or the keyword arguments of a callable.
    scale : "auto" or float
        Factor by which X is multiplied internally, since the margin of 1 fixes a unit of squared
        distance. "auto" makes the median squared distance of the *same* pairs 1.
    tol : float
        The relative duality gap to reach. The relative distance of `objective_` to the minimum is
        at most this.
    max_iter : int
        The maximum number of Newton steps.
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
        M.
    intercept_, threshold_ : float
        The intercept b for squared distances, and the decision threshold for distances,
        ``√max(0, -b)``.
    dual_coef_, support_pairs_ : arrays
        The coefficients λh of the support pairs, and their indices in the list of pairs.
    duality_gap_ : float
        The relative duality gap ``(primal - dual) / primal`` at the solution.
    history_ : dict of arrays
        "primal", "dual" and "gap": both objectives and the relative gap at every step.
    objective_, n_iter_, converged_
        The primal objective, the number of steps, and whether `tol` was reached.

    References
    ----------
    W. Zuo, F. Wang, D. Zhang, L. Lin, Y. Huang, D. Meng, L. Zhang, Distance metric learning via
    iterated support vector machines, IEEE TIP 26(10), 2017.

    Examples
    --------
    >>> import likewise as lw
    >>> X = [[0.0, 0.0], [0.1, 4.0], [0.0, 2.0], [3.0, 1.0], [3.1, 4.0], [2.9, 0.0]]
    >>> ncml = lw.NCML().fit(X, ["a", "a", "a", "b", "b", "b"])
    >>> near, far = ncml.pair_distance([[0.0, 0.0], [0.0, 0.0]], [[0.0, 3.0], [3.0, 0.0]])
    >>> print(near < far)
    True
    """

    _rules: ClassVar = {"n_neighbors": at_least(1), **COMMON_RULES, **KERNEL_RULES}

    def __init__(
        self,
        n_neighbors: int = 1,
        C: float = 1.0,
        *,
        kernel: str | Callable[..., Any] | None = None,
        kernel_params: dict[str, Any] | None = None,
        scale: str | float = "auto",
        tol: float = 1e-3,
        max_iter: int = 500,
        n_jobs: int | None = None,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.C = C
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.scale = scale
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.verbose = verbose

    def _cone(self) -> Cone:
        return ConicHull()

    def _constraints(self, X: Array, labels: Array) -> Pairs:
        return nearest_and_farthest_pairs(X, labels, self.n_neighbors, n_jobs=self.n_jobs)
