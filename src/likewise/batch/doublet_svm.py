"""Doublet-SVM."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from likewise._runtime.arrays import Array
from likewise._runtime.validation import at_least, yes_or_no
from likewise.batch._margin_learner import COMMON_RULES, PairMarginLearner
from likewise.constraints import Pairs, doublets
from likewise.kernels import KERNEL_RULES


class DoubletSVM(PairMarginLearner):
    r"""Doublet-SVM: a support vector machine that tells *same* from *different* pairs.

    With the difference v of a pair, h = +1 for *different* and -1 for *same*,

    .. math:: \min_{M,\,b}\ \tfrac12 \lVert M \rVert_F^2
              + C \sum_l \max(0,\; 1 - h_l\,(v_l^\top M v_l + b)),

    over all symmetric M. That is an SVM with the kernel :math:`(u^\top v)^2` on differences. The
    negative part of M is dropped in the end, and b fitted again.

    Parameters
    ----------
    n_same, n_different : int
        `fit` pairs each row with so many nearest rows of its class, and of the other classes.
    C : float
        The weight of the losses.
    psd : bool
        False keeps `matrix_` and `intercept_` as the SVM has them; `components_` and `threshold_`
        are of the positive part either way.
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
    intercept_, threshold_ : float
        The b on squared distances; the decision threshold on distances, √max(0, -b).
    dual_coef_, support_pairs_ : arrays
        λh of the pairs that hold the metric in place, and their numbers in the list of pairs.
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
    >>> svm = lw.DoubletSVM(1, 1).fit(X, ["a", "a", "a", "b", "b", "b"])
    >>> svm.pair_distance([[0.0, 0.0], [0.0, 0.0]], [[0.0, 3.0], [3.0, 0.0]]) <= svm.threshold_
    array([ True, False])
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

    def _constraints(self, X: Array, labels: Array) -> Pairs:
        return doublets(X, labels, self.n_same, self.n_different, n_jobs=self.n_jobs)
