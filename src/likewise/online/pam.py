"""Passive-aggressive Mahalanobis classification."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar

from likewise._loops import ClassifierRule
from likewise._loops.classifier_common import Kind
from likewise._runtime.validation import one_of, positive
from likewise.online._second_order import SecondOrderClassifier

_KINDS = {"PAM": Kind.HARD, "PAM-I": Kind.CAPPED, "PAM-II": Kind.SOFT}


@lru_cache
def _rule(variant: str, C: float, bias: bool) -> ClassifierRule:
    """Return the rule; kept, because making it again would cost a good part of one event."""
    return ClassifierRule(_KINDS[variant], C, bias=float(bias))


class PAM(SecondOrderClassifier):
    r"""Passive-aggressive Mahalanobis classifier: corrections are small in the data's own metric.

    With y = ±1, the margin :math:`m = y\,(w \cdot x)`, the loss :math:`\ell = \max(0, 1 - m)`,
    :math:`g = \Sigma x` and :math:`u = x^\top \Sigma x`, a row with a loss causes
    :math:`w \leftarrow w + \tau y g` and
    :math:`\Sigma^{-1} \leftarrow \Sigma^{-1} + x x^\top`, with

    ======= =====================================
    variant step τ
    ======= =====================================
    PAM     :math:`\ell / u`
    PAM-I   :math:`\min(C, \ell / u)`
    PAM-II  :math:`\ell / (u + \frac{1}{2C})`
    ======= =====================================

    Parameters
    ----------
    variant : {"PAM", "PAM-I", "PAM-II"}
        How large a step is.
    C : float
        How much one row may change the weights: small where labels are noisy.
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
    T. T. Nguyen, K. Chang, S. C. Hui, Distribution-aware online classifiers, IJCAI 2011.

    Examples
    --------
    >>> import likewise as lw
    >>> live = lw.PAM("PAM")
    >>> live.learn_one([1.0, 0.0], 1)
    1.0
    >>> live.learn_one([1.0, 1.0], -1)
    2.0
    >>> live.covariance_.round(2)
    array([[ 0.4, -0.2],
           [-0.2,  0.6]])
    """

    _rules: ClassVar = {
        "variant": one_of(*_KINDS),
        "C": positive(),
        "initial_variance": positive(),
        **SecondOrderClassifier._shared_rules,
    }

    def __init__(
        self,
        variant: str = "PAM-I",
        C: float = 1.0,
        *,
        covariance: str | int = "full",
        initial_variance: float = 1.0,
        multiclass: str = "ovr",
        fit_intercept: bool = False,
        max_iter: int = 5,
        shuffle: bool = True,
        random_state: Any = None,
    ) -> None:
        self.variant = variant
        self.C = C
        self.covariance = covariance
        self.initial_variance = initial_variance
        self.multiclass = multiclass
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state

    def _step_rule(self) -> ClassifierRule:
        return _rule(self.variant, self.C, self.fit_intercept)

    def _initial_variance(self) -> float:
        return float(self.initial_variance)
