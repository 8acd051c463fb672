"""Passive-aggressive classification."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar

from likewise._loops import ClassifierRule
from likewise._loops.classifier_common import Kind
from likewise._runtime.validation import one_of, positive
from likewise.online._classifier import OnlineClassifier

_KINDS = {"PA": Kind.HARD, "PA-I": Kind.CAPPED, "PA-II": Kind.SOFT}


@lru_cache
def _rule(variant: str, C: float, bias: bool) -> ClassifierRule:
    """Return the rule; kept, because making it again would cost a good part of one event."""
    return ClassifierRule(_KINDS[variant], C, bias=float(bias))


class PA(OnlineClassifier):
    r"""Passive-aggressive classifier: each row corrects the weights as little as it must.

    With y = ±1, the margin :math:`m = y\,(w \cdot x)` and the loss :math:`\ell = \max(0, 1 - m)`,
    a row with a loss causes :math:`w \leftarrow w + \tau y x`, with

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
        How large a step is.
    C : float
        How much one row may change the weights: small where labels are noisy.
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
    n_events_, n_updates_, mistakes_ : int
        Rows seen, changes of a model, rows that were predicted wrongly before they were learned.
    cumulative_error_ : float
        ``mistakes_ / n_events_``.

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
        random_state: Any = None,
    ) -> None:
        self.variant = variant
        self.C = C
        self.multiclass = multiclass
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state

    def _step_rule(self) -> ClassifierRule:
        return _rule(self.variant, self.C, self.fit_intercept)
