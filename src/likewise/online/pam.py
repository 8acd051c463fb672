"""Passive-aggressive Mahalanobis classification."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar

from likewise._loops.classifiers.types import ClassifierRule, Kind
from likewise._runtime.validation import one_of, positive
from likewise.online._second_order import SecondOrderClassifier

_KINDS = {"PAM": Kind.PA, "PAM-I": Kind.PA_I, "PAM-II": Kind.PA_II}


@lru_cache
def _rule(variant: str, C: float, bias: bool) -> ClassifierRule:
    """Return the rule, cached: creating it takes a good part of the time of one event."""
    return ClassifierRule(_KINDS[variant], C, bias=float(bias))


class PAM(SecondOrderClassifier):
    r"""Passive-aggressive Mahalanobis (PAM) classifier, a second-order online linear classifier.

    It learns from a stream of labelled samples. Each update is the smallest change of the weights,
    in the Mahalanobis norm of the samples learned so far, that classifies the sample correctly with
    margin 1; PAM-I and PAM-II limit it. For correlated features.

    With y = ±1, the margin :math:`m = y\,(w \cdot x)`, the loss :math:`\ell = \max(0, 1 - m)`,
    :math:`g = \Sigma x` and :math:`u = x^\top \Sigma x`, a sample with a positive loss causes
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
        Step size, see the table.
    C : float
        Aggressiveness: the limit of a step. Smaller for noisier labels; "PAM" does not use it.
    covariance : {"auto", "full", "diagonal"} or int
        Which covariance Σ of the weights is kept: the full matrix, only its diagonal, or, for a
        number, a sketch of its inverse with this many rows. "auto" is "full" for up to 500
        features and "diagonal" for more, decided by the first sample.
    initial_variance : float
        Variance of every weight before the first event: Σ is this multiple of the identity.
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
        covariance: str | int = "auto",
        initial_variance: float = 1.0,
        multiclass: str = "ovr",
        fit_intercept: bool = False,
        max_iter: int = 5,
        shuffle: bool = True,
        record_every: int | None = None,
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
        self.record_every = record_every
        self.random_state = random_state

    def _step_rule(self) -> ClassifierRule:
        return _rule(self.variant, self.C, self.fit_intercept)

    def _initial_variance(self) -> float:
        return float(self.initial_variance)
