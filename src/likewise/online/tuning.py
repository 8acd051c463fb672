"""How much one pair may change an online learner: C, chosen in one pass over the pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from likewise._runtime.arrays import Array, FloatArray, IndexArray
from likewise._runtime.threads import single_threaded_blas
from likewise._runtime.validation import (
    TableLike,
    check_labelled,
    check_parameters,
    check_rows,
    one_of,
)
from likewise.constraints import Pairs, as_pairs
from likewise.neighbors import nearest, vote
from likewise.online._learner import OnlineMetricLearner
from likewise.online._pair_state import Grams, advance

_CHUNK = 2048  # pairs whose differences are in memory at a time
_MOST_NEIGHBORS = 25


@dataclass(frozen=True, eq=False)
class TunedC:
    """What each C led to.

    Attributes
    ----------
    C : float
        The best one; the smallest of equally good ones.
    Cs : array of shape (n_Cs,)
        The ones that were tried.
    losses : array of shape (n_Cs,)
        Cumulative hinge loss of one pass over the pairs.
    accuracies : array of shape (n_Cs,) or None
        For the criterion "knn": share of rows that their neighbours' vote gets right.
    n_neighbors : int array of shape (n_Cs,) or None
        The number of neighbours with that accuracy.
    """

    C: float
    Cs: FloatArray
    losses: FloatArray
    accuracies: FloatArray | None = None
    n_neighbors: IndexArray | None = None


def tune_C(  # noqa: N802 - C is the field's name
    model: OnlineMetricLearner,
    X: TableLike,
    pairs: ArrayLike,
    same: ArrayLike,
    *,
    Cs: ArrayLike | None = None,
    criterion: Literal["loss", "knn"] = "loss",
    y: ArrayLike | None = None,
    n_jobs: int | None = None,
) -> TunedC:
    """Choose C of an online learner: one pass over the pairs for all values at once.

    Each value takes the steps that ``fit_pairs`` with ``max_iter=1, shuffle=False`` would take;
    rows are looked up, subtracted, scaled and multiplied with each other once for all of them.

    Parameters
    ----------
    model : online metric learner with a parameter C
        Is not changed: clones of it learn.
    X : array-like of shape (n_rows, n_features)
        The rows that the pairs name.
    pairs : int array-like of shape (n_pairs, 2)
        Row numbers, in the order in which they are learned.
    same : bool array-like of shape (n_pairs,)
        True where the two rows are alike.
    Cs : array-like, optional
        Values to try; by default 13 from 1e-4 to 1e2, evenly spaced on a logarithmic scale.
    criterion : {"loss", "knn"}
        Least cumulative loss; or best accuracy of the neighbours' vote on the rows of X, each
        left out in turn, with the best number of neighbours from 1 to 25.
    y : array-like of shape (n_rows,), optional
        Labels, for "knn".
    n_jobs : int, optional
        Threads of the neighbour search; all cores by default.

    Returns
    -------
    TunedC

    References
    ----------
    A. Pérez-Suay, F. J. Ferri, M. Arevalillo-Herráez, J. V. Albert, Comparative evaluation of
    batch and online distance metric learning approaches based on margin maximization, 2013.

    Examples
    --------
    >>> import likewise as lw
    >>> from likewise.constraints import random_pairs
    >>> from likewise.online import tune_C
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> pairs, same = random_pairs(y, 240, random_state=0)
    >>> tuned = tune_C(lw.PAMetric(), X, pairs, same, Cs=[0.01, 0.1, 1.0], criterion="knn", y=y)
    >>> tuned.C in tuned.Cs
    True
    """
    check_parameters("tune_C", {"criterion": criterion}, {"criterion": one_of("loss", "knn")})
    values = _checked_values(model, np.logspace(-4, 2, 13) if Cs is None else Cs)
    if criterion == "knn" and y is None:
        raise ValueError("criterion='knn' needs labels, but y is None.")
    learners = [clone(model).set_params(C=C) for C in values.tolist()]
    for learner in learners:
        learner._check_parameters()
    if y is not None:
        X, codes, classes = check_labelled(learners[0], X, y)
    else:
        X = check_rows(learners[0], X, reset=True)
    _learn_together(learners, X, as_pairs(pairs, same, len(X)))
    losses = np.array([learner.cumulative_loss_ for learner in learners])
    if criterion == "loss":
        return TunedC(float(values[losses.argmin()]), values, losses)
    votes = [_best_vote(learner._map(X), codes, len(classes), n_jobs) for learner in learners]
    accuracies, n_neighbors = map(np.array, zip(*votes, strict=True))
    return TunedC(float(values[accuracies.argmax()]), values, losses, accuracies, n_neighbors)


def _checked_values(model: Any, Cs: ArrayLike) -> FloatArray:
    if "C" not in model.get_params(deep=False):
        raise ValueError(f"{type(model).__name__} has no parameter C to tune.")
    values = np.asarray(Cs, dtype=np.float64)
    if values.ndim != 1 or not len(values):
        raise ValueError(f"Cs has shape {values.shape}, but a list of values is needed.")
    return np.sort(values)


def _learn_together(learners: list[Any], X: Array, pairs: Pairs) -> None:
    """Take the pairs once, in order, every learner from the same differences."""
    first = learners[0]
    first._state = first._begin(X.shape[1], (X, pairs))
    for learner in learners[1:]:
        learner.set_params(scale=first.scale_)  # "auto" would find the same again
        learner._state = learner._begin(X.shape[1], None)
    sign = np.where(pairs.same, 1.0, -1.0)
    with single_threaded_blas():
        for start in range(0, len(pairs), _CHUNK):
            chosen = slice(start, start + _CHUNK)
            V = first._differences(X, pairs.index[chosen])
            grams = Grams()
            for learner in learners:
                rule, psd = learner._step_rule(), learner._projection()
                advance(learner._state, V, sign[chosen], rule, psd, grams)


def _best_vote(
    rows: Array, codes: IndexArray, n_classes: int, n_jobs: int | None
) -> tuple[float, int]:
    """Return the best accuracy of 1 to 25 neighbours, a row not being its own, and how many."""
    most = min(_MOST_NEIGHBORS, len(rows) - 1)
    _, index = nearest(rows, rows, most, exclude_self=True, n_jobs=n_jobs)
    labels = codes[index]
    right = [np.mean(vote(labels[:, :k], n_classes)[0] == codes) for k in range(1, most + 1)]
    best = int(np.argmax(right))
    return float(right[best]), best + 1
