"""Validation of parameters and arrays.

Every error is one sentence that names the argument, what was found and what is allowed. Differences
between scikit-learn's releases in validating input are handled here and nowhere else.
"""

from __future__ import annotations

import itertools
import numbers
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from likewise._runtime.arrays import Array, BoolArray, FloatArray, IndexArray
from likewise._runtime.tables import check_no_tuples, check_table
from likewise._runtime.text import MAX_QUOTED, printable, quote

TableLike: TypeAlias = Any
"""Any input that scikit-learn accepts as X: arrays, lists, DataFrames, sparse matrices."""

FLOAT_TYPES = (np.float64, np.float32)
# The largest value of a table: beyond these limits squared distances overflow, or all are 0.
MIN_MAGNITUDE, MAX_MAGNITUDE = 1e-150, 1e150


@dataclass(frozen=True)
class Rule:
    """Allowed values of a parameter: a predicate and its description for error messages."""

    allowed: str
    holds: Callable[[Any], bool]


def _is_real(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)


def _is_integer(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool | np.bool_)


def at_least(minimum: int) -> Rule:
    """Integers of at least `minimum`."""
    return Rule(f"an integer of at least {minimum}", lambda v: _is_integer(v) and v >= minimum)


def positive() -> Rule:
    """Finite positive numbers."""
    return Rule("a finite number above 0", lambda v: _is_real(v) and 0 < v < np.inf)


def non_negative() -> Rule:
    """Finite non-negative numbers."""
    return Rule("a finite number of at least 0", lambda v: _is_real(v) and 0 <= v < np.inf)


def between(low: float, high: float) -> Rule:
    """Numbers from `low` to `high`, both included."""
    return Rule(f"a number from {low:g} to {high:g}", lambda v: _is_real(v) and low <= v <= high)


def one_of(*words: str) -> Rule:
    """One of the given strings."""
    listed = ", ".join(repr(word) for word in words)
    return Rule(f"one of {listed}", lambda v: isinstance(v, str) and v in words)


def boolean() -> Rule:
    """True or False."""
    return Rule("True or False", lambda v: isinstance(v, bool | np.bool_))


def matrix() -> Rule:
    """Anything that NumPy can turn into a matrix; `as_float_array` checks its values."""
    return Rule("a matrix", lambda v: isinstance(v, list | tuple) or hasattr(v, "__array__"))


def strictly_between(low: float, high: float) -> Rule:
    """Numbers above `low` and below `high`."""
    return Rule(
        f"a number above {low:g} and below {high:g}", lambda v: _is_real(v) and low < v < high
    )


def none() -> Rule:
    """Nothing but None."""
    return Rule("None", lambda v: v is None)


def n_jobs_rule() -> Rule:
    """Values of `n_jobs`: None or -1 for all cores, else the number of threads."""
    return Rule(
        "None or -1 for all cores, or an integer of at least 1",
        lambda v: v is None or (_is_integer(v) and (v == -1 or v >= 1)),
    )


def has_method(method: str, described: str) -> Rule:
    """Objects that offer `method`; `described` says what such an object is."""
    return Rule(described, lambda v: hasattr(v, method) and not isinstance(v, type))


def either(*rules: Rule) -> Rule:
    """Values that satisfy at least one of the rules."""
    return Rule(
        " or ".join(rule.allowed for rule in rules),
        lambda v: any(rule.holds(v) for rule in rules),
    )


def check_parameters(owner: str, values: Mapping[str, Any], rules: Mapping[str, Rule]) -> None:
    """Raise a ValueError for the first parameter that violates its rule."""
    for name, rule in rules.items():
        if not rule.holds(values[name]):
            raise ValueError(
                f"{name}={quote(values[name])} is not allowed: {owner} needs {rule.allowed}."
            )


def check_n_components(owner: str, n_components: int | None, most: int, why: str) -> None:
    """Raise if `n_components` exceeds `most`; `why` explains the limit."""
    if n_components is not None and n_components > most:
        raise ValueError(
            f"n_components={n_components} is too many: {owner} has at most {most} ({why})."
        )


def check_rows(
    estimator: Any,
    X: Any,
    *,
    reset: bool,
    name: str = "X",
    accept_sparse: bool = False,
    min_rows: int = 1,
    finite: bool = True,
) -> Any:
    """Return `X` as a finite float32 or float64 table with the feature count `estimator` knows.

    `reset=True` (fitting) learns the feature count and names, `reset=False` compares with them.
    With `finite=False` the caller checks for NaN and infinity.
    """
    check_table(X, name)
    with _text_named(name):
        checked = validate_data(
            estimator,
            X,
            reset=reset,
            dtype=FLOAT_TYPES,
            order="C",
            accept_sparse="csr" if accept_sparse else False,
            ensure_all_finite=False,
            ensure_min_samples=min_rows,
        )
    if finite:
        check_finite(checked, name)
        if reset:
            check_magnitude(checked, name)
    return checked


def check_labelled(
    estimator: Any, X: Any, y: Any, *, min_classes: int = 2, accept_sparse: bool = False
) -> tuple[Any, IndexArray, Array]:
    """Return `X`, the labels as codes 0…c-1, and the c labels in sorted order."""
    check_table(X, "X")
    n_rows, n_labels = _length(X), _length(y)
    if n_rows is not None and n_labels is not None and n_rows != n_labels:
        raise ValueError(f"X has {n_rows} rows but y has {n_labels} labels; they must match.")
    with _text_named("X"):
        X, y = validate_data(
            estimator,
            X,
            y,
            dtype=FLOAT_TYPES,
            order="C",
            accept_sparse="csr" if accept_sparse else False,
            ensure_all_finite=False,
        )
    check_finite(X, "X")
    check_magnitude(X, "X")
    classes, codes = encode_labels(y)
    check_classification_targets(y)
    if len(classes) < min_classes:
        # scikit-learn's own checks look for the word "class" in the message.
        raise ValueError(
            f"y has one class ({quote(classes[0])}), but {type(estimator).__name__} needs "
            f"at least {min_classes} different classes."
        )
    return X, codes, classes


def check_weights(given: Any, name: str, n_rows: int) -> FloatArray:
    """Return finite non-negative weights, not all zero; None gives every row weight 1."""
    if given is None:
        return np.ones(n_rows)
    try:
        weights = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must hold one number per row, but it does not.") from None
    if weights.shape != (n_rows,):
        raise ValueError(
            f"{name} has shape {weights.shape}, but {n_rows} rows need shape ({n_rows},)."
        )
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise ValueError(
            f"{name} must be finite, not negative and not zero everywhere, but it is not."
        )
    return weights


def encode_labels(y: Any) -> tuple[Array, IndexArray]:
    """Return the different labels in sorted order, and each label as its place among them."""
    try:
        classes, codes = np.unique(np.asarray(y), return_inverse=True)
    except TypeError:
        kinds = sorted({type(label).__name__ for label in np.asarray(y).flat})
        raise ValueError(
            f"y mixes labels of the types {' and '.join(kinds)}, but they must be of one type."
        ) from None
    return classes, codes.astype(np.int64)


def check_row_numbers(given: Any, name: str, width: int, n_rows: int) -> IndexArray:
    """Return validated row numbers into X, `width` different ones per row."""
    check_no_tuples(getattr(given, "shape", ()), name)
    index = as_integers(given, name)
    if not index.size:
        raise ValueError(f"{name} is empty, but at least one row of {width} numbers is needed.")
    if index.ndim != 2 or index.shape[1] != width:
        raise ValueError(f"{name} has shape {index.shape}, but (n, {width}) is needed.")
    outside = (index < 0) | (index >= n_rows)
    if outside.any():
        raise ValueError(
            f"{name} holds row number {index[outside][0]}, but X has rows 0 to {n_rows - 1}."
        )
    for left, right in itertools.combinations(range(width), 2):
        twice = np.flatnonzero(index[:, left] == index[:, right])
        if len(twice):
            raise ValueError(
                f"{name}[{twice[0]}] names row {index[twice[0], left]} twice, but its rows must be "
                "different."
            )
    return index


def as_integers(given: Any, name: str) -> IndexArray:
    """Return integers as int64; floats raise an error, even if integral."""
    try:
        numbers = np.asarray(given)
    except ValueError:
        raise ValueError(f"{name} has rows of different lengths, but needs a table.") from None
    if numbers.size and numbers.dtype.kind not in "iu":
        raise ValueError(f"{name} holds {numbers.dtype} values, but row numbers must be integers.")
    return np.ascontiguousarray(numbers, dtype=np.int64)


def as_float_array(given: Any, name: str) -> FloatArray:
    """Return an array of float64; ragged or non-numeric input raises an error."""
    try:
        table = np.asarray(given)
    except ValueError:
        raise ValueError(f"{name} has rows of different lengths, but a matrix is needed.") from None
    wrong = [] if table.dtype.kind in "biuf" else [v for v in table.flat if not _is_real(v)]
    if wrong:
        raise ValueError(f"{name} holds {quote(wrong[0])}, but only real numbers are allowed.")
    return np.asarray(table, dtype=np.float64)


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn with the stack level of the caller outside likewise and scikit-learn."""
    level = 1
    frame = sys._getframe(0)
    while frame.f_back and frame.f_globals.get("__name__", "").startswith(("likewise", "sklearn")):
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)


def check_finite(X: Any, name: str) -> None:
    """Raise an error with the position of the first NaN or infinite value."""
    sparse = sp.issparse(X)
    values = np.asarray(X.data) if sparse else X
    # The sum is finite unless some value is not (or it overflows): one pass, no copy.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum(dtype=np.float64)):
            return
    bad = ~np.isfinite(values)
    if not bad.any():
        return
    what = "NaN" if np.isnan(values[bad][0]) else "infinity"
    if sparse:
        where = pluralize(int(bad.sum()), "stored value")
    else:
        row, column = np.argwhere(bad)[0]
        where = pluralize(int(bad.any(axis=1).sum()), "row")
        where = f"{where} (first in row {row}, column {column})"
    raise ValueError(f"Input {name} contains {what} in {where}; only finite numbers are allowed.")


def check_magnitude(X: Any, name: str) -> None:
    """Raise an error if squared distances of the rows would overflow, or all of them vanish."""
    sparse = sp.issparse(X)
    values = np.asarray(X.data) if sparse else X
    if not values.size:
        return
    largest = float(max(values.max(), -values.min()))
    if largest > MAX_MAGNITUDE:
        raise ValueError(
            f"{name} holds values up to {largest:.3g}, but only values within ±{MAX_MAGNITUDE:.0e} "
            f"can be learned from: scale {name}."
        )
    if 0 < largest < MIN_MAGNITUDE:
        raise ValueError(
            f"{name} holds no value above {largest:.3g}, but only values of at least "
            f"{MIN_MAGNITUDE:.0e} can be learned from: scale {name}."
        )


def pluralize(number: int, noun: str) -> str:
    """Write a number and its noun: 1 row, 2 rows."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


@contextmanager
def _text_named(name: str) -> Iterator[None]:
    """Name the argument that holds text: scikit-learn's message does not."""
    try:
        yield
    except ValueError as error:
        before, _, text = str(error).partition("could not convert string to float: ")
        if before or not text:
            raise
        text = printable(text.removeprefix("np.str_(").removesuffix(")"), MAX_QUOTED)
        raise ValueError(f"{name} holds the text {text}, but only numbers are allowed.") from None


def _length(values: Any) -> int | None:
    """Return the number of rows or labels, or None if scikit-learn has to determine it."""
    if hasattr(values, "shape"):
        return int(values.shape[0]) if values.shape else None
    return len(values) if isinstance(values, list | tuple) else None


def check_same_flags(same: Any, n_pairs: int) -> BoolArray:
    """Return `same` as booleans, from True/False, 1/0 or the papers' 1/-1."""
    flags = np.asarray(same)
    if flags.shape != (n_pairs,):
        raise ValueError(
            f"same has shape {flags.shape}, but {n_pairs} pairs need shape ({n_pairs},)."
        )
    if flags.dtype == np.bool_:
        return flags
    numeric = flags.dtype.kind in "iuf"
    known = np.isin(flags, (-1, 0, 1)) if numeric else np.zeros(n_pairs, dtype=bool)
    if not known.all():
        raise ValueError(
            f"same holds {quote(flags[~known][0])}, but only True/False, 1/0 or 1/-1 are allowed."
        )
    if (flags == 0).any() and (flags == -1).any():
        raise ValueError("same holds both 0 and -1, but only one of them may mean different.")
    return np.asarray(flags > 0)
