"""Figures 2.1 to 2.9 of the chapter on SVM metrics: convergence, training times, settings."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise._runtime.arrays import FloatArray
from likewise.batch import NCML, PCML, DoubletSVM, TripletSVM
from likewise.constraints import Pairs, nearest_and_farthest_pairs
from likewise.experiments._alternating import Alternation, alternating_ncml, alternating_pcml
from likewise.experiments._experiment import Experiment, Figure, Measure, Result, Size, Trial
from likewise.experiments._figures import panels
from likewise.experiments._rows import Split, divided_by_deviation
from likewise.experiments._seeds import generator
from likewise.experiments._svm_chapter import (
    DIGITS,
    MAKE,
    PAPER,
    TASKS,
    UCI,
    max_rows,
    split,
    splits,
)
from likewise.experiments._timing import timed
from likewise.experiments._tuned import Contender, Settings, evaluate, learn
from likewise.objectives import ConstraintMatrices
from likewise.plotting._style import COLORS

if TYPE_CHECKING:
    import matplotlib.figure

_ITERATIONS, _DIMENSIONS = "PenDigits, iterations", "Semeion, all dimensions"
_DIFFERENT, _BOTH, _WEIGHT = "Segmentation, m₂", "Segmentation, m₁ = m₂", "Segmentation, C"
_VARIED = (_DIFFERENT, _BOTH, _WEIGHT)
_SOLVERS = {"PCML": (PCML, alternating_pcml), "NCML": (NCML, alternating_ncml)}
_SVMS: dict[str, Callable[..., Any]] = {
    "doublet-SVM": partial(DoubletSVM, n_jobs=1),
    "triplet-SVM": partial(TripletSVM, n_jobs=1),
}
_OF_DIGITS = ("NCA", "ITML", "MCML", "LDML", "LMNN", "DML-eig", "PLML", "PCML", "NCML")
_OF_DOUBLETS = ("doublet-SVM", "NCA", "ITML", "MCML", "LDML")
_OF_TRIPLETS = ("triplet-SVM", "LMNN")
_C_OF_PAIRS = 0.01
# Of the timed methods; the others have their defaults.
_SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "PCML": {"C": _C_OF_PAIRS},
    "NCML": {"C": _C_OF_PAIRS},
    "doublet-SVM": {"C": 1.0},
    "triplet-SVM": {"C": 1.0},
    "LDML": {"C": 0.1},
}
_STOPPING = 0.01  # the chapter's ε

Solver = Callable[..., Alternation]


def run_figure(
    dataset: str,
    method: str,
    run: int,
    *,
    n_rows: int,
    max_iter: int,
    dimensions: tuple[int, ...],
    counts: tuple[int, ...],
    weights: tuple[float, ...],
    n_folds: int,
    limit: int | None = None,
) -> Result:
    """Return what one method has in one figure.

    Parameters
    ----------
    dataset, method, run
        The trial; `dataset` also says which figure.
    n_rows, max_iter : int
        Training rows and iterations of the alternating solvers.
    dimensions : tuple of int
        Numbers of principal components.
    counts : tuple of int
        Values of m₁ and m₂.
    weights : tuple of float
        Values of C.
    n_folds : int
        Folds of Segmentation that are tested.
    limit : int or None
        Rows of each part of a split, where not all are used.
    """
    if dataset == _ITERATIONS:
        return _converge(method, n_rows, max_iter)
    if dataset == _DIMENSIONS:
        return _time_dimensions(method, dimensions, n_rows, limit)
    if dataset in _VARIED:
        settings: dict[str, dict[Any, Settings]] = {
            _DIFFERENT: {m: {"n_same": 1, "n_different": m, "C": 1.0} for m in counts},
            _BOTH: {m: {"n_same": m, "n_different": m, "C": 1.0} for m in counts},
            _WEIGHT: {C: {"n_same": 2, "n_different": 2, "C": C} for C in weights},
        }
        return _errors(method, settings[dataset], n_folds, limit)
    return _time(dataset, method, limit)


def _absent() -> frozenset[tuple[str, str]]:
    """Return the data sets and methods that no figure shows together."""
    shown = {
        **dict.fromkeys((_ITERATIONS, _DIMENSIONS), tuple(_SOLVERS)),
        **dict.fromkeys(_VARIED, tuple(_SVMS)),
        **dict.fromkeys(DIGITS, _OF_DIGITS),
        **dict.fromkeys(UCI, (*_OF_DOUBLETS, *_OF_TRIPLETS)),
    }
    every = {(name, method) for name in shown for method in MAKE}
    pairs = {(name, method) for name, methods in shown.items() for method in methods}
    return frozenset(every - pairs | {("MNIST", "MCML")})


def _converge(method: str, n_rows: int, max_iter: int) -> Result:
    """Return the relative duality gaps of both solvers on rows of PenDigits."""
    make, alternate = _SOLVERS[method]
    X, pairs = _scaled_pairs(split(TASKS["PenDigits"], 0, 0, n_rows))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the gap is drawn
        ours = make(C=_C_OF_PAIRS, scale=1.0, n_jobs=1).fit_pairs(X, pairs.index, pairs.same)
    matrices = ConstraintMatrices.from_pairs(X, pairs, n_jobs=1)
    found = alternate(matrices, _C_OF_PAIRS, max_iter=max_iter)
    below = [place for place, gap in enumerate(found.gaps, 1) if gap < _STOPPING]
    return {
        "gap": found.gaps,
        "gap_ours": ours.history_["gap"].tolist(),
        "iterations": below[0] if below else max_iter,
        "difference": 100 * abs(found.primal[-1] / ours.objective_ - 1),
    }


def _scaled_pairs(rows: Split) -> tuple[FloatArray, Pairs]:
    """Return rows in which the median squared distance of similar pairs is 1, and the pairs."""
    pairs = nearest_and_farthest_pairs(rows.X, rows.y, 1, n_jobs=1)
    first, second = pairs.index[pairs.same].T
    unit = np.median(np.linalg.norm(rows.X[first] - rows.X[second], axis=1))
    return rows.X / unit, pairs


def _alternate(solver: Solver, X: FloatArray, pairs: Pairs) -> Alternation:
    """Run an algorithm of the chapter until the gap stops to fall (Eq. 2.14)."""
    matrices = ConstraintMatrices.from_pairs(X, pairs, n_jobs=1)
    return solver(matrices, _C_OF_PAIRS, max_iter=50, decrease=_STOPPING)


def _time_dimensions(
    method: str, dimensions: tuple[int, ...], n_rows: int, limit: int | None
) -> Result:
    """Return training times on principal components of Semeion: ours, and alternating."""
    contender, (_, alternate) = Contender(MAKE[method]), _SOLVERS[method]
    ours, alternating = [], []
    for n_components in dimensions:
        task = replace(TASKS["Semeion"], n_components=n_components)
        whole = split(task, 0, 0, limit)
        _, seconds = learn(contender, {"C": _C_OF_PAIRS}, whole.X, whole.y, generator("dimensions"))
        ours.append(round(seconds, 4))
        X, pairs = _scaled_pairs(split(task, 0, 0, min(n_rows, limit or n_rows)))
        solve = partial(_alternate, alternate, X, pairs)
        alternating.append(round(timed(solve)[1], 4))
    return {
        "dimensions": list(dimensions),
        "ours": ours,
        "alternating": alternating,
        "seconds": sum(ours),
    }


def _errors(method: str, tried: Mapping[Any, Settings], n_folds: int, limit: int | None) -> Result:
    """Return the errors on folds of Segmentation with settings that belong to some values."""
    contender = Contender(_SVMS[method])
    n_wrong, n_test = np.zeros(len(tried)), 0
    for fold in splits(TASKS["Segmentation"], 0, n_folds, limit):
        n_wrong += [
            evaluate(contender, settings, fold, generator(method)) for settings in tried.values()
        ]
        n_test += len(fold.y_test)
    errors, values = 100 * n_wrong / n_test, list(tried)
    return {
        "values": values,
        "errors": errors.round(4).tolist(),
        "best": values[int(errors.argmin())],
        "lowest": float(errors.min()),
        "n_test": n_test,
    }


def _time(dataset: str, method: str, limit: int | None) -> Result:
    """Return the training time on the chapter's split or the first fold."""
    X, y, _, _ = next(splits(TASKS[dataset], 0, 1, limit))
    if dataset in UCI:
        (X,) = divided_by_deviation(X)
    contender = Contender(MAKE[method], max_rows=max_rows(method, dataset))
    _, seconds = learn(contender, _SETTINGS.get(method, {}), X, y, generator("time"))
    return {"seconds": seconds}


def _draw_convergence(results: Mapping[Trial, Result]) -> matplotlib.figure.Figure:
    """Draw the duality gap after each step, one panel per method."""
    figure, axes = panels(len(_SOLVERS))
    for axis, method in zip(axes, _SOLVERS, strict=True):
        result = results[Trial(0, _ITERATIONS, method)]
        for name, label in (("gap", "Algorithm of the chapter"), ("gap_ours", "likewise")):
            smallest = np.minimum.accumulate(result[name])  # that of the metric which is kept
            axis.plot(np.arange(1, len(smallest) + 1), smallest, label=label)
        axis.set(
            title=method, xlabel="iteration", ylabel="relative duality gap", xscale="log",
            yscale="log",
        )  # fmt: skip
        axis.legend()
    return figure


def _draw_times(results: Mapping[Trial, Result]) -> matplotlib.figure.Figure:
    """Draw training times by data set, one panel per group of methods."""
    groups = ((tuple(DIGITS), _OF_DIGITS), (tuple(UCI), _OF_DOUBLETS), (tuple(UCI), _OF_TRIPLETS))
    figure, axes = panels(len(groups), len(groups))
    for axis, (names, methods) in zip(axes, groups, strict=True):
        for number, method in enumerate(methods):
            found = [results.get(Trial(0, name, method), {}).get("seconds") for name in names]
            if any(found):
                shown = [np.nan if seconds is None else max(seconds, 1e-4) for seconds in found]
                line = "-" if number < len(COLORS) else "--"
                axis.plot(names, shown, f"o{line}", markersize=3, label=method)
        axis.set(ylabel="training time (s)", yscale="log")
        axis.tick_params("x", rotation=60)
        axis.legend(ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return figure


def _draw_dimensions(results: Mapping[Trial, Result]) -> matplotlib.figure.Figure:
    """Draw training times against the number of principal components."""
    figure, axes = panels(2)
    titles = (("alternating", "Algorithms of the chapter"), ("ours", "likewise"))
    for axis, (name, title) in zip(axes, titles, strict=True):
        for method in _SOLVERS:
            result = results[Trial(0, _DIMENSIONS, method)]
            axis.plot(result["dimensions"], result[name], "o-", markersize=3, label=method)
        axis.set(title=title, xlabel="principal components", ylabel="training time (s)")
        axis.legend()
    return figure


def _draw_settings(results: Mapping[Trial, Result]) -> matplotlib.figure.Figure:
    """Draw the error against m₂, m₁ = m₂ and C."""
    axes_labels = ((_DIFFERENT, "m₂"), (_BOTH, "m₁ = m₂"), (_WEIGHT, "C"))
    figure, axes = panels(len(axes_labels), len(axes_labels))
    for axis, (dataset, label) in zip(axes, axes_labels, strict=True):
        for method in _SVMS:
            result = results[Trial(0, dataset, method)]
            axis.plot(result["values"], result["errors"], "o-", markersize=3, label=method)
        axis.set(xlabel=label, ylabel="1-NN error (%)")
        if dataset == _WEIGHT:
            axis.set_xscale("log")
        axis.legend()
    return figure


FIGURES = Experiment(
    name="svm-figures",
    title="convergence, training times and settings of the SVM metrics",
    paper=PAPER,
    place="Figures 2.1 to 2.9",
    protocol=(
        "Iterations: rows of PenDigits, each with its nearest row of the class and the farthest of "
        "the others, C = 0.01, in units of the median squared distance of similar pairs; the "
        "chapter's Algorithms 2.1 and 2.2, with LIBSVM, against the solvers of PCML and NCML. "
        "Dimensions: the same on principal components of Semeion; the alternating solvers stop as "
        "in Eq. 2.14. Segmentation: original features, C = 1 where it does not vary. Training "
        "times are processor times of one thread on the split or the first fold of the tables, "
        "with fixed settings and, on the UCI data, standardised features; they differ from run to "
        "run and from machine to machine."
    ),
    run=run_figure,
    measures=(
        Measure("seconds", "Training time (s)", decimals=3),
        Measure("iterations", "Iterations until the relative gap is below 0.01", decimals=0),
        Measure("difference", "Difference of both solvers' objectives (%)", decimals=3),
        Measure("best", "Value with the lowest error", decimals=None),
        Measure("lowest", "Lowest 1-NN error (%)", tested="n_test"),
    ),
    full=Size(
        (_ITERATIONS, _DIMENSIONS, *_VARIED, *TASKS),
        (*_SVMS, "PCML", "NCML", *_OF_DIGITS[:-2]),
        runs=1,
        options={
            "n_rows": 300,
            "max_iter": 30,
            "dimensions": (20, 60, 100, 140, 180),
            "counts": (1, 2, 3, 4, 5),
            "weights": tuple(10.0**k for k in range(-4, 5)),
            "n_folds": 10,
        },
        absent=_absent(),
    ),
    quick=Size(
        (_ITERATIONS, _DIMENSIONS, *_VARIED, "PenDigits", "Parkinsons"),
        (*_SVMS, "PCML", "NCML", "LMNN", "ITML"),
        runs=1,
        options={
            "n_rows": 60,
            "max_iter": 10,
            "dimensions": (5, 10),
            "counts": (1, 2),
            "weights": (0.01, 1.0),
            "n_folds": 1,
            "limit": 150,
        },
        absent=_absent(),
    ),
    data={
        _ITERATIONS: "pendigits",
        _DIMENSIONS: "semeion",
        **dict.fromkeys(_VARIED, "segment"),
        **{name: task.name for name, task in TASKS.items()},
    },
    reductions=(
        "The alternating solvers learn from 300 rows, since their kernel matrix has as many rows "
        "and columns as there are pairs; errors on Segmentation are those of one run of 10 folds.",
        "NCA and MCML learn from at most 2000 random training rows, PLML from 1000, and all "
        "methods from 10 000 of MNIST.",
    ),
    own_methods=(*_SVMS, *_SOLVERS),
    kept=("gap", "gap_ours", "dimensions", "ours", "alternating", "values", "errors", "n_test"),
    figures=(
        Figure(
            "convergence",
            "Smallest duality gap of PCML and NCML so far, against iterations (Figures 2.1, 2.2).",
            _draw_convergence,
        ),
        Figure(
            "times",
            "Training times: left on MNIST, PenDigits, Semeion and USPS (Figure 2.3), middle and "
            "right on the ten UCI data sets in the order of Table 2.3 (Figures 2.8 and 2.9).",
            _draw_times,
        ),
        Figure(
            "dimensions",
            "Training time against the number of principal components of Semeion (Figure 2.4): "
            "left from 300 rows, right from all.",
            _draw_dimensions,
        ),
        Figure(
            "settings",
            "1-NN error on Segmentation against m₂ with m₁ = 1, against m₁ = m₂, and against C "
            "with m₁ = m₂ = 2 (Figures 2.5 to 2.7).",
            _draw_settings,
        ),
    ),
)
