"""Positive-semidefinite constrained metric learning."""

from __future__ import annotations

from typing import ClassVar

from likewise._runtime.arrays import Array
from likewise._runtime.validation import at_least
from likewise.batch._margin_learner import COMMON_RULES, PairMarginLearner
from likewise.cones import PSD, Cone
from likewise.constraints import Pairs, nearest_and_farthest_pairs


class PCML(PairMarginLearner):
    r"""PCML: the doublet-SVM over positive semidefinite matrices, from labels or pairs.

    Positive-semidefinite constrained metric learning. Use it instead of `DoubletSVM` where the
    projection at its end would lose much, that is, where its matrix is far from positive
    semidefinite.

    With the difference v of a pair, h = +1 for *different* and -1 for *same*, it minimises

    .. math:: \min_{M \succeq 0,\,b}\ \tfrac12 \lVert M \rVert_F^2
              + C \sum_l \max(0,\; 1 - h_l\,(v_l^\top M v_l + b)).

    Parameters
    ----------
    n_neighbors : int
        `fit` pairs each sample with its `n_neighbors` nearest samples of the same class and its
        `n_neighbors` *farthest* samples of other classes.
    C : float
        The weight of the sum of losses: the larger, the less regularisation.
    scale : "auto" or float
        Factor by which X is multiplied internally, since the margin of 1 fixes a unit of squared
        distance. "auto" makes the median squared distance of the *same* pairs 1.
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
        L, with eigenvalues of M in descending order.
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
    >>> pcml = lw.PCML().fit(X, ["a", "a", "a", "b", "b", "b"])
    >>> pcml.pair_distance([[0.0, 0.0], [0.0, 0.0]], [[0.0, 3.0], [3.0, 0.0]]) <= pcml.threshold_
    array([ True, False])
    """

    _rules: ClassVar = {"n_neighbors": at_least(1), **COMMON_RULES}

    def __init__(
        self,
        n_neighbors: int = 1,
        C: float = 1.0,
        *,
        scale: str | float = "auto",
        tol: float = 1e-3,
        max_iter: int = 500,
        n_jobs: int | None = None,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.C = C
        self.scale = scale
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.verbose = verbose

    def _cone(self) -> Cone:
        return PSD()

    def _constraints(self, X: Array, labels: Array) -> Pairs:
        return nearest_and_farthest_pairs(X, labels, self.n_neighbors, n_jobs=self.n_jobs)
