"""Everything that a report shows, as one dict of plain values."""

from __future__ import annotations

import math
import platform
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from likewise._runtime.validation import TableLike, pluralize
from likewise._runtime.version import __version__
from likewise.constraints._tuples import as_pairs
from likewise.evaluation import Comparison, PairComparison, compare, compare_pairs
from likewise.evaluation._checks import _encode, column_names, dense_rows
from likewise.evaluation._report import plain
from likewise.evaluation._runs import Progress
from likewise.evaluation.cost import PAIR_REPEATS, REPEATS
from likewise.report._code import python_code
from likewise.report._evidence import BEFORE, gather_evidence, n_steps
from likewise.report._held_out import HeldOut, split_pairs, split_rows
from likewise.report._items import Items
from likewise.statistics._pair_units import check_groups, require_both_kinds


def summarise(
    X: TableLike,
    y: ArrayLike | None = None,
    *,
    pairs: ArrayLike | None = None,
    same: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    comparison: Comparison | PairComparison | None = None,
    methods: Iterable[str] | Mapping[str, Any] | None = None,
    n_neighbors: int = 3,
    n_repeats: int | None = None,
    standardize: bool = True,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    ids: Sequence[Any] | None = None,
    texts: Sequence[str] | None = None,
    image_shape: tuple[int, int] | None = None,
    remarks: Sequence[str] = (),
    name: str = "data",
    loading: str | None = None,
    random_state: int = 0,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Compare metrics, look at the best one on held-out rows, and return all of it as a dict.

    Rows (with groups: groups) are split into three parts. The metric is fitted to 60 % of them, a
    threshold on its distance is chosen on pairs of 20 %, and everything that is shown of it comes
    from the last 20 %: embedding, distances of pairs, ROC and DET curves, neighbours and the
    learning curve. Which metric is shown was decided by cross-validation on all rows.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Finite numbers.
    y : array-like of shape (n_samples,), optional
        Labels; not with pairs.
    pairs, same : array-like, optional
        Row numbers of judged pairs, and which of them belong together, in place of labels.
    groups : array-like of shape (n_samples,), optional
        Rows of a group are never in two parts.
    comparison : Comparison or PairComparison, optional
        What `compare` or `compare_pairs` found on these data; its settings are used. By default
        they are compared here.
    methods, n_neighbors, n_repeats, standardize, feature_names, random_state
        As for `compare`; without a `comparison` only.
    class_names : sequence of str, optional
        Names of the labels 0, 1, …, where labels are such numbers.
    ids : sequence, optional
        What each row is called; by default rows are numbers.
    texts : sequence of str, optional
        What each row is, in words; shown for rows whose neighbours change.
    image_shape : tuple of two int, optional
        Height and width, where rows are the pixels of pictures.
    remarks : sequence of str, optional
        What was done to the data before, in sentences: they stand among the warnings.
    name : str, default="data"
        What the data are called.
    loading : str, optional
        Python code that gives X and y (or X, pairs and same), for the code in the report.
    progress : callable, optional
        Called with the steps done, the steps in all, and what is running now.

    Returns
    -------
    dict
        Numbers, text, lists and dicts only: JSON can hold it. `render` makes a page of it.

    Examples
    --------
    >>> from likewise.datasets import load
    >>> from likewise.report import summarise
    >>> wine = load("wine")
    >>> found = summarise(wine.X, wine.y, methods=["Euclidean", "RCA"])
    >>> found["answer"]["outcome"], found["shown"]["name"]
    ('use', 'RCA')
    """
    start = time.perf_counter()
    columns = column_names(X, feature_names)
    rows = dense_rows(X)
    of_pairs = pairs is not None
    if of_pairs == (y is not None) or of_pairs != (same is not None):
        raise ValueError("either y or both pairs and same are needed, and not all of them.")
    labels = None if y is None else _named(np.asarray(y), class_names)
    items = Items(rows, labels, texts, image_shape, ids)
    if comparison is None:
        comparison = _compare(
            *(rows, y, pairs, same, groups, methods, n_neighbors, n_repeats, standardize),
            *(columns, random_state, progress),
        )
    if isinstance(comparison, PairComparison) != of_pairs:
        raise ValueError("comparison is one of labels, and the data are pairs, or the reverse.")
    compared = time.perf_counter()
    seed = comparison.random_state
    held = _split(rows, labels, pairs, same, groups, comparison.standardized, seed)
    shown, why = _metric_to_show(comparison)
    feature_labels = (
        [f"x{i}" for i in range(rows.shape[1])] if columns is None else list(map(str, columns))
    )
    done, total = 0, n_steps(held, shown)

    def step(what: str) -> None:
        nonlocal done
        if progress is not None:
            progress(done, total, what)
        done += 1

    evidence = gather_evidence(
        held,
        rows,
        items,
        feature_labels,
        shown,
        comparison.estimators[shown],
        n_neighbors=comparison.n_neighbors if isinstance(comparison, Comparison) else 3,
        random_state=seed,
        step=step,
    )
    row = next(row for row in comparison.rows if row.name == shown)
    ended = time.perf_counter()
    summary: dict[str, Any] = _plain(
        {
            "format": 1,
            "title": name,
            "data": {
                "n_samples": len(rows),
                "n_features": rows.shape[1],
                "n_classes": None if held.classes is None else len(held.classes),
                "n_pairs": None if pairs is None else len(np.asarray(pairs)),
                "n_groups": None if groups is None else len(np.unique(np.asarray(groups))),
            },
            "answer": {
                "sentence": comparison.verdict,
                "outcome": comparison.outcome,
                "recommended": comparison.recommended,
            },
            "comparison": _table(comparison),
            "shown": {"name": shown, "call": row.call, "why": why, "before": BEFORE},
            "split": _split_sizes(held),
            **evidence.sections,
            "warnings": [{"kind": "data", "text": text} for text in remarks] + evidence.warnings,
            "run": {
                "facts": {
                    "likewise": __version__,
                    "Python": platform.python_version(),
                    "NumPy": np.__version__,
                    "seed": seed,
                    "comparison": _seconds(compared - start),
                    "fit of the metric shown": _seconds(evidence.fit_seconds),
                    "everything else": _seconds(ended - compared - evidence.fit_seconds),
                },
                "python": python_code(
                    comparison, comparison.estimators[shown], loading, grouped=groups is not None
                ),
            },
        }
    )
    return summary


def _named(y: Any, class_names: Sequence[str] | None) -> Any:
    if class_names is None:
        return y
    if y.dtype.kind not in "iu" or y.min() < 0 or y.max() >= len(class_names):
        raise ValueError(
            f"class_names has {len(class_names)} names, but y must then hold the numbers "
            f"0 to {len(class_names) - 1}."
        )
    return np.asarray(class_names, dtype=object)[y].astype(str)


def _compare(
    rows: Any,
    y: Any,
    pairs: Any,
    same: Any,
    groups: Any,
    methods: Any,
    n_neighbors: int,
    n_repeats: int | None,
    standardize: bool,
    columns: Any,
    random_state: int,
    progress: Progress | None,
) -> Comparison | PairComparison:
    common: dict[str, Any] = {
        "groups": groups,
        "standardize": standardize,
        "feature_names": columns,
        "random_state": random_state,
        "progress": progress,
    }
    if pairs is not None:
        repeats = PAIR_REPEATS if n_repeats is None else n_repeats
        return compare_pairs(rows, pairs, same, methods, n_repeats=repeats, **common)
    repeats = REPEATS if n_repeats is None else n_repeats
    return compare(rows, y, methods, n_neighbors=n_neighbors, n_repeats=repeats, **common)


def _split(
    rows: Any, labels: Any, pairs: Any, same: Any, groups: Any, standardize: bool, seed: int
) -> HeldOut:
    units = None if groups is None else check_groups(groups, len(rows))
    if labels is None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # contradictions: the comparison has warned of them
            judged = as_pairs(pairs, same, len(rows))
        require_both_kinds(judged.same)
        return split_pairs(rows, judged, units, standardize=standardize, random_state=seed)
    classes, codes = _encode(labels, "y", "label", len(rows))
    return split_rows(rows, codes, classes, units, standardize=standardize, random_state=seed)


def _metric_to_show(comparison: Comparison | PairComparison) -> tuple[str, str]:
    """Return the name of the metric that the figures show, and why it is this one."""
    fitted = [row for row in comparison.rows if row.failed is None]
    if not fitted:
        raise ValueError("no method could be fitted, so there is nothing to report.")
    mapping = {
        row.name: row
        for row in fitted
        if hasattr(comparison.estimators[row.name], "transform") and row.name != BEFORE
    }
    if not mapping:
        return BEFORE, "No learned metric could be fitted, so the Euclidean distance is shown."
    recommended, leader = comparison.recommended, comparison.leader
    if recommended in mapping:
        return recommended, "It is the metric that the comparison recommends."
    if leader in mapping:
        return leader, f"It is the best of the metrics other than {BEFORE}, not a recommendation."
    best = min(mapping.values(), key=lambda row: row.loss).name
    return best, "It is the best of the methods that have a metric to draw."


def _table(comparison: Comparison | PairComparison) -> dict[str, Any]:
    """Return the rows of the comparison; after the first number, the difference with its bounds."""
    first, *others = comparison.headings
    rows = []
    for row in comparison.rows:
        number, *rest = row.cells
        rows.append(
            {
                "name": row.name,
                "title": row.title,
                "recommended": row.name == comparison.recommended,
                "failed": row.failed is not None,
                "cells": [number, _difference(row), *rest],
                "numbers": [row.loss, row.difference],
            }
        )
    measure = "error" if isinstance(comparison, Comparison) else "AUC"
    return {
        "headings": [first, f"gain over {BEFORE}, points", *others],
        "measure": measure,
        "rows": rows,
        "caption": comparison.caption,
        "notes": list(comparison.notes),
    }


def _difference(row: Any) -> str:
    if math.isnan(row.difference):
        return ""
    low, high = row.interval
    number = f"{100 * row.difference:.1f} ({100 * low:.1f} to {100 * high:.1f})"
    return number.replace("-", "−")


def _split_sizes(held: HeldOut) -> dict[str, Any]:
    return {
        "n_fit": len(held.fit_rows),
        "n_threshold": held.n_threshold,
        "n_test": held.n_test,
        "n_shown": len(held.test_rows),
        "n_dropped": held.n_dropped,
        "unit": "row" if held.codes is not None else "item",
    }


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 120 else pluralize(round(seconds / 60), "minute")


def _plain(value: Any) -> Any:
    """Return what JSON can hold; also within dicts."""
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return plain(value.item() if isinstance(value, np.generic) else value)
