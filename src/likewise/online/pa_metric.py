"""Passive-aggressive online metric learning."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar, Self

import numpy as np

from likewise._loops.pairs.types import VARIANTS, StepRule
from likewise._runtime.arrays import Array, FloatArray, IndexArray
from likewise._runtime.interrupts import check_time
from likewise._runtime.validation import (
    at_least,
    either,
    non_negative,
    none,
    one_of,
    positive,
)
from likewise.base.diagnosis import diagnosed
from likewise.constraints import Pairs, random_pairs
from likewise.online._initial_model import INIT_RULE, initial_model
from likewise.online._metric_learner import OnlineMetricLearner
from likewise.online._pair_state import Projection

_MIN_PERIOD = 100  # updates between two projections


@lru_cache
def _rule(variant: str, C: float, tolerance: float) -> StepRule:
    """Return the rule, cached: creating it takes a good part of the time of one event."""
    return StepRule(variant, C, 0.0, tolerance)


class PAMetric(OnlineMetricLearner):
    r"""Passive-aggressive (PA) online metric learning from similar and dissimilar pairs.

    Each update is the smallest change of the matrix M and of the threshold b, in Frobenius norm,
    that gives the pair margin 1; PA-I and PA-II limit it. For streams of judgements, noisy ones
    included, and wherever the state must not grow.

    With the difference v of a pair and y = +1 for a similar pair, -1 for a dissimilar one, the
    signed loss is :math:`p = 1 - y\,(b - v^\top M v)`. If it is positive, then
    :math:`M \leftarrow M - \tau y\, v v^\top` and :math:`b \leftarrow b + \tau y`, with
    :math:`s = 1 + \lVert v \rVert^4` and

    ======= =========================================
    variant step τ
    ======= =========================================
    PA      max(p, 0) / s
    PA-I    min(C, max(p, 0) / s)
    PA-II   max(p, 0) / (s + 1/(2C))
    PALS    p / (s + 1/(2C)), of either sign
    ======= =========================================

    Parameters
    ----------
    variant : {"PA", "PA-I", "PA-II", "PALS"}
        Step size, see the table.
    C : float
        Aggressiveness: the limit of a step. Smaller for noisier judgements; "PA" does not use it.
    psd : {"auto", "end", "each"} or int
        When M is projected onto the positive semidefinite matrices and b onto [1, ∞): only in the
        fitted attributes ("end", called (−) in the paper), after each update ("each", called (+)),
        or after every n updates; "auto" is n = max(100, n_features).
    tolerance : float
        Steps smaller than this are skipped.
    init : None, "identity", (M, b) or fitted metric
        Initial model: M = 0 and b = 0, the Euclidean metric with b = 1, or a given model.
    scale : "auto" or float
        Factor that X is multiplied by internally, since the margin 1 fixes a scale. "auto" makes
        the median squared distance of the similar pairs 1 in `fit` and `fit_pairs`, and the
        interquartile range of the squared distances of the first 64 pairs in a stream 2.
    memory : int
        Number of latest samples that each sample given to `partial_fit` is paired with.
    n_pairs : int, optional
        Number of random pairs that `fit` draws, without repetition, half of them similar. Default:
        40 c (c - 1) for c classes, as in the paper, but at most 100 000, or all pairs where there
        are fewer.
    max_iter : int, optional
        Number of passes of `fit` and `fit_pairs` over the pairs. Default: the paper's protocol, at
        least two passes and then more until min(n (n - 1)/10, 50 n_pairs) pairs were seen: a fifth
        of the number of pairs of the n samples.
    shuffle : bool
        Whether each pass takes the pairs in a new random order.
    record_every : int, optional
        Number of pairs after which the predictive error and the effective dimension are written
        into `history_`. Default: never.
    random_state : int, RandomState or None
        Seed of the pairs that `fit` draws and of their order.

    Attributes
    ----------
    components_ : array of shape (n_features, n_features)
        L of the metric, for the user's X.
    b_, threshold_ : float
        The unconstrained b, on squared distances; the decision threshold on distances,
        √max(1, b).
    n_events_, n_updates_, mistakes_ : int
        Pairs seen, updates, pairs predicted wrongly by the unconstrained model before the update.
    cumulative_loss_ : float
        Sum of the hinge losses before each update.
    scale_ : float
        Factor that X is multiplied by internally.
    history_ : dict of arrays
        With `record_every`: n_events, predictive_error and effective_dimension.

    References
    ----------
    A. Pérez-Suay, F. J. Ferri, M. Arevalillo-Herráez, J. V. Albert, Comparative evaluation of
    batch and online distance metric learning approaches based on margin maximization, 2013.

    Examples
    --------
    >>> import likewise as lw
    >>> live = lw.PAMetric(variant="PA-I", C=0.5)
    >>> live.learn_pair([0.0, 0.0], [3.0, 0.1], same=True)
    1.0
    >>> live.learn_pair([0.0, 0.0], [0.2, 2.0], same=False)
    1.0117...
    >>> live.predict_pairs([[0.0, 0.0]], [[9.0, 0.0]])
    array([ True])
    """

    n_iter_: int

    _rules: ClassVar = {
        "variant": one_of(*VARIANTS),
        "C": positive(),
        "psd": either(one_of("auto", "each", "end"), at_least(1)),
        "tolerance": non_negative(),
        "init": INIT_RULE,
        "scale": either(one_of("auto"), positive()),
        "memory": at_least(1),
        "n_pairs": either(none(), at_least(1)),
        "max_iter": either(none(), at_least(1)),
        "record_every": either(none(), at_least(1)),
    }

    def __init__(
        self,
        variant: str = "PA-I",
        C: float = 0.1,
        *,
        psd: str | int = "auto",
        tolerance: float = 0.0,
        init: Any = None,
        scale: str | float = "auto",
        memory: int = 5,
        n_pairs: int | None = None,
        max_iter: int | None = None,
        shuffle: bool = True,
        record_every: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.variant = variant
        self.C = C
        self.psd = psd
        self.tolerance = tolerance
        self.init = init
        self.scale = scale
        self.memory = memory
        self.n_pairs = n_pairs
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.record_every = record_every
        self.random_state = random_state

    def _step_rule(self) -> StepRule:
        return _rule(self.variant, self.C, self.tolerance)

    def _projection(self, n_coordinates: int) -> Projection:
        if self.psd == "auto":
            # Decomposing M costs about n_coordinates times as much as updating it.
            return max(_MIN_PERIOD, n_coordinates)
        return self.psd if self.psd in ("each", "end") else int(self.psd)  # type: ignore[return-value]

    def _draw_pairs(self, codes: IndexArray, n_pairs: int, random: np.random.RandomState) -> Pairs:
        if self.n_pairs is None:
            n_pairs = min(n_pairs, len(codes) * (len(codes) - 1) // 2)
        return random_pairs(codes, n_pairs, distinct=True, random_state=random)

    def _fit_passes(self, X: Array, pairs: Pairs, random: np.random.RandomState) -> Self:
        self._state = self._reset(X.shape[1], (X, pairs))
        # The paper's n (n - 2)/40 is for all n samples, half of which are learned from.
        wanted = min(len(X) * (len(X) - 1) // 10, 50 * len(pairs))
        passes = self.max_iter or max(2, -(-wanted // len(pairs)))
        self.n_iter_ = 0
        try:
            while self.n_iter_ < passes:
                self._learn_pairs(X, self._ordered(pairs, random))
                self.n_iter_ += 1
                if self.n_iter_ < passes:
                    check_time()
        except KeyboardInterrupt:
            if not self.n_iter_:
                raise
            self._warn_interrupted(self.n_iter_, passes)
            return self
        return diagnosed(self, X, pairs)

    def _initial_model(self, n_features: int) -> tuple[FloatArray, float]:
        return initial_model(self.init, n_features)
