"""The perceptron algorithm with uneven margins."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar

from likewise._loops.classifiers.types import ClassifierRule, Kind
from likewise._runtime.validation import either, non_negative, none, positive
from likewise.online._classifier import OnlineClassifier


@lru_cache
def _rule(
    eta: float, positive_margin: float, negative_margin: float, R: float | None, bias: bool
) -> ClassifierRule:
    """Return the rule, cached: creating it takes a good part of the time of one event."""
    return ClassifierRule(Kind.PAUM, eta, positive_margin, negative_margin, R or 0.0, float(bias))


class PAUM(OnlineClassifier):
    r"""Perceptron algorithm with uneven margins (PAUM), an online linear classifier.

    It learns from a stream of labelled samples. A sample whose margin does not exceed that of its
    class is added to the weights. For imbalanced classes: give the rare one the larger margin.

    With y = ±1, a sample with :math:`y\,(w \cdot x + b) \le \tau_y` causes
    :math:`w \leftarrow w + \eta y x` and :math:`b \leftarrow b + \eta y R^2`.
    With ``multiclass="top2"`` the required margin is :math:`\tau_+ + \tau_-`.

    Parameters
    ----------
    positive_margin, negative_margin : float
        τ₊ and τ₋, the margins of the second and of the first class.
    eta : float
        Learning rate η.
    R : float, optional
        Length of the longest sample. Default: that of the longest sample so far.
    multiclass : {"ovr", "top2"}
        With more than two classes: "ovr" learns one model per class against the rest; "top2"
        updates the model of the label and that of the highest-scoring other class.
    fit_intercept : bool
        Whether to learn an intercept b, whose step is η y R²; otherwise b is 0.
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
    Y. Li, H. Zaragoza, R. Herbrich, J. Shawe-Taylor, J. Kandola, The perceptron algorithm with
    uneven margins, ICML 2002.

    Examples
    --------
    >>> import likewise as lw
    >>> live = lw.PAUM(positive_margin=2.0, negative_margin=0.5, fit_intercept=True)
    >>> live.learn_one([1.0, 0.0], 1)
    1.0
    >>> live.learn_one([0.0, 2.0], -1)
    2.0
    >>> live.intercept_
    array([-3.])
    """

    _rules: ClassVar = {
        "positive_margin": non_negative(),
        "negative_margin": non_negative(),
        "eta": positive(),
        "R": either(none(), positive()),
        **OnlineClassifier._shared_rules,
    }

    def __init__(
        self,
        positive_margin: float = 1.0,
        negative_margin: float = 1.0,
        eta: float = 1.0,
        R: float | None = None,
        *,
        multiclass: str = "ovr",
        fit_intercept: bool = False,
        max_iter: int = 5,
        shuffle: bool = True,
        record_every: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.positive_margin = positive_margin
        self.negative_margin = negative_margin
        self.eta = eta
        self.R = R
        self.multiclass = multiclass
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.record_every = record_every
        self.random_state = random_state

    def _step_rule(self) -> ClassifierRule:
        return _rule(
            self.eta, self.positive_margin, self.negative_margin, self.R, self.fit_intercept
        )
