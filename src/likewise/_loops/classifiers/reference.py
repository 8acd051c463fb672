"""Online classifiers in NumPy: the definition of what the compiled loops compute.

A model has weights w and a covariance Σ; an event is a sample x with a label. One-versus-rest, each
model has y = +1 for its own label and -1 otherwise; a single model is that of label 1. With top2,
the models of the label and of the best wrong label are updated, by the margin between them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from likewise._loops.classifiers.covariances import Covariance, Diagonal, Factored, LowRank
from likewise._loops.classifiers.types import (
    CANCELLATION_TOLERANCE,
    CORRELATION_TOLERANCE,
    MAX_SAMPLE_SQNORM,
    MIN_SAMPLE_SQNORM,
    ClassifierRule,
    EventLearner,
    Kind,
    Sketch,
    margins,
    predicted,
)
from likewise._runtime.arrays import FloatArray, IndexArray

_NO_LIMIT = 2**62


def _one_versus_rest(
    covariance: Covariance,
    W: FloatArray,
    max_sqnorm: FloatArray,
    rule: ClassifierRule,
    x: FloatArray,
    own: bool,
    k: int,
) -> tuple[float, int]:
    """Take one event of one model; return its score before, and whether it was updated."""
    y = 1.0 if own else -1.0
    s = float(W[k] @ x)
    is_zero = _is_zero(x, rule, _track_max_sqnorm(max_sqnorm, k, x, rule))
    threshold = rule.positive if own else rule.negative
    if is_zero or not rule.may_update(y * s, (s > 0) != own, threshold):
        return s, 0
    tau, c = rule.step(y * s, covariance.variance(k, x))
    if tau == 0:
        return s, 0
    covariance.update(k, x, y, tau, c)
    return s, 1


def _label_against_best(
    covariance: Covariance,
    W: FloatArray,
    max_sqnorm: FloatArray,
    rule: ClassifierRule,
    x: FloatArray,
    label: int,
) -> tuple[FloatArray, int]:
    """Take one event between its label and the best wrong one; return the scores before it."""
    scores = W @ x
    others = scores.copy()
    others[label] = -np.inf
    rival = int(others.argmax())
    for k in range(len(W)):
        is_zero = _is_zero(x, rule, _track_max_sqnorm(max_sqnorm, k, x, rule))
    m = float(scores[label] - scores[rival])
    mistake = m < 0 or (m == 0 and rival < label)  # the first of equal scores is predicted
    if is_zero or not rule.may_update(m, mistake, rule.positive + rule.negative):
        return scores, 0
    up, down = covariance.variance(label, x), covariance.variance(rival, x)
    step = other = rule.step(m, up + down)
    if rule.kind is Kind.SECOND_ORDER_PERCEPTRON:
        step, other = rule.step(float(scores[label]), up), rule.step(-float(scores[rival]), down)
    if step[0] == 0:
        return scores, 0
    covariance.update(label, x, 1.0, *step)
    covariance.update(rival, x, -1.0, *other)
    return scores, 1


def _track_max_sqnorm(max_sqnorm: FloatArray, k: int, x: FloatArray, rule: ClassifierRule) -> float:
    """Update the largest squared norm for uneven margins, and return it."""
    if rule.kind is Kind.PAUM:
        own = x[:-1] if rule.bias else x
        max_sqnorm[k] = rule.radius**2 if rule.radius else max(max_sqnorm[k], float(own @ own))
    return float(max_sqnorm[k])


def _is_zero(x: FloatArray, rule: ClassifierRule, max_sqnorm: float = 0.0) -> bool:
    """Return whether a sample, with its bias, is too short for an update."""
    extended = x.copy()
    if rule.bias and rule.kind is Kind.PAUM:
        extended[-1] *= np.sqrt(max_sqnorm)  # an update adds R² to the intercept, not 1
    return float(extended @ extended) < MIN_SAMPLE_SQNORM


def _learn_events(
    covariance: Covariance,
    W: FloatArray,
    max_sqnorm: FloatArray,
    row: Callable[[int], FloatArray],
    labels: IndexArray,
    top2: bool,
    rule: ClassifierRule,
    max_updates: int = _NO_LIMIT,
) -> tuple[FloatArray, int]:
    scores = np.empty((len(labels), len(W)))
    updates = taken = 0
    while taken < len(labels) and updates < max_updates and covariance.has_capacity():
        x = np.append(row(taken), rule.bias) if rule.bias else row(taken)
        if top2:
            scores[taken], changed = _label_against_best(
                covariance, W, max_sqnorm, rule, x, labels[taken]
            )
            updates += changed
        else:
            for k in range(len(W)):
                own = labels[taken] == (k if len(W) > 1 else 1)
                scores[taken, k], changed = _one_versus_rest(
                    covariance, W, max_sqnorm, rule, x, own, k
                )
                updates += changed
        taken += 1
    return scores[:taken], updates


def event_learner(
    W: FloatArray, precision: FloatArray, max_sqnorm: FloatArray, top2: bool, rule: ClassifierRule
) -> EventLearner:
    """Return a function that takes single events as `dense_events` takes many.

    Parameters
    ----------
    W, precision, max_sqnorm, top2, rule
        As in `dense_events`; the arrays are kept, and updated by each event.

    Returns
    -------
    function
        Of a sample, float64 of shape (d,), and its label. It returns the margin and the
        predicted label, both before the update, and the number of models updated. The margin is
        NaN, and nothing is updated, if the sample is not finite or its squared norm is above
        `MAX_SAMPLE_SQNORM`.
    """

    def learn(x: FloatArray, label: int) -> tuple[float, int, int]:
        if x.shape != (W.shape[1] - bool(rule.bias),):
            raise ValueError("x must have as many features as W.")
        with np.errstate(over="ignore", invalid="ignore"):
            if not float(x @ x) <= MAX_SAMPLE_SQNORM:
                return np.nan, 0, 0
        labels = np.array([label])
        scores, updates = dense_events(W, precision, max_sqnorm, x[None], labels, top2, rule)
        return float(margins(scores, labels)[0]), int(predicted(scores)[0]), updates

    return learn


def dense_events(
    W: FloatArray,
    precision: FloatArray,
    max_sqnorm: FloatArray,
    X: FloatArray,
    labels: IndexArray,
    top2: bool,
    rule: ClassifierRule,
) -> tuple[FloatArray, int]:
    """Take events one by one with a diagonal Σ, or with none; the models are updated in place.

    Parameters
    ----------
    W : float64 array of shape (n_models, d), or d + 1 with a bias
        The weights.
    precision : float64 array, as W or empty
        The inverse variances; empty for a first-order learner.
    max_sqnorm : float64 array of shape (n_models,)
        The largest squared norm of a sample so far, for uneven margins.
    X : float64 array of shape (n, d)
        Samples.
    labels : int64 array of shape (n,)
        0 or 1 for a single model, else the number of the sample's own model.
    top2 : bool
        Whether to update the label against the best wrong one, instead of one-versus-rest.
    rule : ClassifierRule
        When to update, and the step size.

    Returns
    -------
    scores : float64 array of shape (n, n_models)
        Before each event.
    updates : int
        The number of updates of a model (with top2: of two models). It is -1, and the models are
        invalid, if a sample is not finite or its squared norm is above `MAX_SAMPLE_SQNORM`.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        if not (np.einsum("nd,nd->n", X, X) <= MAX_SAMPLE_SQNORM).all():
            return np.empty((len(X), len(W))), -1
    covariance = Diagonal(W, precision, max_sqnorm, rule)
    return _learn_events(covariance, W, max_sqnorm, lambda i: X[i], labels, top2, rule)


def csr_events(
    W: FloatArray,
    precision: FloatArray,
    max_sqnorm: FloatArray,
    values: FloatArray,
    features: NDArray[np.int32],
    starts: IndexArray,
    width: int,
    labels: IndexArray,
    top2: bool,
    rule: ClassifierRule,
) -> tuple[FloatArray, int]:
    """Take events as `dense_events` does from compressed sparse rows without duplicate features.

    Parameters
    ----------
    values, features, starts : float64, int32 and int64 arrays
        Sample i has ``values[starts[i] : starts[i + 1]]`` in the columns ``features`` there.
    width : int
        The number of columns.
    """

    def row(i: int) -> FloatArray:
        x = np.zeros(width)
        stored = slice(starts[i], starts[i + 1])
        x[features[stored]] = values[stored]
        return x

    covariance = Diagonal(W, precision, max_sqnorm, rule)
    return _learn_events(covariance, W, max_sqnorm, row, labels, top2, rule)


def factor_events(
    W: FloatArray,
    columns: FloatArray,
    diagonal: FloatArray,
    max_sqnorm: FloatArray,
    X: FloatArray,
    labels: IndexArray,
    top2: bool,
    max_updates: int,
    rule: ClassifierRule,
) -> tuple[FloatArray, int]:
    """Take events one by one with a full Σ in the factored representation U diag(D) Uᵀ.

    Parameters
    ----------
    W, max_sqnorm, X, labels, top2, rule
        As in `dense_events`.
    columns : float64 array of shape (n_models, d, padded(d))
        Row j holds the entries of column j of U above its unit diagonal, and zeros.
    diagonal : float64 array of shape (n_models, d)
        D.
    max_updates : int
        Stop after this many updates; for a single model or top two.

    Returns
    -------
    scores, updates
        As in `dense_events`, of the events taken.
    """
    covariance = Factored(W, columns, diagonal)
    return _learn_events(covariance, W, max_sqnorm, lambda i: X[i], labels, top2, rule, max_updates)


def low_rank_events(
    W: FloatArray,
    sketch: Sketch,
    max_sqnorm: FloatArray,
    X: FloatArray,
    labels: IndexArray,
    top2: bool,
    rule: ClassifierRule,
) -> tuple[FloatArray, int]:
    """Take events one by one with ``Σ⁻¹ = I/s + QᵀSᵀSQ``, until its capacity is used up.

    Parameters
    ----------
    W, max_sqnorm, X, labels, top2, rule
        As in `dense_events`; a single model or top two.
    sketch : Sketch
        The covariance; its arrays are updated.

    Returns
    -------
    scores, updates
        As in `dense_events`, of the events taken.
    """
    covariance = LowRank(W, sketch, rule)
    return _learn_events(covariance, W, max_sqnorm, lambda i: X[i], labels, top2, rule)


def block_events(
    w: FloatArray,
    sigma: FloatArray,
    diagonal: FloatArray,
    X: FloatArray,
    labels: IndexArray,
    known_rows: IndexArray,
    known_products: FloatArray,
    quadratic_forms: FloatArray,
    gains: FloatArray,
    gain_weights: FloatArray,
    rule: ClassifierRule,
) -> tuple[FloatArray, int, bool]:
    """Take events of one model from Σ at the start of a block, which is not updated.

    After some updates Σ is ``sigma - Σ_j gain_weights[j] gains[j] gains[j]ᵀ``. It stops where the
    capacity is used up, or where u would suffer from cancellation.

    Parameters
    ----------
    w : float64 array of shape (d,)
        The weights; updated.
    sigma, diagonal : float64 arrays of shape (d, d) and (d,)
        Σ, of which only the upper triangle is read, and its diagonal.
    X, labels
        Samples, with their bias among the features, and 0 or 1 for each.
    known_rows, known_products : int64 array of shape (m,), float64 array of shape (m, d)
        Sorted row numbers of samples, and their ``sigma @ x``.
    quadratic_forms : float64 array of shape (n,) or (0,)
        ``xᵀ sigma x`` of all samples, or empty; ``sigma @ x`` is then computed only for updates.
    gains, gain_weights : float64 arrays of shape (capacity, d) and (capacity,)
        The updates are written there.
    rule : ClassifierRule
        When to update, and the step size.

    Returns
    -------
    scores, updates
        Of the events taken.
    trusted : bool
        False if it stopped because sigma is too imprecise for the next event.
    """
    scores, updates, taken = np.empty(len(X)), 0, 0
    symmetric = np.triu(sigma) + np.triu(sigma, 1).T
    places = dict(zip(known_rows.tolist(), known_products, strict=True))
    while taken < len(X) and updates < len(gains):
        x, own = X[taken], labels[taken] == 1
        y = 1.0 if own else -1.0
        s = float(w @ x)
        scores[taken] = s
        if rule.may_update(y * s, (s > 0) != own, 0.0) and not _is_zero(x, rule):
            gain = places[taken].copy() if taken in places else symmetric @ x
            has_form = len(quadratic_forms) and taken not in places
            at_start = float(quadratic_forms[taken] if has_form else gain @ x)
            t = gains[:updates] @ x
            u = at_start - float(gain_weights[:updates] @ (t * t))
            if not at_start > CORRELATION_TOLERANCE * float(diagonal @ (x * x)):
                return scores[:taken], updates, False
            if not u > CANCELLATION_TOLERANCE * at_start:
                return scores[:taken], updates, True
            tau, c = rule.step(y * s, u)
            if tau:
                gain -= gains[:updates].T @ (gain_weights[:updates] * t)
                gains[updates] = gain
                gain_weights[updates] = c / (1 + c * u)
                w += y * tau * gain
                updates += 1
        taken += 1
    return scores[:taken], updates, True
