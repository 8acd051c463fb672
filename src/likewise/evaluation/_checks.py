"""Validation of the input of `compare`, before any work."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from likewise._runtime.arrays import Array
from likewise._runtime.validation import Rule, at_least, check_finite, check_parameters, positive
from likewise.methods import COMPARED_METHODS, METRICS

_RULES = {
    "n_neighbors": at_least(1),
    "n_splits": at_least(1),
    "n_pairs": at_least(2),
    "random_state": at_least(0),
    "test_size": Rule("a number between 0 and 1", lambda v: positive().holds(v) and v < 1),
}


@dataclass(frozen=True, eq=False)
class Problem:
    """Data that can be split: finite rows, classes large enough, and the sizes of the parts."""

    X: Array
    classes: Array
    codes: NDArray[np.intp]
    n_train: int
    n_test: int
    n_splits: int
    n_pairs: int


def choose_methods(methods: Iterable[str] | Mapping[str, Any] | None) -> dict[str, Any]:
    """Return an unfitted estimator for each method asked for."""
    if methods is None:
        methods = list(COMPARED_METHODS)
    if isinstance(methods, str):
        raise ValueError(f"methods is the text {methods!r}, but it must be a list of names.")
    if not isinstance(methods, Mapping):
        methods = list(methods)
        if other := [name for name in methods if not isinstance(name, str)]:
            raise ValueError(
                f"methods holds {other[0]!r}, but it must be names, or a dict of name to estimator."
            )
    if isinstance(methods, Mapping):
        chosen = dict(methods)
    else:
        chosen = {name: METRICS[name]() for name in map(_known_name, methods)}
    if not chosen:
        raise ValueError("methods is empty, but at least one method is needed.")
    return chosen


def _known_name(name: str) -> str:
    by_lower_case = {known.lower(): known for known in METRICS}
    if name.lower() in by_lower_case:
        return by_lower_case[name.lower()]
    close = difflib.get_close_matches(name.lower(), by_lower_case, n=1, cutoff=0.5)
    hint = f"did you mean {by_lower_case[close[0]]}? " if close else ""
    raise ValueError(f"there is no method {name!r}; {hint}known are {', '.join(METRICS)}.")


def check_problem(
    X: ArrayLike,
    y: ArrayLike,
    *,
    n_neighbors: int,
    n_splits: int,
    test_size: float,
    n_pairs: int,
    random_state: int,
) -> Problem:
    """Return the data ready to be split, or raise a ValueError that says why not."""
    values = {
        "n_neighbors": n_neighbors,
        "n_splits": n_splits,
        "n_pairs": n_pairs,
        "random_state": random_state,
        "test_size": test_size,
    }
    check_parameters("compare", values, _RULES)
    rows, labels = _rows(X), np.asarray(y)
    if labels.shape != rows.shape[:1]:
        raise ValueError(
            f"y has shape {labels.shape}, but there must be one label for each of the "
            f"{len(rows)} rows of X."
        )
    classes, codes, counts = _classes(labels)
    n_test = math.ceil(test_size * len(rows))
    n_train = len(rows) - n_test
    if len(classes) < 2:
        raise ValueError(f"y has one class only, {classes[0]}, but at least two are needed.")
    if counts.min() < 2:
        rare = classes[counts.argmin()]
        raise ValueError(
            f"y has {(counts < 2).sum()} of {len(classes)} classes with one row only, such as "
            f"{rare}, but each needs at least two, one to learn from and one to be tested on."
        )
    if min(n_train, n_test) < len(classes):
        raise ValueError(
            f"test_size is {test_size}, which makes {n_train} training and {n_test} test rows, "
            f"but each part needs at least one row for each of the {len(classes)} classes."
        )
    if n_neighbors > n_train:
        raise ValueError(
            f"n_neighbors is {n_neighbors}, but there are only {n_train} training rows."
        )
    return Problem(rows, classes, codes, n_train, n_test, n_splits, n_pairs)


def _classes(
    labels: Array,
) -> tuple[Array, NDArray[np.intp], NDArray[np.intp]]:
    if labels.dtype.kind == "f":
        check_finite(labels[:, None], "y")
    try:
        return np.unique(labels, return_inverse=True, return_counts=True)
    except TypeError as error:
        raise ValueError(f"y must hold labels of one kind: {error}.") from error


def _rows(X: ArrayLike) -> Array:
    if sp.issparse(X):
        raise ValueError("X is sparse, but compare needs a dense table: X.toarray() makes one.")
    try:
        rows = np.asarray(X)
        rows = rows if rows.dtype.kind == "f" else rows.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"X must be a matrix of numbers: {error}.") from error
    if rows.ndim != 2 or 0 in rows.shape:
        raise ValueError(f"X has shape {rows.shape}, but it must have rows and columns.")
    check_finite(rows, "X")
    return rows
