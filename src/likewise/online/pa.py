"""Passive-aggressive classification."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar

from likewise._loops.classifiers.types import ClassifierRule, Kind
from likewise._runtime.validation import one_of, positive
from likewise.online._classifier import OnlineClassifier

_KINDS = {"PA": Kind.PA, "PA-I": Kind.PA_I, "PA-II": Kind.PA_II}


@lru_cache
def _rule(variant: str, C: float, bias: bool) -> ClassifierRule:
    """Return the rule, cached: creating it takes a good part of the time of one event."""
    return ClassifierRule(_KINDS[variant], C, bias=float(bias))


class PA(OnlineClassifier):
    r"""Passive-aggressive (PA) online linear classifier.

    It learns from a stream of labelled samples. Each update is the smallest change of the weights
    that classifies the sample correctly with margin 1; PA-I and PA-II limit it. Fast and simple:
    for sparse data such as text, and as a first-order baseline.

    With y = ±1, the margin :math:`m = y\,(w \cdot x)` and the loss :math:`\ell = \max(0, 1 - m)`,
    a sample with a positive loss causes :math:`w \leftarrow w + \tau y x`, with

    ======= ===================================================
    variant step τ
    ======= ===================================================
    PA      :math:`\ell / \lVert x \rVert^2`
    PA-I    :math:`\min(C, \ell / \lVert x \rVert^2)`
    PA-II   :math:`\ell / (\lVert x \rVert^2 + \frac{1}{2C})`
    ======= ===================================================

    Parameters
    ----------
    variant : {"PA", "PA-I", "PA-II"}
        Step size, see the table.
    C : float
        Aggressiveness: the limit of a step. Smaller for noisier labels; "PA" does not use it.
    multiclass : {"ovr", "top2"}
        With more than two classes: "ovr" learns one model per class against the rest; "top2"
        updates the model of the label and that of the highest-scoring other class.
    fit_intercept : bool
        Whether to learn an intercept, as the weight of a constant feature of value 1.
    max_iter : int
        Number of passes of `fit`. A stream is a single pass.
    shuffle : bool
        Whether each pass of `fit` takes the samples in a new random order.
    record_every : int, optional
        Number of samples after which mistakes and F1 scores are written into `history_`. Default:
        never.
    random_state : int, RandomState or None
        Seed of the random order.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Labels in sorted order.
    coef_, intercept_ : arrays of shape (n_models, n_features) and (n_models,)
        Weights and intercepts: one model for two classes, else one model per class.
    n_events_, n_updates_, mistakes_ : int
        Samples seen, updates of a model, samples predicted wrongly before the update with them.
    cumulative_error_ : float
        ``mistakes_ / n_events_``.
    f1_ : array of shape (n_classes,)
        F1 score of each class, of the predictions before the update with each sample.
    history_ : dict of arrays
        With `record_every`: n_events, mistakes, predictive_error, and f1 with one column per class.

    References
    ----------
    K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz, Y. Singer, Online passive-aggressive
    algorithms, Journal of Machine Learning Research 7, 2006.

    Examples
    --------
    >>> import likewise as lw
    >>> live = lw.PA("PA-I", C=0.1)
    >>> live.learn_one([1.0, 0.0], 1)
    1.0
    >>> live.learn_one([1.0, 1.0], -1)
    1.1
    >>> live.predict([[0.0, 1.0], [1.0, 0.0]])
    array([-1, -1])
    """

    _rules: ClassVar = {
        "variant": one_of(*_KINDS),
        "C": positive(),
        **OnlineClassifier._shared_rules,
    }

    def __init__(
        self,
        variant: str = "PA-I",
        C: float = 1.0,
        *,
        multiclass: str = "ovr",
        fit_intercept: bool = False,
        max_iter: int = 5,
        shuffle: bool = True,
        record_every: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.variant = variant
        self.C = C
        self.multiclass = multiclass
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.record_every = record_every
        self.random_state = random_state

    def _step_rule(self) -> ClassifierRule:
        return _rule(self.variant, self.C, self.fit_intercept)
