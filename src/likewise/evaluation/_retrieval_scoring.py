"""The steps that all retrieval measures share: rows, relevance, rankings, jackknife."""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise._runtime.arrays import Array, IndexArray
from likewise._runtime.validation import (
    as_float_array,
    at_least,
    check_finite,
    check_parameters,
    either,
    has_method,
    none,
    one_of,
    strictly_between,
)
from likewise.evaluation import _retrieval_measures as measures
from likewise.evaluation._relevance import Relevance, listed, same_label
from likewise.evaluation.retrieval_score import RetrievalScore, summarize
from likewise.metric import row_norms
from likewise.neighbors import map_rankings


def score_rankings(
    owner: str,
    measure: measures.Measure,
    given: tuple[Any, Any, Any, Any, Any],
    *,
    k: int | None,
    depth: int | None,
    metric: Any,
    distance: str,
    confidence: float,
    n_jobs: int | None,
) -> RetrievalScore:
    """Validate the arguments of a measure, rank the corpus for all queries and summarise.

    `given` is X, y, corpus, corpus_y and relevant. With a `depth` the measure needs as many rows in
    order, and k must be a number.
    """
    check_parameters(
        owner,
        {"k": k, "metric": metric, "distance": distance, "confidence": confidence},
        {
            "k": at_least(1) if depth else either(none(), at_least(1)),
            "metric": either(none(), has_method("transform", "a fitted transformer")),
            "distance": one_of("euclidean", "cosine"),
            "confidence": strictly_between(0.5, 1),
        },
    )
    X, _, corpus, _, _ = given
    queries = _rows(X, "X", metric, distance)
    points = queries if corpus is None else _rows(corpus, "corpus", metric, distance)
    if queries.shape[1] != points.shape[1]:
        raise ValueError(
            f"X has {queries.shape[1]} features and corpus {points.shape[1]}, but they must have "
            "the same."
        )
    itself = corpus is None
    n_candidates = len(points) - itself
    if depth and k is not None and k > n_candidates:
        rows = "other rows" if itself else "rows in corpus"
        raise ValueError(f"k is {k}, but there are {n_candidates} {rows}.")
    relevance = _relevance(given, len(queries), len(points))

    def block(rows: IndexArray, order: IndexArray) -> tuple[Array, Array, Array]:
        gains = np.take_along_axis(relevance.gains(rows), order, axis=1)
        values, without = measure(gains, k)
        defined = ~np.isnan(without)
        places = order[defined]
        sums = np.bincount(places, weights=without[defined], minlength=len(points))
        return values, sums, np.bincount(places, minlength=len(points))

    found = map_rankings(block, queries, points, depth=depth, exclude_self=itself, n_jobs=n_jobs)
    per_query = np.concatenate([values for values, _, _ in found])
    if np.isnan(per_query).all():
        raise ValueError(f"{owner} needs a query to which a row is relevant, but there is none.")
    with np.errstate(divide="ignore", invalid="ignore"):
        leave_outs = [sum(sums for _, sums, _ in found) / sum(counts for _, _, counts in found)]
        if not itself:
            leave_outs.insert(0, _means_without_each(per_query))
    return summarize(per_query, leave_outs, float(confidence))


def _means_without_each(values: Array) -> Array:
    counted = ~np.isnan(values)
    rest = np.nansum(values) - np.where(counted, values, 0.0)
    return np.asarray(rest / (counted.sum() - counted))


def _rows(given: Any, name: str, metric: Any, distance: str) -> Array:
    if metric is not None:
        given = metric.transform(given)
    rows = np.asarray(given)
    if rows.dtype != np.float32:
        rows = as_float_array(given, name)
    if rows.ndim != 2 or 0 in rows.shape:
        raise ValueError(f"{name} has shape {rows.shape}, but it must have rows and columns.")
    check_finite(rows, name)
    if distance == "euclidean":
        return rows
    norms = row_norms(rows.astype(np.float64))
    if not norms.all():
        raise ValueError(
            f"row {int(norms.argmin())} of {name} is zero and has no direction, but the cosine "
            "needs one: leave it out."
        )
    return rows / norms[:, None]


def _relevance(given: tuple[Any, Any, Any, Any, Any], n_queries: int, n_points: int) -> Relevance:
    _, y, corpus, corpus_y, relevant = given
    if (y is None) == (relevant is None):
        what = "neither is" if y is None else "both are"
        raise ValueError(f"y or relevant says which rows are relevant, but {what} given.")
    if relevant is not None:
        if corpus_y is not None:
            raise ValueError("corpus_y is given, but relevant says which rows are relevant.")
        return listed(relevant, n_queries, n_points)
    if (corpus is None) != (corpus_y is None):
        missing, there = ("corpus_y", "corpus") if corpus_y is None else ("corpus", "corpus_y")
        raise ValueError(f"{there} is given, but {missing} is not.")
    return same_label(y, corpus_y, n_queries, n_points)
