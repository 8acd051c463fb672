"""The second-order perceptron."""

from __future__ import annotations

from typing import Any, ClassVar

from likewise._loops import ClassifierRule
from likewise._loops.classifier_common import Kind
from likewise._runtime.validation import positive
from likewise.online._second_order import SecondOrderClassifier

_RULES = {
    bias: ClassifierRule(Kind.SECOND_ORDER_PERCEPTRON, bias=float(bias)) for bias in (False, True)
}


class SecondOrderPerceptron(SecondOrderClassifier):
    r"""Second-order perceptron: a perceptron on whitened rows, which learns from its mistakes only.

    With y = ±1 and the score :math:`s = w \cdot x`, a mistake causes
    :math:`\Sigma^{-1} \leftarrow \Sigma^{-1} + x x^\top`, :math:`v \leftarrow v + y x` and
    :math:`w = \Sigma v`. The paper adds the row to Σ before it predicts, which divides the score by
    1 + u and leaves its sign; `decision_function` returns the undivided one.

    Parameters
    ----------
    a : float
        Σ⁻¹ is a times the identity before the first event.
    covariance : {"full", "diagonal"} or int
        What is kept of the covariance Σ of the weights: all, the variances only, or what a sketch
        of so many rows can tell of its inverse.
    multiclass : {"ovr", "top2"}
        More than two classes: a model a class against the rest, or the label against the best
        wrong class.
    fit_intercept : bool
        Whether every row has one more feature, which is 1.
    max_iter : int
        Passes of `fit`; a stream has one by itself.
    shuffle : bool
        Whether each pass of `fit` takes the rows in a new random order.
    random_state : int, RandomState or None
        Decides the order.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels in sorted order.
    coef_, intercept_ : arrays of shape (n_models, n_features) and (n_models,)
        The weights; one model for two classes, else one a class.
    covariance_ : array of shape (n_features, n_features) or (n_features,)
        Σ, or its diagonal; with one more axis in front for more than two classes.
    n_events_, n_updates_, mistakes_ : int
        Rows seen, changes of a model, rows that were predicted wrongly before they were learned.
    cumulative_error_ : float
        ``mistakes_ / n_events_``.

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
        covariance: str | int = "full",
        multiclass: str = "ovr",
        fit_intercept: bool = False,
        max_iter: int = 5,
        shuffle: bool = True,
        random_state: Any = None,
    ) -> None:
        self.a = a
        self.covariance = covariance
        self.multiclass = multiclass
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state

    def _step_rule(self) -> ClassifierRule:
        return _RULES[bool(self.fit_intercept)]

    def _initial_variance(self) -> float:
        return 1 / self.a
