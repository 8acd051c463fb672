"""Validation of the input of `compare`, before any work."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from likewise._runtime.arrays import Array, BoolArray, IndexArray
from likewise._runtime.blocks import require_in_memory
from likewise._runtime.text import list_some, quote, reason
from likewise._runtime.validation import (
    TableLike,
    at_least,
    check_finite,
    check_parameters,
)
from likewise.evaluation._leaking_columns import leaking_columns
from likewise.methods import COMPARABLE, COMPARED_METHODS
from likewise.statistics import rows_to_test, stratified_folds

N_FOLDS = 5

_RULES = {
    "n_neighbors": at_least(1),
    "n_repeats": at_least(1),
    "n_pairs": at_least(2),
    "random_state": at_least(0),
}


@dataclass(frozen=True, eq=False)
class Problem:
    """Data that can be split: finite rows, labels as codes, and the folds of each repeat.

    Attributes
    ----------
    X, codes, groups : array
        Rows, labels as 0, 1, … and groups as 0, 1, …, or None.
    classes : array
        The labels in sorted order.
    tested : array of bool
        Rows whose class occurs in another group, too.
    folds : array of shape (n_repeats, n_rows)
        The fold in which each row is held out; -1 for those that are always trained on.
    id_columns, leaking_columns : tuple of str
        Names of the columns that look like row numbers, and of those that alone give the class.
    n_copies : int
        Rows that are equal to another one, which with groups is in another group.
    """

    X: Array
    codes: IndexArray
    groups: IndexArray | None
    classes: Array
    tested: BoolArray
    folds: IndexArray
    id_columns: tuple[str, ...]
    leaking_columns: tuple[str, ...]
    n_copies: int

    @property
    def largest_class(self) -> tuple[str, int]:
        """Name of the class with the most tested rows, and their number."""
        counts = np.bincount(self.codes[self.tested])
        return str(self.classes[counts.argmax()]), int(counts.max())

    @property
    def similar_labels(self) -> tuple[tuple[str, ...], ...]:
        """Labels that differ by spaces or case only, together."""
        alike: dict[str, list[str]] = {}
        for label in self.classes:
            if isinstance(label, str):
                alike.setdefault(" ".join(label.split()).casefold(), []).append(str(label))
        return tuple(tuple(labels) for labels in alike.values() if len(labels) > 1)

    @property
    def untested_classes(self) -> tuple[str, ...]:
        """Names of the classes whose rows are not tested."""
        return tuple(str(name) for name in self.classes[np.unique(self.codes[~self.tested])])


def choose_methods(
    methods: Iterable[str] | Mapping[str, Any] | None,
    random_state: int,
    default: Iterable[str] = COMPARED_METHODS,
) -> dict[str, Any]:
    """Return an unfitted estimator for each method asked for; `random_state` seeds ours."""
    if methods is None:
        methods = list(default)
    if isinstance(methods, str):
        raise ValueError(f"methods is the text {quote(methods)}, but it must be a list of names.")
    if not isinstance(methods, Mapping):
        methods = list(methods)
        if other := [name for name in methods if not isinstance(name, str)]:
            raise ValueError(
                f"methods holds {quote(other[0])}, but it must be names, or a dict of name to "
                "estimator."
            )
    if isinstance(methods, Mapping):
        chosen = dict(methods)
    else:
        chosen = {name: COMPARABLE[name](random_state) for name in map(_known_name, methods)}
    if not chosen:
        raise ValueError("methods is empty, but at least one method is needed.")
    return chosen


def _known_name(name: str) -> str:
    by_lower_case = {known.lower(): known for known in COMPARABLE}
    if name.lower() in by_lower_case:
        return by_lower_case[name.lower()]
    close = difflib.get_close_matches(name.lower(), by_lower_case, n=1, cutoff=0.5)
    hint = f"did you mean {by_lower_case[close[0]]}? " if close else ""
    raise ValueError(f"there is no method {quote(name)}; {hint}known are {', '.join(COMPARABLE)}.")


def check_problem(
    X: TableLike,
    y: ArrayLike,
    groups: ArrayLike | None,
    feature_names: Sequence[str] | None,
    *,
    n_neighbors: int,
    n_repeats: int,
    n_pairs: int,
    random_state: int,
) -> Problem:
    """Return the data with their folds, or raise a ValueError that says why not."""
    values = {
        "n_neighbors": n_neighbors,
        "n_repeats": n_repeats,
        "n_pairs": n_pairs,
        "random_state": random_state,
    }
    check_parameters("compare", values, _RULES)
    names = column_names(X, feature_names)
    rows = dense_rows(X)
    classes, codes = _encode(y, "y", "label", len(rows))
    if len(classes) < 2:
        raise ValueError(f"y has one class only, {quote(classes[0])}, but at least two are needed.")
    units = None if groups is None else _encode(groups, "groups", "group", len(rows))[1]
    tested = rows_to_test(codes, units)
    if not tested.any():
        what = "row" if units is None else "group"
        raise ValueError(
            f"each of the {len(classes)} classes of y occurs in one {what} only, such as "
            f"{quote(classes[0])}, but a class can only be tested on one {what} if there is "
            "another to learn from."
        )
    if len(testable := np.unique(codes[tested])) < 2:
        once = "once only" if units is None else "in one group only"
        others = list_some([quote(label) for label in np.delete(classes, testable)], 3)
        raise ValueError(
            f"only class {quote(classes[testable[0]])} of y can be tested, since every other one "
            f"({others}) occurs {once}, but at least two classes must be tested."
        )
    rng = np.random.default_rng(random_state)
    folds = np.array(
        [stratified_folds(codes, N_FOLDS, groups=units, random_state=rng) for _ in range(n_repeats)]
    )
    largest = max(np.bincount(repeat[repeat >= 0]).max() for repeat in folds)
    if n_neighbors > len(rows) - largest:
        raise ValueError(
            f"n_neighbors is {n_neighbors}, but there are only {len(rows) - largest} training rows."
        )
    return Problem(
        X=rows,
        codes=codes,
        groups=units,
        classes=classes,
        tested=tested,
        folds=folds,
        id_columns=id_columns(rows, names),
        leaking_columns=_named(leaking_columns(rows, codes), names),
        n_copies=count_copies(rows, units),
    )


def _encode(given: ArrayLike, name: str, what: str, n_rows: int) -> tuple[Array, IndexArray]:
    labels = np.asarray(given)
    if labels.shape != (n_rows,):
        raise ValueError(
            f"{name} has shape {labels.shape}, but there must be one {what} for each of the "
            f"{n_rows} rows of X."
        )
    if labels.dtype.kind == "f":
        check_finite(labels[:, None], name)
    try:
        return np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise ValueError(f"{name} must hold {what}s of one kind: {reason(error)}.") from error


def dense_rows(X: TableLike) -> Array:
    require_in_memory(X, "X", "compare")
    if sp.issparse(X):
        raise ValueError("X is sparse, but compare needs a dense table: X.toarray() makes one.")
    try:
        rows = np.asarray(X)
        rows = rows if rows.dtype.kind == "f" else rows.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"X must be a matrix of numbers: {reason(error)}.") from error
    if rows.ndim != 2 or 0 in rows.shape:
        raise ValueError(f"X has shape {rows.shape}, but it must have rows and columns.")
    check_finite(rows, "X")
    return rows


def column_names(X: TableLike, feature_names: Sequence[str] | None) -> Sequence[str] | None:
    if feature_names is None:
        return [str(name) for name in X.columns] if hasattr(X, "columns") else None
    if len(feature_names) != np.shape(X)[1]:
        raise ValueError(
            f"feature_names has {len(feature_names)} names, but X has {np.shape(X)[1]} columns."
        )
    return feature_names


def id_columns(rows: Array, names: Sequence[str] | None) -> tuple[str, ...]:
    found = [i for i in range(rows.shape[1]) if looks_like_row_numbers(rows[:, i])]
    return _named(found, names)


def _named(columns: Iterable[int], names: Sequence[str] | None) -> tuple[str, ...]:
    return tuple(str(column) if names is None else names[column] for column in columns)


def count_copies(rows: Array, groups: IndexArray | None) -> int:
    """Return how many rows are equal to another one, which with groups is in another group."""
    hashes = [hash(row.tobytes()) for row in rows + 0.0]  # where -0.0 is 0.0
    codes = np.unique(hashes, return_inverse=True)[1]
    if groups is None:
        groups = np.arange(len(rows))
    distinct = np.unique(np.stack([codes, groups]), axis=1)
    return int((np.bincount(distinct[0])[codes] > 1).sum())


def looks_like_row_numbers(values: NDArray[np.floating]) -> bool:
    """Return whether these are distinct integers, sequential in some order, or nearly.

    At least half of the numbers between the smallest and the largest occur, in steps of the
    largest common divisor of their differences. Fewer than 10 values may be so by chance.
    """
    n, low, high = len(values), values.min(), values.max()
    if n < 10 or high - low < n - 1 or max(-low, high) >= 2**53 or (values % 1 != 0).any():
        return False
    ordered = np.sort(values).astype(np.int64)
    gaps = np.diff(ordered)
    if not gaps.all():
        return False
    return bool((ordered[-1] - ordered[0]) / np.gcd.reduce(gaps) < 2 * n)
