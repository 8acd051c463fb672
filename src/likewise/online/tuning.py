"""Selection of the aggressiveness parameter C of an online metric learner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from likewise._runtime.arrays import Array, FloatArray, IndexArray
from likewise._runtime.text import quote
from likewise._runtime.threads import single_threaded_blas
from likewise._runtime.validation import (
    TableLike,
    as_float_array,
    check_labelled,
    check_parameters,
    check_rows,
    one_of,
)
from likewise.constraints import Pairs, as_pairs
from likewise.neighbors import nearest
from likewise.neighbors._vote import vote_errors
from likewise.online._metric_learner import OnlineMetricLearner
from likewise.online._pair_checks import scaled_differences
from likewise.online._pair_state import GramCache, learn_differences

_CHUNK_PAIRS = 2048  # pairs whose differences are in memory at a time
_MAX_NEIGHBORS = 25


@dataclass(frozen=True, eq=False)
class TunedC:
    """Result of `tune_C`.

    Attributes
    ----------
    C : float
        Best value; the smallest one if several are equally good.
    Cs : array of shape (n_Cs,)
        Values tried.
    losses : array of shape (n_Cs,)
        Cumulative hinge loss of one pass over the pairs.
    accuracies : array of shape (n_Cs,) or None
        For the criterion "knn": leave-one-out accuracy of the nearest-neighbour rule.
    n_neighbors : int array of shape (n_Cs,) or None
        Number of neighbours with that accuracy.
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
    """Choose C of an online metric learner: one pass over the pairs for all values at once.

    The model of each value is that of ``fit_pairs`` with ``max_iter=1, shuffle=False``. The
    differences of the pairs and their Gram matrices are computed once for all values.

    Parameters
    ----------
    model : online metric learner with a parameter C
        Not changed: clones of it are fitted.
    X : array-like of shape (n_samples, n_features)
        Samples.
    pairs : int array-like of shape (n_pairs, 2)
        Row numbers of the two samples of each pair, in the order in which they are learned.
    same : bool array-like of shape (n_pairs,)
        True for similar pairs, False for dissimilar ones.
    Cs : array-like, optional
        Values to try. Default: 13 values from 1e-4 to 1e2, evenly spaced on a logarithmic scale.
    criterion : {"loss", "knn"}
        Smallest cumulative loss; or highest leave-one-out accuracy of the nearest-neighbour rule
        on X, with the best number of neighbours from 1 to 25.
    y : array-like of shape (n_samples,), optional
        Labels, for "knn".
    n_jobs : int, optional
        Number of threads of the neighbour search. Default: all cores.

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
    values = candidate_values(model, "C", Cs, "Cs")
    if criterion == "knn" and y is None:
        raise ValueError("criterion='knn' needs labels, but y is None.")
    learners = [clone(model).set_params(C=C) for C in values.tolist()]
    for learner in learners:
        learner._check_parameters()
    if y is not None:
        X, codes, classes = check_labelled(learners[0], X, y)
    else:
        X = check_rows(learners[0], X, reset=True)
    _learn_jointly(learners, X, as_pairs(pairs, same, len(X)))
    losses = np.array([learner.cumulative_loss_ for learner in learners])
    if criterion == "loss":
        return TunedC(float(values[losses.argmin()]), values, losses)
    found = [
        _best_n_neighbors(learner._map(X), codes, len(classes), n_jobs) for learner in learners
    ]
    accuracies, n_neighbors = map(np.array, zip(*found, strict=True))
    return TunedC(float(values[accuracies.argmax()]), values, losses, accuracies, n_neighbors)


def candidate_values(
    model: Any, parameter: str, values: ArrayLike | None, argument: str
) -> FloatArray:
    """Return the values of a parameter to try, in ascending order; `argument` has the values."""
    if parameter not in model.get_params(deep=False):
        raise ValueError(f"{type(model).__name__} has no parameter {quote(parameter)} to tune.")
    chosen = np.logspace(-4, 2, 13) if values is None else as_float_array(values, argument)
    if chosen.ndim != 1 or not len(chosen):
        raise ValueError(f"{argument} has shape {chosen.shape}, but a list of values is needed.")
    return np.sort(chosen)


def _learn_jointly(learners: list[Any], X: Array, pairs: Pairs) -> None:
    """Update every learner with the same pairs in one pass."""
    first = learners[0]
    first._state = first._reset(X.shape[1], (X, pairs))
    for learner in learners[1:]:
        learner.set_params(scale=first.scale_)  # "auto" would give the same value again
        learner._state = learner._reset(X.shape[1], None)
    sign = np.where(pairs.same, 1.0, -1.0)
    with single_threaded_blas():
        for start in range(0, len(pairs), _CHUNK_PAIRS):
            chosen = slice(start, start + _CHUNK_PAIRS)
            V = scaled_differences(X, pairs.index[chosen], first.scale_)
            grams = GramCache()
            for learner in learners:
                rule, psd = learner._step_rule(), learner._projection(X.shape[1])
                learn_differences(learner._state, V, sign[chosen], rule, psd, grams)


def _best_n_neighbors(
    samples: Array, codes: IndexArray, n_classes: int, n_jobs: int | None
) -> tuple[float, int]:
    """Return the best leave-one-out accuracy of 1 to 25 neighbours, and their number."""
    most = min(_MAX_NEIGHBORS, len(samples) - 1)
    _, index = nearest(samples, samples, most, exclude_self=True, n_jobs=n_jobs)
    errors = vote_errors(codes[index], codes, n_classes, np.arange(1, most + 1))
    best = int(errors.argmin())
    return 1 - float(errors[best]), best + 1
