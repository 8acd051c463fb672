"""Positive-semidefinite constrained metric learning."""

from __future__ import annotations

from typing import ClassVar

from likewise._runtime.arrays import Array
from likewise._runtime.validation import at_least
from likewise.batch._margin_learner import COMMON_RULES, PairMarginLearner
from likewise.cones import PSD, Cone
from likewise.constraints import Pairs, nearest_and_farthest_pairs
from likewise.objectives import ConstraintMatrices


class PCML(PairMarginLearner):
    r"""PCML: a support vector machine on pairs whose matrix is a metric from the beginning.

    With the difference v of a pair, h = +1 for *different* and -1 for *same*,

    .. math:: \min_{M \succeq 0,\,b}\ \tfrac12 \lVert M \rVert_F^2
              + C \sum_l \max(0,\; 1 - h_l\,(v_l^\top M v_l + b)).

    `fit` pairs each row with its nearest rows of the same class and its *farthest* rows of the
    other classes.

    Parameters
    ----------
    n_neighbors : int
        So many nearest rows of the class, and so many farthest of the others.
    C : float
        The weight of the losses.
    scale : "auto" or float
        What X is multiplied by inside, since the 1 in the margin fixes a scale. "auto" makes the
        median squared distance of the *same* pairs 1.
    tol : float
        Relative duality gap to reach: the objective is then within this share of the minimum.
    max_iter : int
        Steps allowed, in all: rounds of coordinate ascent and Newton steps.
    n_jobs : int or None
        Threads; None uses all cores. The answer does not depend on it.
    warm_start : bool
        Begin with the multipliers of the last fit, such as that of a smaller C.
    verbose : int
        1 shows a progress bar.

    Attributes
    ----------
    components_ : array of shape (n_features, n_features)
        L of the metric, eigenvalues descending.
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

    def _cone(self, matrices: ConstraintMatrices) -> Cone:
        return PSD()

    def _constraints(self, X: Array, labels: Array) -> Pairs:
        return nearest_and_farthest_pairs(X, labels, self.n_neighbors, n_jobs=self.n_jobs)
