"""Errors of the k nearest neighbours' vote under a metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from likewise._runtime.arrays import Array, FloatArray, IndexArray
from likewise._runtime.text import quote
from likewise._runtime.validation import (
    as_float_array,
    at_least,
    boolean,
    check_finite,
    check_parameters,
    either,
    encode_labels,
    has_method,
    one_of,
)
from likewise.neighbors import nearest, vote
from likewise.neighbors._vote import Ties, vote_errors


@dataclass(frozen=True, eq=False)
class KNNError:
    """Error of the vote of neighbours.

    Attributes
    ----------
    error : float
        With `n_neighbors` neighbours.
    n_neighbors : int
        The number asked for, or the best one.
    errors : ndarray
        For the best number of neighbours: the error with 1, 2, … neighbours; else `error` alone.
    """

    error: float
    n_neighbors: int
    errors: FloatArray


def knn_error(
    X_train: ArrayLike,
    y_train: ArrayLike,
    X_test: ArrayLike,
    y_test: ArrayLike,
    *,
    metric: Any = None,
    n_neighbors: int | Literal["best"] = 3,
    max_neighbors: int = 25,
    balanced: bool = False,
    ties: Ties = "shrink",
    n_jobs: int | None = None,
) -> KNNError:
    """Return the error of the k nearest neighbours' vote on test rows.

    A test label that no training row has counts as an error.

    Parameters
    ----------
    X_train, y_train, X_test, y_test : array-like
        Rows and labels.
    metric : fitted transformer, optional
        Distances are Euclidean after its `transform`; without one, between the rows as given.
    n_neighbors : int or "best", default=3
        "best" takes the k of 1 … `max_neighbors` with the lowest *test* error, the smallest such
        k if several tie. That is the papers' protocol and what their tables show; it uses
        the test labels, so the error is optimistic and no estimate for new data.
    max_neighbors : int, default=25
        The largest k that "best" tries, if there are as many training rows.
    balanced : bool, default=False
        Return the mean of the errors of the classes of `y_test`, so that a small class counts as
        much as a large one: 1 less `sklearn.metrics.balanced_accuracy_score`. By default it is the
        share of test rows that are wrong.
    ties : {"shrink", "first"}, default="shrink"
        How a tied vote is decided: k shrinks until one class alone leads, as in the paper of LMNN;
        or for the class that comes first in sorted order, as in scikit-learn.
    n_jobs : int, optional
        Threads; all cores by default.

    Returns
    -------
    KNNError

    Examples
    --------
    >>> from likewise.evaluation import knn_error
    >>> knn_error([[0.0], [1.0], [4.0]], ["a", "a", "b"], [[0.4], [3.0]], ["a", "b"],
    ...           n_neighbors=1).error
    0.0
    """
    train, labels = rows_and_labels(X_train, y_train, "train", metric, "knn_error")
    test, truth = rows_and_labels(X_test, y_test, "test", metric, "knn_error")
    ks = _numbers_of_neighbors("knn_error", len(train), n_neighbors, max_neighbors, balanced, ties)
    if train.shape[1] != test.shape[1]:
        raise ValueError(
            f"X_train has {train.shape[1]} features and X_test {test.shape[1]}, but they must have "
            "the same."
        )
    classes, codes = encode_labels(labels)
    if (truth.dtype.kind in "US") != (classes.dtype.kind in "US"):
        raise ValueError(
            f"y_train holds labels such as {quote(classes[0])} and y_test such as "
            f"{quote(truth[0])}, but text is never equal to a number."
        )
    _, index = nearest(test, train, int(ks[-1]), n_jobs=n_jobs)
    true_codes = _codes_among(classes, truth)
    options: dict[str, Any] = {"balanced": balanced, "ties": ties}
    return _best(ks, vote_errors(codes[index], true_codes, len(classes), ks, **options))


def leave_one_out_error(
    X: ArrayLike,
    y: ArrayLike,
    *,
    metric: Any = None,
    n_neighbors: int | Literal["best"] = 3,
    max_neighbors: int = 25,
    balanced: bool = False,
    ties: Ties = "shrink",
    n_jobs: int | None = None,
) -> KNNError:
    """Return the error of the vote of each row's k nearest other rows.

    Of a metric that was learned from the same rows it is a training error, and optimistic. It is
    meant for the choice of parameters, and for distances that are not learned.

    Parameters
    ----------
    X, y : array-like
        Rows and labels. A row that is alone in its class counts as an error.
    metric, n_neighbors, max_neighbors, balanced, ties, n_jobs
        As in `knn_error`.

    Returns
    -------
    KNNError

    Examples
    --------
    >>> from likewise.evaluation import leave_one_out_error
    >>> leave_one_out_error([[0.0], [1.0], [4.0], [6.0], [9.0]], list("aaabb"), n_neighbors=1).error
    0.4
    """
    rows, labels = rows_and_labels(X, y, None, metric, "leave_one_out_error")
    if len(rows) < 2:
        raise ValueError("X has one row, but to leave one out there must be at least two.")
    ks = _numbers_of_neighbors(
        "leave_one_out_error", len(rows) - 1, n_neighbors, max_neighbors, balanced, ties
    )
    classes, codes = encode_labels(labels)
    _, index = nearest(rows, rows, int(ks[-1]), exclude_self=True, n_jobs=n_jobs)
    options: dict[str, Any] = {"balanced": balanced, "ties": ties}
    return _best(ks, vote_errors(codes[index], codes, len(classes), ks, **options))


def predict_by_neighbors(
    train: Array, codes: IndexArray, test: Array, n_neighbors: int, n_jobs: int | None
) -> IndexArray:
    """Return the class of each test row by the vote of its nearest training rows."""
    for part, rows in (("training", train), ("test", test)):
        check_finite(rows, f"the transformed {part} part")
    _, index = nearest(test, train, n_neighbors, n_jobs=n_jobs)
    return vote(codes[index], int(codes.max()) + 1)[0]


def _best(ks: IndexArray, errors: FloatArray) -> KNNError:
    best = int(errors.argmin())
    return KNNError(float(errors[best]), int(ks[best]), errors)


def rows_and_labels(
    X: ArrayLike, y: ArrayLike, part: str | None, metric: Any, owner: str
) -> tuple[Array, Array]:
    """Return rows, after the metric's `transform` if there is one, and their labels."""
    X_name, y_name = ("X", "y") if part is None else (f"X_{part}", f"y_{part}")
    if metric is not None:
        transforms = has_method("transform", "a fitted transformer")
        check_parameters(owner, {"metric": metric}, {"metric": transforms})
        X = metric.transform(X)
    rows = X if isinstance(X, np.ndarray) and X.dtype.kind == "f" else as_float_array(X, X_name)
    labels = np.asarray(y)
    if rows.ndim != 2 or labels.shape != rows.shape[:1] or len(rows) == 0:
        raise ValueError(
            f"{X_name} and {y_name} have shapes {rows.shape} and {labels.shape}, "
            "but there must be at least one row and one label for each."
        )
    check_finite(rows, X_name)
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise ValueError(f"{y_name} contains NaN, but every row needs a label.")
    return rows, labels


def _numbers_of_neighbors(
    owner: str,
    n_candidates: int,
    n_neighbors: int | Literal["best"],
    max_neighbors: int,
    balanced: bool,
    ties: Ties,
) -> IndexArray:
    check_parameters(
        owner,
        {
            "n_neighbors": n_neighbors,
            "max_neighbors": max_neighbors,
            "balanced": balanced,
            "ties": ties,
        },
        {
            "n_neighbors": either(at_least(1), one_of("best")),
            "max_neighbors": at_least(1),
            "balanced": boolean(),
            "ties": one_of("shrink", "first"),
        },
    )
    if n_neighbors == "best":
        return np.arange(1, min(max_neighbors, n_candidates) + 1)
    if n_neighbors > n_candidates:
        rows = "other rows" if owner == "leave_one_out_error" else "training rows"
        raise ValueError(f"n_neighbors is {n_neighbors}, but there are {n_candidates} {rows}.")
    return np.array([n_neighbors])


def _codes_among(classes: Array, labels: Array) -> IndexArray:
    """Return each label's position in sorted `classes`; further labels have negative numbers."""
    place = np.searchsorted(classes, labels).clip(max=len(classes) - 1)
    _, number = np.unique(labels, return_inverse=True)
    return np.where(classes[place] == labels, place, -1 - number)
