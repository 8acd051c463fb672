"""The loops of online classifiers in NumPy: the definition of what the compiled ones compute.

A model has weights w and a covariance Σ; an event is a row x with a label. One against the rest,
every model sees y = +1 for its own label and -1 otherwise; a single model is that of label 1. Top
two, the model of the label and that of the best wrong label learn, with the margin between them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from likewise._loops.classifiers.covariances import Covariance, Diagonal, Factored, LowRank
from likewise._loops.classifiers.types import (
    LONGEST2,
    LOST,
    SHORTEST2,
    TRUSTED,
    ClassifierRule,
    EventLearner,
    Kind,
    Sketch,
    margins,
    predicted,
)
from likewise._runtime.arrays import FloatArray, IndexArray

_NO_LIMIT = 2**62


def _one_against_rest(
    form: Covariance,
    W: FloatArray,
    reach: FloatArray,
    rule: ClassifierRule,
    x: FloatArray,
    own: bool,
    k: int,
) -> tuple[float, int]:
    """Take one event of one model; return its score before, and whether it changed."""
    y = 1.0 if own else -1.0
    s = float(W[k] @ x)
    length2 = _reached(reach, k, x, rule)
    threshold = rule.positive if own else rule.negative
    if not rule.open(y * s, (s > 0) != own, threshold) or length2 < SHORTEST2:
        return s, 0
    tau, c = rule.step(y * s, form.variance(k, x))
    if tau == 0:
        return s, 0
    form.update(k, x, y, tau, c)
    return s, 1


def _label_against_best(
    form: Covariance,
    W: FloatArray,
    reach: FloatArray,
    rule: ClassifierRule,
    x: FloatArray,
    label: int,
) -> tuple[FloatArray, int]:
    """Take one event between its label and the best wrong one; return scores before."""
    scores = W @ x
    others = scores.copy()
    others[label] = -np.inf
    rival = int(others.argmax())
    for k in range(len(W)):
        length2 = _reached(reach, k, x, rule)
    m = float(scores[label] - scores[rival])
    mistake = m < 0 or (m == 0 and rival < label)  # the first of equal scores is predicted
    if not rule.open(m, mistake, rule.positive + rule.negative) or length2 < SHORTEST2:
        return scores, 0
    up, down = form.variance(label, x), form.variance(rival, x)
    step = other = rule.step(m, up + down)
    if rule.kind is Kind.SECOND_ORDER_PERCEPTRON:
        step, other = rule.step(float(scores[label]), up), rule.step(-float(scores[rival]), down)
    if step[0] == 0:
        return scores, 0
    form.update(label, x, 1.0, *step)
    form.update(rival, x, -1.0, *other)
    return scores, 1


def _reached(reach: FloatArray, k: int, x: FloatArray, rule: ClassifierRule) -> float:
    """Return the squared length of the row without its bias; note it where the rule needs R."""
    length2 = _length2(x, rule)
    if rule.kind is Kind.UNEVEN:
        reach[k] = rule.reach**2 if rule.reach else max(reach[k], length2)
    return length2


def _length2(x: FloatArray, rule: ClassifierRule) -> float:
    own = x[:-1] if rule.bias else x
    return float(own @ own)


def _learn_events(
    form: Covariance,
    W: FloatArray,
    reach: FloatArray,
    row: Callable[[int], FloatArray],
    labels: IndexArray,
    top2: bool,
    rule: ClassifierRule,
    max_updates: int = _NO_LIMIT,
) -> tuple[FloatArray, int]:
    scores = np.empty((len(labels), len(W)))
    updates = taken = 0
    while taken < len(labels) and updates < max_updates and form.room():
        x = np.append(row(taken), rule.bias) if rule.bias else row(taken)
        if top2:
            scores[taken], changed = _label_against_best(form, W, reach, rule, x, labels[taken])
            updates += changed
        else:
            for k in range(len(W)):
                own = labels[taken] == (k if len(W) > 1 else 1)
                scores[taken, k], changed = _one_against_rest(form, W, reach, rule, x, own, k)
                updates += changed
        taken += 1
    return scores[:taken], updates


def event_learner(
    W: FloatArray, precision: FloatArray, reach: FloatArray, top2: bool, rule: ClassifierRule
) -> EventLearner:
    """Return a function that takes single events as `dense_events` takes a stream.

    Parameters
    ----------
    W, precision, reach, top2, rule
        As in `dense_events`; they are kept, and change with each event.

    Returns
    -------
    function
        Of a row, float64 of shape (d,), and its label. It returns how far the label was ahead,
        whether another was predicted, and how many models changed. The margin is NaN, and nothing
        changes, if the row is not finite or its squared length is above `LONGEST2`.
    """

    def learn(x: FloatArray, label: int) -> tuple[float, bool, int]:
        if x.shape != (W.shape[1] - bool(rule.bias),):
            raise ValueError("x must have as many features as W.")
        with np.errstate(over="ignore", invalid="ignore"):
            if not float(x @ x) <= LONGEST2:
                return np.nan, False, 0
        labels = np.array([label])
        scores, updates = dense_events(W, precision, reach, x[None], labels, top2, rule)
        mistake = bool(predicted(scores)[0] != label)
        return float(margins(scores, labels)[0]), mistake, updates

    return learn


def dense_events(
    W: FloatArray,
    precision: FloatArray,
    reach: FloatArray,
    X: FloatArray,
    labels: IndexArray,
    top2: bool,
    rule: ClassifierRule,
) -> tuple[FloatArray, int]:
    """Take events one by one with a diagonal Σ, or with none; the models change in place.

    Parameters
    ----------
    W : float64 array of shape (n_models, d), or d + 1 with a bias
        The weights.
    precision : float64 array, as W or empty
        The inverse variances; empty for a first-order learner.
    reach : float64 array of shape (n_models,)
        The longest squared row so far, for uneven margins.
    X : float64 array of shape (n, d)
        Rows.
    labels : int64 array of shape (n,)
        0 or 1 for a single model, else the number of the row's own model.
    top2 : bool
        Whether the label learns against the best wrong one instead of each against the rest.
    rule : ClassifierRule
        When and how far to step.

    Returns
    -------
    scores : float64 array of shape (n, n_models)
        Before the update by each event.
    updates : int
        How often a model changed (top two: how many events changed two models). It is -1, and the
        models are spoiled, if a row is not finite or its squared length is above `LONGEST2`.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        if not (np.einsum("nd,nd->n", X, X) <= LONGEST2).all():
            return np.empty((len(X), len(W))), -1
    form = Diagonal(W, precision, reach, rule)
    return _learn_events(form, W, reach, lambda i: X[i], labels, top2, rule)


def csr_events(
    W: FloatArray,
    precision: FloatArray,
    reach: FloatArray,
    values: FloatArray,
    features: NDArray[np.int32],
    starts: IndexArray,
    width: int,
    labels: IndexArray,
    top2: bool,
    rule: ClassifierRule,
) -> tuple[FloatArray, int]:
    """Do what `dense_events` does for compressed sparse rows, of which no feature is named twice.

    Parameters
    ----------
    values, features, starts : float64, int32 and int64 arrays
        Row i has ``values[starts[i] : starts[i + 1]]`` in the columns ``features`` there.
    width : int
        The number of columns.
    """

    def row(i: int) -> FloatArray:
        x = np.zeros(width)
        stored = slice(starts[i], starts[i + 1])
        x[features[stored]] = values[stored]
        return x

    form = Diagonal(W, precision, reach, rule)
    return _learn_events(form, W, reach, row, labels, top2, rule)


def factor_events(
    W: FloatArray,
    columns: FloatArray,
    diagonal: FloatArray,
    reach: FloatArray,
    X: FloatArray,
    labels: IndexArray,
    top2: bool,
    max_updates: int,
    rule: ClassifierRule,
) -> tuple[FloatArray, int]:
    """Take events one by one with a full Σ, kept as its factors U diag(D) Uᵀ.

    Parameters
    ----------
    W, reach, X, labels, top2, rule
        As in `dense_events`.
    columns : float64 array of shape (n_models, d, padded(d))
        Row j holds the entries of column j of U above its diagonal, which is 1; else zeros.
    diagonal : float64 array of shape (n_models, d)
        D.
    max_updates : int
        Stop after this many updates; for a single model or top two.

    Returns
    -------
    scores, updates
        As in `dense_events`, of the events that were taken.
    """
    form = Factored(W, columns, diagonal)
    return _learn_events(form, W, reach, lambda i: X[i], labels, top2, rule, max_updates)


def low_rank_events(
    W: FloatArray,
    sketch: Sketch,
    reach: FloatArray,
    X: FloatArray,
    labels: IndexArray,
    top2: bool,
    rule: ClassifierRule,
) -> tuple[FloatArray, int]:
    """Take events one by one with ``Σ⁻¹ = I/s + QᵀSᵀSQ``, until there is no room for a row of S.

    Parameters
    ----------
    W, reach, X, labels, top2, rule
        As in `dense_events`; a single model or top two.
    sketch : Sketch
        The covariance; its arrays change.

    Returns
    -------
    scores, updates
        As in `dense_events`, of the events that were taken.
    """
    form = LowRank(W, sketch, rule)
    return _learn_events(form, W, reach, lambda i: X[i], labels, top2, rule)


def block_events(
    w: FloatArray,
    sigma: FloatArray,
    diagonal: FloatArray,
    X: FloatArray,
    labels: IndexArray,
    asked: IndexArray,
    known: FloatArray,
    quadratics: FloatArray,
    history: FloatArray,
    shrink: FloatArray,
    rule: ClassifierRule,
) -> tuple[FloatArray, int, bool]:
    """Take events of one model from Σ at the start of a block, which is not touched.

    After some updates Σ is ``sigma - Σ_j shrink[j] history[j] history[j]ᵀ``. Stops when there is
    no room for one more, or where u would lose its digits.

    Parameters
    ----------
    w : float64 array of shape (d,)
        The weights; they change.
    sigma, diagonal : float64 arrays of shape (d, d) and (d,)
        Σ, of which only the upper half is read, and its diagonal.
    X, labels
        Rows, with their bias among the features, and 0 or 1 for each.
    asked, known : int64 array of shape (m,), float64 array of shape (m, d)
        Rows, ascending, for which ``sigma @ x`` is known beforehand.
    quadratics : float64 array of shape (n,) or (0,)
        ``xᵀ sigma x`` of all rows, if it is known: those not asked for need no more till they
        cause an update.
    history, shrink : float64 arrays of shape (capacity, d) and (capacity,)
        Where updates are noted.
    rule : ClassifierRule
        When and how far to step.

    Returns
    -------
    scores, updates
        Of the events that were taken.
    trusted : bool
        False if it stopped because sigma itself is too imprecise for the next event.
    """
    scores, updates, taken = np.empty(len(X)), 0, 0
    symmetric = np.triu(sigma) + np.triu(sigma, 1).T
    places = dict(zip(asked.tolist(), known, strict=True))
    while taken < len(X) and updates < len(history):
        x, own = X[taken], labels[taken] == 1
        y = 1.0 if own else -1.0
        s = float(w @ x)
        scores[taken] = s
        if rule.open(y * s, (s > 0) != own, 0.0) and _length2(x, rule) >= SHORTEST2:
            gain = places[taken].copy() if taken in places else symmetric @ x
            told = len(quadratics) and taken not in places
            at_start = float(quadratics[taken] if told else gain @ x)
            t = history[:updates] @ x
            u = at_start - float(shrink[:updates] @ (t * t))
            if not at_start > TRUSTED * float(diagonal @ (x * x)):
                return scores[:taken], updates, False
            if not u > LOST * at_start:
                return scores[:taken], updates, True
            tau, c = rule.step(y * s, u)
            if tau:
                gain -= history[:updates].T @ (shrink[:updates] * t)
                history[updates] = gain
                shrink[updates] = c / (1 + c * u)
                w += y * tau * gain
                updates += 1
        taken += 1
    return scores[:taken], updates, True
