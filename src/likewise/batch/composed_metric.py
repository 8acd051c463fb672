"""Large-margin metric learning with constraints, loss and cone chosen by the user."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike

from likewise._runtime.arrays import Array
from likewise._runtime.validation import TableLike, at_least, one_of
from likewise.base import fitting
from likewise.batch._margin_learner import COMMON_RULES, MarginLearner
from likewise.cones import PSD, Cone, ConicHull, Symmetric
from likewise.constraints import (
    Pairs,
    Triplets,
    doublets,
    nearest_and_farthest_pairs,
    triplets,
)
from likewise.losses import DualLoss, Hinge, Logistic, SquaredHinge

_LOSSES: dict[str, Any] = {
    "hinge": Hinge,
    "squared_hinge": SquaredHinge,
    "logistic": Logistic,
}


class ComposedMetric(MarginLearner):
    r"""Large-margin metric learning with a choice of constraints, loss and cone.

    It learns from labels, pairs or triplets. Use it to try combinations that have no name of their
    own, or to compare the methods that have one: `DoubletSVM`, `TripletSVM`, `PCML`, `NCML` and
    `LDML`. The objective is

    .. math:: \min_{M \in K,\,b}\ \tfrac12 \lVert M \rVert_F^2
              + C \sum_l \mathrm{loss}(1 - h_l\,(\langle M, X_l \rangle + b)),

    with the matrix X of a constraint and its sign h; b is 0 for triplets.

    Parameters
    ----------
    constraints : "pairs", "doublets" or "triplets"
        The constraints that `fit` makes from labels. "pairs": each sample with its nearest samples
        of the same class and its *farthest* samples of other classes. "doublets": with its
        *nearest* samples of other classes instead. "triplets": doublets combined to triplets.
    loss : "hinge", "squared_hinge" or "logistic"
        The loss of a violation.
    cone : "psd", "symmetric" or "conic"
        The feasible set of M: positive semidefinite matrices, all symmetric matrices (M is
        projected on the positive semidefinite matrices at the end), or non-negative combinations
        of the pairs' matrices.
    C : float
        The weight of the sum of losses: the larger, the less regularisation.
    n_same, n_different : int
        The number of samples of the same class, and of other classes, that each sample is combined
        with; "pairs" uses `n_same` for both.
    scale, tol, max_iter, n_jobs, warm_start, verbose
        As in `DoubletSVM`.

    Attributes
    ----------
    components_, matrix_, intercept_, threshold_, dual_coef_, support_pairs_, duality_gap_, history_
        As in `DoubletSVM`; triplets have no `intercept_` and no `threshold_`.
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
    >>> mine = lw.ComposedMetric("triplets", "squared_hinge", "psd", n_same=1, n_different=1)
    >>> print(mine.fit(X, ["a", "a", "a", "b", "b", "b"]).converged_)
    True
    """

    _rules: ClassVar = {
        "constraints": one_of("pairs", "doublets", "triplets"),
        "loss": one_of(*_LOSSES),
        "cone": one_of("psd", "symmetric", "conic"),
        "n_same": at_least(1),
        "n_different": at_least(1),
        **COMMON_RULES,
    }

    def __init__(
        self,
        constraints: str = "doublets",
        loss: str = "hinge",
        cone: str = "psd",
        C: float = 1.0,
        *,
        n_same: int = 2,
        n_different: int = 2,
        scale: str | float = "auto",
        tol: float = 1e-3,
        max_iter: int = 500,
        n_jobs: int | None = None,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        self.constraints = constraints
        self.loss = loss
        self.cone = cone
        self.C = C
        self.n_same = n_same
        self.n_different = n_different
        self.scale = scale
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.verbose = verbose

    @fitting
    def fit_pairs(self, X: TableLike, pairs: ArrayLike, same: ArrayLike) -> Self:
        """Fit the metric to similar and different pairs.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The data.
        pairs : int array-like of shape (n_pairs, 2)
            Sample indices.
        same : bool array-like of shape (n_pairs,)
            True where the two samples are similar. Both values must occur.

        Returns
        -------
        ComposedMetric
            The fitted metric.
        """
        if self.constraints == "triplets":
            raise ValueError("constraints='triplets' learns from triplets: use fit_triplets.")
        return self._fit_pairs(X, pairs, same)

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
        ComposedMetric
            The fitted metric.
        """
        if self.constraints != "triplets":
            raise ValueError(f"constraints={self.constraints!r} learns from pairs: use fit_pairs.")
        return self._fit_triplets(X, triplets)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.cone == "conic" and self.constraints == "triplets":
            raise ValueError(
                "cone='conic' is not allowed with constraints='triplets': a non-negative "
                "combination of the matrices of triplets need not be positive semidefinite."
            )

    def _loss(self) -> DualLoss:
        loss: DualLoss = _LOSSES[self.loss]()
        return loss

    def _cone(self) -> Cone:
        if self.cone == "conic":
            return ConicHull()
        return PSD() if self.cone == "psd" else Symmetric()

    def _constraints(self, X: Array, labels: Array) -> Pairs | Triplets:
        if self.constraints == "triplets":
            return triplets(X, labels, self.n_same, self.n_different, n_jobs=self.n_jobs)
        if self.constraints == "doublets":
            return doublets(X, labels, self.n_same, self.n_different, n_jobs=self.n_jobs)
        return nearest_and_farthest_pairs(X, labels, self.n_same, n_jobs=self.n_jobs)
