"""Errors of an online learner on a stream, each event being predicted before it is learned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from likewise._runtime.arrays import FloatArray, IndexArray
from likewise._runtime.row_numbers import check_row_numbers, check_same_flags
from likewise._runtime.validation import (
    TableLike,
    at_least,
    check_parameters,
    check_rows,
    either,
    none,
)
from likewise.base import OnlineLearner
from likewise.online._labels import check_labels
from likewise.online._samples import is_sparse


@dataclass(frozen=True, eq=False)
class PredictiveError:
    """Result of `predictive_error`.

    Attributes
    ----------
    error : float
        Share of all events that were predicted wrongly.
    n_events : int array
        Numbers of events after which there is an entry in `errors` and `mistakes`.
    errors : float array, as `n_events`
        Share of that many first events that were predicted wrongly.
    mistakes : int array, as `n_events`
        Their number.
    learner : online learner
        Fitted on the stream.
    """

    error: float
    n_events: IndexArray
    errors: FloatArray
    mistakes: IndexArray
    learner: Any


def predictive_error(
    learner: OnlineLearner,
    X: TableLike,
    y: ArrayLike,
    same: ArrayLike | None = None,
    *,
    record_every: int | None = None,
) -> PredictiveError:
    r"""Return how often an online learner predicts the next event of a stream wrongly.

    Each event is predicted by the model that has learned the events before it, and is then learned
    itself. After t events with labels :math:`y_k = \pm 1` and predictions :math:`\hat y_k` the
    error is :math:`\frac{1}{2t} \sum_{k \le t} |y_k - \hat y_k|`.

    Parameters
    ----------
    learner : online classifier or online metric learner
        Not changed: a clone of it learns.
    X : array-like of shape (n_samples, n_features)
        Samples.
    y : array-like
        For a classifier, the labels of the samples, which come in this order. For a metric learner,
        pairs of row numbers of X, of shape (n_pairs, 2), which come in this order.
    same : bool array-like of shape (n_pairs,), optional
        For a metric learner: True for similar pairs, False for dissimilar ones. An event is a pair.
    record_every : int, optional
        Number of events after which the error is recorded. Default: only at the end.

    Returns
    -------
    PredictiveError

    Examples
    --------
    >>> import likewise as lw
    >>> from likewise.evaluation import predictive_error
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = predictive_error(lw.PAM("PAM-II", C=0.1), scale(X), y, record_every=200)
    >>> found.n_events
    array([200, 400, 569])
    >>> found.mistakes
    array([16, 28, 43])
    """
    if not isinstance(learner, OnlineLearner):
        raise ValueError(
            f"learner is a {type(learner).__name__}, but only online learners predict before they "
            "learn."
        )
    check_parameters(
        "predictive_error",
        {"record_every": record_every},
        {"record_every": either(none(), at_least(1))},
    )
    wants_pairs = hasattr(learner, "partial_fit_pairs")
    if wants_pairs != (same is not None):
        raise ValueError(
            f"{type(learner).__name__} learns from "
            + ("pairs, but same is None." if wants_pairs else "labels, but same was given.")
        )
    live: Any = clone(learner)
    table: Any = X
    if is_sparse(table):
        table = table.tocsr()  # from other formats rows cannot be selected
    n_rows = check_rows(
        clone(learner), table, reset=True, accept_sparse=not wants_pairs, finite=False
    ).shape[0]
    if wants_pairs:
        events = check_row_numbers(y, "y", 2, n_rows)
        flags = check_same_flags(same, len(events))
    else:
        events = np.asarray(y)
        check_labels(events, n_rows)
    stops = np.append(np.arange(0, len(events), record_every or len(events))[1:], len(events))
    mistakes = np.empty(len(stops), dtype=np.int64)
    start, first_call = 0, {"classes": np.unique(events)}
    for place, stop in enumerate(stops.tolist()):
        part = slice(start, stop)
        if wants_pairs:
            live.partial_fit_pairs(table, events[part], flags[part])
        else:
            live.partial_fit(table[part], events[part], **(first_call if start == 0 else {}))
        mistakes[place] = live.mistakes_
        start = stop
    return PredictiveError(float(mistakes[-1] / stop), stops, mistakes / stops, mistakes, live)
