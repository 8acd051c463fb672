"""The pseudo-metric online learning algorithm (POLA), with its kernel and batch variants."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from likewise._loops.pairs.types import StepRule
from likewise._runtime.arrays import Array, FloatArray
from likewise._runtime.interrupts import check_time
from likewise._runtime.text import quote
from likewise._runtime.threads import single_threaded_blas
from likewise._runtime.validation import (
    Rule,
    at_least,
    either,
    non_negative,
    none,
    one_of,
    positive,
    warn_user,
)
from likewise.base.diagnosis import diagnosed
from likewise.constraints import Pairs
from likewise.kernels import KERNEL_RULES
from likewise.online._initial_model import INIT_RULE, initial_model
from likewise.online._kernel_learner import KernelMetricLearner
from likewise.online._pair_checks import chunk_size
from likewise.online._pair_state import PairState, Projection

_LEAST_DECREASE = 0.01  # of the sum of the losses, in a pass that makes progress


class POLA(KernelMetricLearner):
    r"""Pseudo-metric online learning algorithm (POLA), from similar and dissimilar pairs.

    Each update is a passive-aggressive step followed by a projection: M stays positive semidefinite
    and b at least 1. For pairs that a metric can separate, for guaranteed loss bounds, and for
    metrics in the feature space of a kernel.

    With the difference v of a pair and y = +1 for a similar pair, -1 for a dissimilar one, the
    hinge loss is :math:`\ell = \max(0,\, 1 - y\,(b - v^\top M v))`. If it is positive, then
    :math:`\tau = \ell / (1 + \lVert v \rVert^4 + \gamma)`,
    :math:`M \leftarrow [M - \tau y\, v v^\top]_+` and
    :math:`b \leftarrow \max(1,\, b + \tau y)`, where :math:`[\cdot]_+` is the nearest positive
    semidefinite matrix. If some (M*, b*) has no loss on any pair, then
    :math:`\sum \ell^2 \le R\,(\lVert M^* - M_1 \rVert_F^2 + (b^* - b_1)^2)`, where (M₁, b₁) is the
    initial model and R the largest denominator of a step.

    `learn_pair` and the ``partial_fit`` methods learn from a stream. `fit` and `fit_pairs` make
    several passes over the pairs, until no pair has a loss above `beta`. Then (M, b)/(1 - beta)
    separates the pairs. If only losses above `beta` cause an update, the bound above limits the
    number of updates in any order of the pairs.

    With a kernel, v is a difference of points in feature space. M is a matrix over an orthonormal
    basis of the differences that caused an update (Gram–Schmidt).

    Parameters
    ----------
    relaxation : float
        γ, added to the denominator of the step: 0 if a metric separates the pairs, larger for
        noisy pairs.
    init : None, "identity", (M, b) or fitted metric
        Initial model: M = 0 and b = 0, the Euclidean metric with b = 1, or a given model. With a
        kernel only None.
    kernel : None, "linear", "rbf", "poly" or callable
        Kernel; None learns over the features. A callable takes two arrays of n and m samples and
        returns their kernel values, an array of shape (n, m).
    kernel_params : dict, optional
        Parameters of the kernel, with scikit-learn's names: "gamma" (default 1 / n_features),
        "coef0" (default 1), "degree" (default 3); or keyword arguments of the callable.
    budget : int, optional
        Maximum number of directions of feature space in the basis. Further differences are
        projected onto them.
    tol : float
        A difference whose part outside the basis is shorter than this fraction of its length is
        projected onto the basis, too.
    beta : float
        Loss that `fit` and `fit_pairs` tolerate, between 0 and 1.
    update : {"large", "any"}
        Which losses cause an update in `fit` and `fit_pairs`: those above `beta`, or any, as in the
        paper.
    max_iter : int
        Maximum number of passes of `fit` and `fit_pairs` over the pairs. With ``relaxation=0`` a
        loss above `beta` after the last pass causes a warning. With a larger relaxation, for pairs
        that are not separable, it is the length of training.
    n_iter_no_change : int, optional
        `fit` and `fit_pairs` also stop after this many passes in a row that did not decrease the
        sum of the losses by 1 %, as happens where no metric separates the pairs. None disables it.
    scale : "auto" or float
        Factor that differences (with a kernel: in feature space) are multiplied by internally,
        since the margin 1 fixes a scale. "auto": as in `PAMetric`.
    memory : int
        As in `PAMetric`.
    n_pairs : int, optional
        Number of random pairs that `fit` draws, half of them similar. Default: 40 c (c - 1) for c
        classes, at most 100 000.
    shuffle, record_every, random_state
        As in `PAMetric`.

    Attributes
    ----------
    components_ : array of shape (n_features, n_features)
        L of the metric; with a kernel, a square matrix over the basis.
    b_, threshold_ : float
        b, on squared distances; the decision threshold on distances, √max(1, b).
    n_events_, n_updates_, mistakes_ : int
        Pairs seen, updates, pairs predicted wrongly before the update.
    cumulative_loss_ : float
        Sum of the hinge losses before each update.
    n_iter_ : int
        Number of passes of the last `fit` or `fit_pairs`.
    converged_ : bool
        Whether no loss exceeds `beta` in the end.
    update_bound_ : float
        Upper bound of `n_updates_`; infinite unless `converged_` and ``update="large"``.

    References
    ----------
    S. Shalev-Shwartz, Y. Singer, A. Y. Ng, Online and batch learning of pseudo-metrics, ICML 2004.

    Examples
    --------
    >>> import likewise as lw
    >>> live = lw.POLA()
    >>> live.learn_pair([0.0, 0.0], [3.0, 0.1], same=True)
    1.0
    >>> live.learn_pair([0.0, 0.0], [0.2, 2.0], same=False)
    2.0
    >>> curved = lw.POLA(kernel="rbf", kernel_params={"gamma": 0.5})
    >>> curved.learn_pair([0.0, 0.0], [3.0, 0.1], same=True)
    1.0
    """

    n_iter_: int
    converged_: bool
    update_bound_: float

    _rules: ClassVar = {
        "relaxation": non_negative(),
        "init": INIT_RULE,
        **KERNEL_RULES,
        "budget": either(none(), at_least(1)),
        "tol": Rule(
            "a number of at least 0 and below 1",
            lambda v: non_negative().holds(v) and v < 1,
        ),
        "beta": Rule("a number above 0 and below 1", lambda v: positive().holds(v) and v < 1),
        "update": one_of("large", "any"),
        "max_iter": at_least(1),
        "n_iter_no_change": either(none(), at_least(1)),
        "scale": either(one_of("auto"), positive()),
        "memory": at_least(1),
        "n_pairs": either(none(), at_least(1)),
        "record_every": either(none(), at_least(1)),
    }

    max_iter: int

    def __init__(
        self,
        relaxation: float = 0.0,
        *,
        init: Any = None,
        kernel: str | Callable[..., Any] | None = None,
        kernel_params: dict[str, Any] | None = None,
        budget: int | None = None,
        tol: float = 1e-5,
        beta: float = 0.1,
        update: str = "large",
        max_iter: int = 100,
        n_iter_no_change: int | None = 5,
        scale: str | float = "auto",
        memory: int = 5,
        n_pairs: int | None = None,
        shuffle: bool = True,
        record_every: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.relaxation = relaxation
        self.init = init
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.budget = budget
        self.tol = tol
        self.beta = beta
        self.update = update
        self.max_iter = max_iter
        self.n_iter_no_change = n_iter_no_change
        self.scale = scale
        self.memory = memory
        self.n_pairs = n_pairs
        self.shuffle = shuffle
        self.record_every = record_every
        self.random_state = random_state

    # -- the algorithm ---------------------------------------------------------------------------

    def _step_rule(self) -> StepRule:
        return StepRule("PA", relaxation=float(self.relaxation))

    def _projection(self, n_coordinates: int) -> Projection:
        return "each"

    def _initial_model(self, n_features: int) -> tuple[FloatArray, float]:
        return initial_model(self.init, n_features)

    def _initial_state(self, n_features: int, scale: float) -> PairState:
        if self.kernel is not None and self.init is not None:
            raise ValueError(
                f"init={quote(self.init)} is a model over the features, but with a kernel "
                "init must be None."
            )
        return super()._initial_state(n_features, scale)

    def _fit_passes(self, X: Array, pairs: Pairs, random: np.random.RandomState) -> Self:
        """Pass over the pairs until none of them has a loss above `beta`."""
        self._state = self._reset(X.shape[1], (X, pairs))
        start = deepcopy(self._state)
        min_loss = self.beta if self.update == "large" else 0.0
        worst, settled, interrupted, self.n_iter_ = 0.0, False, False, 0
        least, n_stale, patience = np.inf, 0, self.n_iter_no_change or self.max_iter
        try:
            while self.n_iter_ < self.max_iter and not settled and n_stale < patience:
                updates = self.n_updates_
                losses = self._learn_pairs(X, self._ordered(pairs, random), min_loss=min_loss)
                if self.update == "any":
                    losses = self._losses(X, pairs)
                worst, total = float(losses.max(initial=0.0)), float(losses.sum())
                n_stale = 0 if total < (1 - _LEAST_DECREASE) * least else n_stale + 1
                least = min(least, total)
                self.n_iter_ += 1
                # A pass without updates has evaluated every pair with the final model.
                settled = self.n_updates_ == updates
                settled = settled or (self.update == "any" and worst <= self.beta)
                if not settled and self.n_iter_ < self.max_iter:
                    check_time()
        except KeyboardInterrupt:
            if not self.n_iter_:
                raise
            interrupted = True
            self._warn_interrupted(self.n_iter_, self.max_iter)
        self.converged_ = bool(settled and worst <= self.beta)
        bounded = self.converged_ and self.update == "large"
        self.update_bound_ = self._update_bound(X, pairs, start) if bounded else np.inf
        # With a relaxation, separation is not expected.
        if not self.converged_ and self.relaxation == 0 and not interrupted:
            warn_user(
                f"POLA stopped after pass {self.n_iter_} with a loss of "
                f"{worst:.3g} on some pair, above beta={self.beta:g}: the pairs may not be "
                "separable, or need a larger max_iter or n_iter_no_change.",
                ConvergenceWarning,
            )
        return self if interrupted else diagnosed(self, X, pairs)

    def _losses(self, X: Array, pairs: Pairs) -> FloatArray:
        """Return the loss of each pair under the current model."""
        unchanged, sign = deepcopy(self._state), np.where(pairs.same, 1.0, -1.0)
        losses, chunk = np.empty(len(pairs)), chunk_size(X)
        with single_threaded_blas():
            for start in range(0, len(pairs), chunk):
                part = slice(start, start + chunk)
                index = pairs.index[part]
                losses[part] = self._update(unchanged, X, index, sign[part], min_loss=np.inf)
        return losses

    def _update_bound(self, X: Array, pairs: Pairs, start: PairState) -> float:
        """Return R(‖M* - M₁‖² + (b* - b₁)²)/β² of the separating model (M, b)/(1 - β)."""
        sqnorms = self._squared_lengths(X, pairs.index)
        R = 1 + (sqnorms.max() * self.scale_**2) ** 2 + self.relaxation
        M, b = self._state.dense() / (1 - self.beta), self._state.b / (1 - self.beta)
        # A kernel model begins with M = 0 over no directions at all.
        difference = M if self.kernel is not None else M - start.dense()
        return float(R * (np.square(difference).sum() + (b - start.b) ** 2) / self.beta**2)
