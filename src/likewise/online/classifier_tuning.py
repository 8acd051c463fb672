"""Selection of a parameter of an online classifier on the first part of a stream."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from likewise._runtime.arrays import FloatArray, IndexArray
from likewise._runtime.validation import (
    TableLike,
    at_least,
    check_parameters,
    check_rows,
    either,
    none,
)
from likewise.online._classifier import OnlineClassifier
from likewise.online._labels import check_labels
from likewise.online.tuning import candidate_values


@dataclass(frozen=True, eq=False)
class TunedClassifier:
    """Result of `tune_classifier`.

    Attributes
    ----------
    value : float
        Best value; the smallest one if several are equally good.
    values : array of shape (n_values,)
        Values tried.
    mistakes : int array of shape (n_values,)
        Number of samples that were predicted wrongly before the update with them.
    n_samples : int
        Number of samples that were used: the others have not been looked at.
    """

    value: float
    values: FloatArray
    mistakes: IndexArray
    n_samples: int


def tune_classifier(
    model: OnlineClassifier,
    X: TableLike,
    y: ArrayLike,
    *,
    parameter: str = "C",
    values: ArrayLike | None = None,
    n_samples: int | None = None,
) -> TunedClassifier:
    """Choose a parameter of an online classifier by its mistakes on the first part of a stream.

    Each value learns the first samples once, in the given order. The mistakes are those before each
    update, so that no samples have to be held out; judge the chosen value on the samples that
    follow.

    Parameters
    ----------
    model : online classifier
        Not changed: clones of it are fitted.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Samples, in the order of the stream.
    y : array-like of shape (n_samples,)
        Labels.
    parameter : str, default="C"
        The parameter to choose, such as "C" of `PA` and `PAM` and "r" of `AROW`.
    values : array-like, optional
        Values to try. Default: 13 values from 1e-4 to 1e2, evenly spaced on a logarithmic scale.
    n_samples : int, optional
        Length of the first part. Default: a quarter of the stream.

    Returns
    -------
    TunedClassifier

    Examples
    --------
    >>> import likewise as lw
    >>> from likewise.online import tune_classifier
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> tuned = tune_classifier(lw.PAM("PAM-II"), scale(X), y, values=[0.01, 0.1, 1.0])
    >>> tuned.value, tuned.n_samples
    (0.01, 142)
    """
    if not isinstance(model, OnlineClassifier):
        raise ValueError(
            f"model is a {type(model).__name__}, but it must be an online classifier of likewise."
        )
    candidates = candidate_values(model, parameter, values, "values")
    X = check_rows(clone(model), X, reset=True, accept_sparse=True, finite=False)
    labels = np.asarray(y)
    check_labels(labels, X.shape[0])
    check_parameters(
        "tune_classifier", {"n_samples": n_samples}, {"n_samples": either(none(), at_least(1))}
    )
    used = max(1, len(labels) // 4) if n_samples is None else n_samples
    if used > len(labels):
        raise ValueError(f"n_samples is {used}, but the stream has {len(labels)} samples.")
    classes = np.unique(labels)
    mistakes = [
        clone(model)
        .set_params(**{parameter: value})
        .partial_fit(X[:used], labels[:used], classes=classes)
        .mistakes_
        for value in candidates.tolist()
    ]
    best = float(candidates[np.argmin(mistakes)])
    return TunedClassifier(best, candidates, np.array(mistakes), used)
