"""Rosenblatt's perceptron."""

from __future__ import annotations

from typing import Any, ClassVar

from likewise._loops.classifiers.types import ClassifierRule, Kind
from likewise.online._classifier import OnlineClassifier

_RULES = {bias: ClassifierRule(Kind.PERCEPTRON, bias=float(bias)) for bias in (False, True)}


class Perceptron(OnlineClassifier):
    r"""Rosenblatt's perceptron, an online linear classifier.

    It learns from a stream of labelled samples. A sample that is predicted wrongly is added to the
    weights, with its sign. The baseline of online classifiers: it has no parameter to tune.

    With y = ±1 and the score :math:`s = w \cdot x`, a mistake causes :math:`w \leftarrow w + y x`.
    A score of 0 predicts the first class.

    Parameters
    ----------
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
    F. Rosenblatt, The perceptron: a probabilistic model for information storage and organization
    in the brain, Psychological Review 65, 1958.

    Examples
    --------
    >>> import likewise as lw
    >>> live = lw.Perceptron()
    >>> live.learn_one([1.0, 0.0], 1)
    1.0
    >>> live.learn_one([0.0, 1.0], -1)
    1.0
    >>> live.predict([[2.0, 1.0]]), live.mistakes_
    (array([1]), 1)
    """

    _rules: ClassVar = {
        **OnlineClassifier._shared_rules,
    }

    def __init__(
        self,
        *,
        multiclass: str = "ovr",
        fit_intercept: bool = False,
        max_iter: int = 5,
        shuffle: bool = True,
        record_every: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.multiclass = multiclass
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.record_every = record_every
        self.random_state = random_state

    def _step_rule(self) -> ClassifierRule:
        return _RULES[bool(self.fit_intercept)]
