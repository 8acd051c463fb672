"""Nonnegative-coefficient constrained metric learning."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from likewise._runtime.arrays import Array
from likewise._runtime.validation import Rule, at_least
from likewise.base.metric_learner import as_vector
from likewise.batch._constraint_span import ConstraintSpan
from likewise.batch._margin_learner import COMMON_RULES, PairMarginLearner, without_rounding
from likewise.batch._pair_kernel_space import PairKernel, PairKernelSpace
from likewise.cones import Cone, ConicHull
from likewise.constraints import Pairs, Triplets, nearest_and_farthest_pairs
from likewise.kernels import KERNEL_RULES
from likewise.objectives import ConstraintMatrices


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
    pair_kernel : callable, optional
        A kernel κ between pairs, in place of one between samples: ``pair_kernel(A, B, C, D)``
        returns the kernel matrix of the pairs (A[i], B[i]) and (C[j], D[j]). The inner product of
        the matrices of two pairs is then κ², and the squared distance of a and b is the sum of
        :math:`\alpha_l\,\kappa(l, (a, b))^2` over the pairs l. The paper writes K for this inner
        product: give κ = √K, not K; a K that is not the square of a kernel cannot be used. κ must
        be positive semidefinite, 0 for a pair of equal samples, and the same for (a, b) and (b, a)
        up to its sign. There is a distance of pairs only: no `transform`, and no triangle
        inequality unless κ implies it. The model keeps both samples of all pairs, and needs an
        n_pairs × n_pairs kernel matrix.
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
        over the kernel principal components instead of the features; with a pair kernel, over
        coordinates of pairs in its feature space.
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

    _rules: ClassVar = {
        "n_neighbors": at_least(1),
        **COMMON_RULES,
        **KERNEL_RULES,
        "pair_kernel": Rule(
            "None or a callable of four arrays", lambda v: v is None or callable(v)
        ),
    }

    def __init__(
        self,
        n_neighbors: int = 1,
        C: float = 1.0,
        *,
        kernel: str | Callable[..., Any] | None = None,
        kernel_params: dict[str, Any] | None = None,
        pair_kernel: PairKernel | None = None,
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
        self.pair_kernel = pair_kernel
        self.scale = scale
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.verbose = verbose

    def _cone(self) -> Cone:
        return ConicHull()

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.kernel is not None and self.pair_kernel is not None:
            raise ValueError(
                f"kernel={self.kernel!r} and a pair_kernel are both given, but only one of them is "
                "allowed."
            )

    def _learn(self, X: Array, rows: Array, space: Any, constraints: Pairs | Triplets) -> Self:
        if self.pair_kernel is not None:
            first, second = constraints.index.T
            space, rows = PairKernelSpace.from_pairs(X[first], X[second], self.pair_kernel)
        return super()._learn(X, rows, space, constraints)

    def _unscaled_matrices(self, X: Array, constraints: Pairs | Triplets) -> ConstraintMatrices:
        if self.pair_kernel is None:
            return super()._unscaled_matrices(X, constraints)
        assert isinstance(constraints, Pairs)
        # X has one row for each pair: its coordinates take the place of the difference.
        sign = np.where(constraints.same, -1.0, 1.0)
        return without_rounding(ConstraintMatrices(X, None, sign, self.n_jobs))

    def _span(self, X: Array, constraints: Pairs | Triplets) -> ConstraintSpan | None:
        # X has a row for each pair, and no more columns than these need.
        return None if self.pair_kernel is not None else super()._span(X, constraints)

    def _space_attributes(self, space: Any) -> dict[str, Any]:
        if isinstance(space, PairKernelSpace):
            return {"_space": space, "_kernel_used": (self.pair_kernel, {})}
        return super()._space_attributes(space)

    def get_metric(self) -> Callable[[ArrayLike, ArrayLike], float]:
        """Return the distance as a plain function of two vectors, for SciPy and scikit-learn."""
        check_is_fitted(self)
        if isinstance(self._space, PairKernelSpace):
            return partial(_pair_kernel_distance, self)
        return super().get_metric()

    def _map(self, X: Any) -> Any:
        if isinstance(self._space, PairKernelSpace):
            raise ValueError(
                "A model with a pair kernel has distances of pairs only, and cannot transform "
                "single rows: use pair_distance or get_metric."
            )
        return super()._map(X)

    def _map_differences(self, A: Array, B: Array) -> Any:
        if not isinstance(self._space, PairKernelSpace):
            return super()._map_differences(A, B)
        assert self._kernel_used is not None
        coordinates = self._space.coordinates(A, B, self._kernel_used[0])
        return np.asarray(coordinates @ self.components_.T, dtype=A.dtype)

    def _constraints(self, X: Array, labels: Array) -> Pairs:
        return nearest_and_farthest_pairs(X, labels, self.n_neighbors, n_jobs=self.n_jobs)


def _pair_kernel_distance(metric: NCML, first: ArrayLike, second: ArrayLike) -> float:
    a, b = (as_vector(side, metric.n_features_in_)[None] for side in (first, second))
    return float(metric.pair_distance(a, b)[0])
