"""Triplet-SVM."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike

from likewise._runtime.arrays import Array
from likewise._runtime.validation import TableLike, at_least, yes_or_no
from likewise.base import fitting
from likewise.batch._margin_learner import COMMON_RULES, MarginLearner
from likewise.constraints import Triplets, triplets
from likewise.kernels import KERNEL_RULES


class TripletSVM(MarginLearner):
    r"""Triplet-SVM: each row should be nearer to its own kind than to another, by a margin.

    With the differences :math:`v_{12}` of anchor and positive and :math:`v_{13}` of anchor and
    negative,

    .. math:: \min_M\ \tfrac12 \lVert M \rVert_F^2
              + C \sum_l \max(0,\; 1 - v_{13}^\top M v_{13} + v_{12}^\top M v_{12}),

    over all symmetric M: a one-class SVM on triplets. The negative part of M is dropped in the end.

    Parameters
    ----------
    n_same, n_different : int
        `fit` joins so many nearest rows of each row's class with so many of the other classes.
    C : float
        The weight of the losses.
    psd : bool
        False keeps `matrix_` as the SVM has it; `components_` is of the positive part either way.
    kernel : None, "linear", "rbf", "poly" or callable
        Learn in the feature space of a kernel: all rows are kept, and a table of all rows by all
        rows is needed. A callable takes two tables of rows and returns their kernel values.
    kernel_params : dict, optional
        Parameters of the kernel in scikit-learn's words: "gamma" (1 / n_features unless given),
        "coef0" (1), "degree" (3); or what a callable takes by name.
    scale : "auto" or float
        What X is multiplied by inside, since the 1 in the margin fixes a scale. "auto" makes the
        median squared distance of anchor and positive 1.
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
        L of the metric, eigenvalues descending; with a kernel there is a column for each direction
        of feature space that the rows span, and so for `matrix_`.
    matrix_ : array of shape (n_features, n_features)
        M; with ``psd=False`` the SVM's own, which may be indefinite.
    dual_coef_, support_pairs_ : arrays
        λ of the triplets that hold the metric in place, and their numbers in the list.
    duality_gap_ : float
        ``(primal - dual) / primal`` of the SVM in the end: how far from optimal it can be.
    history_ : dict of arrays
        "primal", "dual" and "gap" at every step.
    objective_, n_iter_, converged_
        The primal value, the steps taken, and whether `tol` was reached.

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
        "psd": yes_or_no(),
        **COMMON_RULES,
        **KERNEL_RULES,
    }

    def __init__(
        self,
        n_same: int = 2,
        n_different: int = 2,
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
        """Learn from triplets.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The data.
        triplets : int array-like of shape (n_triplets, 3)
            Row numbers: anchor, positive, negative.

        Returns
        -------
        TripletSVM
            The fitted metric.
        """
        return self._fit_triplets(X, triplets)

    def _constraints(self, X: Array, labels: Array) -> Triplets:
        return triplets(X, labels, self.n_same, self.n_different, n_jobs=self.n_jobs)
