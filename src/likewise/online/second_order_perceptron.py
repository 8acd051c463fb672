"""The second-order perceptron."""

from __future__ import annotations

from typing import Any, ClassVar

from likewise._loops.classifiers.types import ClassifierRule, Kind
from likewise._runtime.validation import positive
from likewise.online._second_order import SecondOrderClassifier

_RULES = {
    bias: ClassifierRule(Kind.SECOND_ORDER_PERCEPTRON, bias=float(bias)) for bias in (False, True)
}


class SecondOrderPerceptron(SecondOrderClassifier):
    r"""Second-order perceptron, an online linear classifier.

    It learns from a stream of labelled samples. It is a perceptron on samples whitened by the
    correlation matrix of its earlier mistakes. For correlated features, without a margin to tune.

    With y = ±1 and the score :math:`s = w \cdot x`, a mistake causes
    :math:`\Sigma^{-1} \leftarrow \Sigma^{-1} + x x^\top`, :math:`v \leftarrow v + y x` and
    :math:`w = \Sigma v`. The paper adds the sample to Σ⁻¹ before it predicts, which divides the
    score by :math:`1 + x^\top \Sigma x` and keeps its sign; `decision_function` returns the score
    without this division.

    Parameters
    ----------
    a : float
        Regularisation: Σ⁻¹ is a times the identity before the first event.
    covariance : {"auto", "full", "diagonal"} or int
        Which covariance Σ of the weights is kept: the full matrix, only its diagonal, or, for a
        number, a sketch of its inverse with this many rows. "auto" is "full" for up to 500
        features and "diagonal" for more, decided by the first sample.
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
    covariance_ : array of shape (n_features, n_features) or (n_features,)
        Σ, or its diagonal. With more than two classes the first axis is the class.
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
    N. Cesa-Bianchi, A. Conconi, C. Gentile, A second-order perceptron algorithm, SIAM Journal on
    Computing 34, 2005.

    Examples
    --------
    >>> import likewise as lw
    >>> live = lw.SecondOrderPerceptron()
    >>> live.learn_one([1.0, 0.0], 1)
    1.0
    >>> live.learn_one([1.0, 1.0], -1)
    1.5
    >>> live.coef_
    array([[ 0.2, -0.6]])
    """

    _rules: ClassVar = {
        "a": positive(),
        **SecondOrderClassifier._shared_rules,
    }

    def __init__(
        self,
        a: float = 1.0,
        *,
        covariance: str | int = "auto",
        multiclass: str = "ovr",
        fit_intercept: bool = False,
        max_iter: int = 5,
        shuffle: bool = True,
        record_every: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.a = a
        self.covariance = covariance
        self.multiclass = multiclass
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.record_every = record_every
        self.random_state = random_state

    def _step_rule(self) -> ClassifierRule:
        return _RULES[bool(self.fit_intercept)]

    def _initial_variance(self) -> float:
        return 1 / self.a
