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
from likewise.objectives import ConstraintMatrices


class NCML(PairMarginLearner):
    r"""NCML: a support vector machine on pairs whose matrix is a sum of the pairs' own.

    With the difference v of a pair, h = +1 for *different* and -1 for *same*,

    .. math:: \min_{\alpha \ge 0,\,b}\ \tfrac12 \lVert M \rVert_F^2
              + C \sum_l \max(0,\; 1 - h_l\,(v_l^\top M v_l + b)),
              \qquad M = \sum_l \alpha_l v_l v_l^\top.

    Such an M is a metric, and everything is said by inner products: a kernel can take their place.

    `fit` pairs each row with its nearest rows of the same class and its *farthest* rows of the
    other classes.

    Parameters
    ----------
    n_neighbors : int
        So many nearest rows of the class, and so many farthest of the others.
    C : float
        The weight of the losses.
    kernel : None, "linear", "rbf", "poly" or callable
        Learn in the feature space of a kernel: all rows are kept, and a table of all rows by all
        rows is needed. A callable takes two tables of rows and returns their kernel values.
    kernel_params : dict, optional
        Parameters of the kernel in scikit-learn's words: "gamma" (1 / n_features unless given),
        "coef0" (1), "degree" (3); or what a callable takes by name.
    scale : "auto" or float
        What X is multiplied by inside, since the 1 in the margin fixes a scale. "auto" makes the
        median squared distance of the *same* pairs 1.
    tol : float
        Relative duality gap to reach: the objective is then within this share of the minimum.
    max_iter : int
        Newton steps allowed, in all.
    n_jobs : int or None
        Threads; None uses all cores. The answer does not depend on it.
    warm_start : bool
        Begin with the multipliers of the last fit, such as that of a smaller C.
    verbose : int
        1 shows a progress bar.

    Attributes
    ----------
    components_ : array of shape (n_features, n_features)
        L of the metric, eigenvalues descending; with a kernel there is a column for each direction
        of feature space that the rows span, and so for `matrix_`.
    matrix_ : array of shape (n_features, n_features)
        M.
    intercept_, threshold_ : float
        The b on squared distances; the decision threshold on distances, √max(0, -b).
    dual_coef_, support_pairs_ : arrays
        λh of the pairs that hold the metric in place, and their numbers in the list of pairs.
    duality_gap_ : float
        ``(primal - dual) / primal`` in the end: how far from optimal the metric can be.
    history_ : dict of arrays
        "primal", "dual" and "gap" at every step.
    objective_, n_iter_, converged_
        The primal value, the steps taken, and whether `tol` was reached.

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

    def _cone(self, matrices: ConstraintMatrices) -> Cone:
        return ConicHull(matrices.differences)

    def _constraints(self, X: Array, labels: Array) -> Pairs:
        return nearest_and_farthest_pairs(X, labels, self.n_neighbors, n_jobs=self.n_jobs)
