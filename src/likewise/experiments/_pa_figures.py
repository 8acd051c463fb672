"""Figures of the paper on online metrics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial.distance import cdist, pdist

from likewise._loops.pairs.types import VARIANTS, StepRule
from likewise.experiments._experiment import Result, Trial
from likewise.experiments._figures import panels
from likewise.experiments._pa_derived import TIMED, compare_ranks, datasets_of, scores
from likewise.experiments._pa_trials import DECOMPOSED, ONLINE
from likewise.experiments._seeds import generator
from likewise.plotting import critical_difference
from likewise.plotting._style import COLORS, MUTED

if TYPE_CHECKING:
    import matplotlib.figure

Results = Mapping[Trial, Result]

_COLOR = {variant: COLORS[number] for number, variant in enumerate(("PA-I", "PA-II", "PALS", "PA"))}
_DASHES = {"each": "-", "end": "--"}


def draw_distances(_: Results) -> matplotlib.figure.Figure:
    """Draw the squared distances within and between two Gaussians."""
    figure, axes = panels(2)
    for axis, deviation in zip(axes, (0.02, 0.1), strict=True):
        random = generator("distances")
        first, second = (
            random.normal((mean, 0.0), deviation, size=(1000, 2)) for mean in (0.0, 1.0)
        )
        similar = np.concatenate([pdist(rows, "sqeuclidean") for rows in (first, second)])
        dissimilar = cdist(first, second, "sqeuclidean").ravel()
        bins = np.linspace(0, max(similar.max(), dissimilar.max()), 80)
        for label, distances in (("similar", similar), ("dissimilar", dissimilar)):
            shares = np.full(len(distances), 1 / len(distances))
            axis.hist(distances, bins, weights=shares, alpha=0.7, label=label)
        axis.set(
            title=f"σ = {deviation:g}",
            xlabel="squared distance",
            ylabel="share of the pairs",
            yscale="log",
        )
    axes[1].legend()
    return figure


def draw_steps(_: Results) -> matplotlib.figure.Figure:
    """Draw the step sizes as a function of the signed loss and of C."""
    figure, (by_loss, by_C) = panels(2)
    sqnorm, C = 1.0, 0.5
    losses = np.linspace(-3, 3, 241)
    Cs = np.logspace(-2, 2, 161)
    lines = ((1.0, "-"), (2.0, "--"), (-1.0, ":"))
    for variant in reversed(VARIANTS):
        # PALS lies below: for positive losses its steps are those of PA-II.
        look = {"color": _COLOR[variant]} | ({"linewidth": 4.0} if variant == "PALS" else {})
        rule = StepRule(variant, C)
        steps = [rule.step(loss, sqnorm, 1.0) for loss in losses.tolist()]
        by_loss.plot(losses, steps, label=variant, **look)
        for loss, dashes in lines:
            steps = [StepRule(variant, value).step(loss, sqnorm, 1.0) for value in Cs.tolist()]
            by_C.plot(Cs, steps, dashes, **look)
    for loss, dashes in lines:
        by_C.plot([], [], dashes, color=MUTED, label=f"p = {loss:g}".replace("-", "−"))
    by_loss.set(title=f"C = {C:g}", xlabel="signed loss p", ylabel="step τ")
    by_C.set(title="three signed losses", xlabel="C", ylabel="step τ", xscale="log")
    by_loss.legend()
    by_C.legend()
    return figure


def draw_predictive_errors(results: Results) -> matplotlib.figure.Figure:
    """Draw the predictive error of each data set while pairs come in."""
    datasets = datasets_of(results)
    figure, axes = panels(len(datasets), 3)
    for axis, dataset in zip(axes, datasets, strict=True):
        _draw_course(axis, results, dataset, "predictive_curve")
        axis.set(title=dataset, xlabel="pairs", ylabel="predictive error")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=6)
    return figure


def draw_dimensions(results: Results) -> matplotlib.figure.Figure:
    """Draw the effective dimension while pairs come in."""
    figure, (axis,) = panels(1)
    _draw_course(axis, results, DECOMPOSED, "dimension_curve")
    axis.set(title=DECOMPOSED, xlabel="pairs", ylabel="effective dimension")
    axis.legend(ncols=3)
    return figure


def draw_errors_by_eigenvectors(results: Results) -> matplotlib.figure.Figure:
    """Draw the 2-NN errors on training and test rows as more eigenvectors are used."""
    figure, axes = panels(2)
    for axis, part in zip(axes, ("train", "test"), strict=True):
        for method in ONLINE:
            curves = _lists(results, DECOMPOSED, method, f"{part}_by_eigenvectors")
            if curves:
                mean = np.mean(curves, axis=0)
                axis.plot(np.arange(1, len(mean) + 1), mean, label=method, **_line(method))
        axis.set(title=f"{DECOMPOSED}, {part}", xlabel="eigenvectors", ylabel="2-NN error")
    axes[0].legend(ncols=3)
    return figure


def draw_times(results: Results) -> matplotlib.figure.Figure:
    """Draw the mean processor time of each method on each data set."""
    datasets = datasets_of(results)
    figure, (axis,) = panels(1)
    figure.set_size_inches(8.0, 4.0)
    for method, seconds in zip(TIMED, scores(results, "seconds", TIMED).T, strict=True):
        axis.plot(datasets, seconds, marker="o", markersize=3, label=method, **_line(method))
    axis.set(ylabel="processor time (s)", yscale="log")
    figure.legend(loc="outside upper center", ncols=len(TIMED))
    return figure


def draw_ranks(results: Results) -> matplotlib.figure.Figure:
    """Draw the average ranks of processor times and of errors."""
    figure, axes = panels(2, 1)
    figure.set_size_inches(7.0, 5.0)
    for axis, (what, test) in zip(axes, compare_ranks(results).items(), strict=True):
        critical_difference(
            test.ranks, test.names, test.n_datasets, p_values=test.p_values, ax=axis
        )
        axis.set_title(f"average ranks of {what}")
    return figure


def _draw_course(axis: Any, results: Results, dataset: str, name: str) -> None:
    """Draw the mean over runs of a curve of each online method."""
    for method in ONLINE:
        events, curves = (_lists(results, dataset, method, key) for key in ("events", name))
        if curves:
            n_points = min(map(len, curves))
            mean = np.mean([curve[:n_points] for curve in curves], axis=0)
            axis.plot(events[0][:n_points], mean, label=method, **_line(method))


def _lists(results: Results, dataset: str, method: str, name: str) -> list[list[float]]:
    return [
        result[name]
        for trial, result in results.items()
        if (trial.dataset, trial.method) == (dataset, method)
    ]


def _line(method: str) -> dict[str, str]:
    """Return one colour per variant, solid with a projection after each update, else dashed."""
    if method not in ONLINE:
        return {"color": COLORS[-1], "linestyle": "-"}
    variant, psd = ONLINE[method]
    return {"color": _COLOR[variant], "linestyle": _DASHES[psd]}
