"""Validation of parameters and arrays.

Every error is one sentence that names the argument, what was found and what is allowed. Differences
between scikit-learn's releases in validating input are handled here and nowhere else.
"""

from __future__ import annotations

import numbers
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from likewise._runtime.arrays import Array, FloatArray, IndexArray
from likewise._runtime.blocks import is_dask, require_in_memory
from likewise._runtime.sklearn_checks import (
    check_classification_targets,
    check_X_y,
    validate_data,
)
from likewise._runtime.tables import check_table
from likewise._runtime.tensors import is_tensor, on_device, to_numpy
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
    blocked: bool = False,
    tensors: bool = False,
) -> Any:
    """Return `X` as a finite float32 or float64 table with the feature count `estimator` knows.

    `reset=True` (fitting) learns the feature count and names, `reset=False` compares with them.
    With `finite=False` the caller checks for NaN and infinity. With `blocked=True` the caller can
    learn from a Dask collection, which becomes `BlockedRows`. With `tensors` the result is a
    tensor where `on_device` says so; without, a tensor becomes an array.
    """
    if is_dask(X):
        if not blocked:
            require_in_memory(X, name, f"this method of {type(estimator).__name__}")
        from likewise._runtime.blocks.validation import check_blocked_rows

        return check_blocked_rows(estimator, X, min_rows=min_rows, reset=reset, name=name)
    check_table(X, name)
    warn_of_gradient(X, name)
    if tensors and is_tensor(X) and (there := on_device(X, name)) is not None:
        return _check_tensor(
            estimator, there, reset=reset, name=name, min_rows=min_rows, finite=finite
        )
    X = to_numpy(X)
    with _argument_named(name):
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
    if tensors and not sp.issparse(checked) and (there := on_device(checked, name)) is not None:
        return there
    return checked


def _check_tensor(
    estimator: Any, X: Any, *, reset: bool, name: str, min_rows: int = 1, finite: bool = True
) -> Any:
    """Return a tensor of rows that passed the checks of an array."""
    if X.is_complex():
        raise ValueError(
            f"Complex data not supported: {name} holds complex numbers, but only real ones are "
            "allowed."
        )
    # scikit-learn's own checks, of a few rows of the same width: the values stay on the device.
    few = np.zeros((min(len(X), min_rows), X.shape[1]))
    validate_data(estimator, few, reset=reset, ensure_min_samples=min_rows)
    if finite and not bool(X.isfinite().all()):
        check_finite(to_numpy(X), name)
    if finite and reset:
        check_magnitude(X, name)
    return X


def check_labelled(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    min_classes: int = 2,
    accept_sparse: bool = False,
    blocked: bool = False,
    tensors: bool = False,
) -> tuple[Any, IndexArray, Array]:
    """Return `X`, the labels as codes 0…c-1, and the c labels in sorted order.

    With `blocked=True` the caller can learn from a Dask collection: it becomes `BlockedRows`, which
    hold the codes, and no codes are returned. With `tensors`, X is a tensor where `on_device` says
    so; without, a tensor becomes an array.
    """
    if is_dask(X):
        if not blocked:
            require_in_memory(X, "X", f"this method of {type(estimator).__name__}")
        from likewise._runtime.blocks.validation import check_blocked_labels

        rows, classes = check_blocked_labels(estimator, X, y, min_classes=min_classes)
        return rows, np.empty(0, dtype=np.int64), classes
    check_table(X, "X")
    warn_of_gradient(X, "X")
    y = to_numpy(y)
    n_rows, n_labels = _length(X), _length(y)
    if n_rows is not None and n_labels is not None and n_rows != n_labels:
        raise ValueError(f"X has {n_rows} rows but y has {n_labels} labels; they must match.")
    there = on_device(X, "X") if tensors and is_tensor(X) else None
    if there is not None:
        X = _check_tensor(estimator, there, reset=True, name="X")
        _, y = check_X_y(np.zeros((len(X), 1)), y)
    else:
        with _argument_named("X"):
            X, y = validate_data(
                estimator,
                to_numpy(X),
                y,
                dtype=FLOAT_TYPES,
                order="C",
                accept_sparse="csr" if accept_sparse else False,
                ensure_all_finite=False,
            )
        check_finite(X, "X")
        check_magnitude(X, "X")
        if tensors and not sp.issparse(X) and (there := on_device(X, "X")) is not None:
            X = there
    classes, codes = encode_labels(y)
    check_classification_targets(y)
    if len(classes) < min_classes:
        # scikit-learn's own checks look for the word "class" in the message.
        raise ValueError(
            f"y has one class ({quote(classes[0])}), but {type(estimator).__name__} needs "
            f"at least {min_classes} different classes."
        )
    return X, codes, classes


def warn_of_gradient(X: Any, name: str) -> None:
    """Say that the gradient of a tensor is not followed, if it requires one."""
    if is_tensor(X) and X.requires_grad:
        warn_user(f"{name} requires a gradient, which is not followed: it is detached.")


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


def as_float_array(given: Any, name: str) -> FloatArray:
    """Return an array of float64; ragged or non-numeric input raises an error."""
    if getattr(given, "ndim", 1) > 1:  # a number per row, or per pair, may be computed here
        require_in_memory(given, name, "this function")
    try:
        table = np.asarray(to_numpy(given))
    except ValueError:
        raise ValueError(f"{name} has rows of different lengths, but a matrix is needed.") from None
    wrong = [] if table.dtype.kind in "biuf" else [v for v in table.flat if not _is_real(v)]
    if wrong:
        raise ValueError(f"{name} holds {quote(wrong[0])}, but only real numbers are allowed.")
    return np.asarray(table, dtype=np.float64)


_collected: ContextVar[list[str] | None] = ContextVar("_collected", default=None)


@contextmanager
def collected_warnings() -> Iterator[list[str]]:
    """Yield a list of what `warn_user` says meanwhile, whether or not it is shown.

    What is collected inside another such block is also collected by that.
    """
    outer, messages = _collected.get(), list[str]()
    token = _collected.set(messages)
    try:
        yield messages
    finally:
        _collected.reset(token)
        if outer is not None:
            outer += messages


_NOT_THE_USER = ("likewise", "sklearn", "contextlib")


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn with the stack level of the caller outside likewise, scikit-learn and decorators."""
    collected = _collected.get()
    if collected is not None:
        collected.append(message)
    level = 1
    frame = sys._getframe(0)
    while frame.f_back and frame.f_globals.get("__name__", "").startswith(_NOT_THE_USER):
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
    check_largest(float(max(values.max(), -values.min())), name)


def check_largest(largest: float, name: str) -> None:
    """Raise an error if squared distances overflow or vanish for values up to `largest`."""
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
def _argument_named(name: str) -> Iterator[None]:
    """Name the argument, which scikit-learn's messages call X or not at all."""
    try:
        yield
    except ValueError as error:
        if name != "X" and str(error).startswith("X has "):
            raise ValueError(f"{name}{str(error)[1:]}") from None
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
