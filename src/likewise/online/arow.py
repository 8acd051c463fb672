"""Adaptive regularisation of weights."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar

from likewise._loops import ClassifierRule
from likewise._loops.classifier_common import Kind
from likewise._runtime.validation import positive
from likewise.online._second_order import SecondOrderClassifier


@lru_cache
def _rule(r: float, bias: bool) -> ClassifierRule:
    """Return the rule; kept, because making it again would cost a good part of one event."""
    return ClassifierRule(Kind.REGULARISED, r, bias=float(bias))


class AROW(SecondOrderClassifier):
    r"""Adaptive regularisation of weights: confidence grows with every row, and noise is forgiven.

    With y = ±1, the margin :math:`m = y\,(w \cdot x)`, the loss :math:`\ell = \max(0, 1 - m)`,
    :math:`g = \Sigma x` and :math:`u = x^\top \Sigma x`, a row with a loss causes
    :math:`w \leftarrow w + \frac{\ell}{u + r} y g` and
    :math:`\Sigma^{-1} \leftarrow \Sigma^{-1} + \frac{1}{r} x x^\top`.

    Parameters
    ----------
    r : float
        How much less than at once each row is believed: large where labels are noisy.
    covariance : {"full", "diagonal"} or int
        What is kept of the covariance Σ of the weights: all, the variances only, or what a sketch
        of so many rows can tell of its inverse.
    initial_variance : float
        Σ is this multiple of the identity before the first event.
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
    K. Crammer, A. Kulesza, M. Dredze, Adaptive regularization of weight vectors, NIPS 2009.

    Examples
    --------
    >>> import likewise as lw
    >>> live = lw.AROW(r=1.0)
    >>> live.learn_one([1.0, 0.0], 1)
    1.0
    >>> live.learn_one([1.0, 1.0], -1)
    1.5
    >>> live.coef_
    array([[ 0.2, -0.6]])
    """

    _rules: ClassVar = {
        "r": positive(),
        "initial_variance": positive(),
        **SecondOrderClassifier._shared_rules,
    }

    def __init__(
        self,
        r: float = 1.0,
        *,
        covariance: str | int = "full",
        initial_variance: float = 1.0,
        multiclass: str = "ovr",
        fit_intercept: bool = False,
        max_iter: int = 5,
        shuffle: bool = True,
        random_state: Any = None,
    ) -> None:
        self.r = r
        self.covariance = covariance
        self.initial_variance = initial_variance
        self.multiclass = multiclass
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state

    def _step_rule(self) -> ClassifierRule:
        return _rule(self.r, self.fit_intercept)

    def _initial_variance(self) -> float:
        return float(self.initial_variance)
