"""Figures of experiments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise.experiments._experiment import Result, Trial
from likewise.plotting._style import COLORS

if TYPE_CHECKING:
    import matplotlib.figure

_PANEL = (4.0, 3.2)  # inches
_MAX_COLUMNS = 2


def panels(
    n_panels: int, n_columns: int = _MAX_COLUMNS
) -> tuple[matplotlib.figure.Figure, list[Any]]:
    """Return a figure with panels in rows of two."""
    from matplotlib.figure import Figure

    n_columns = min(n_columns, n_panels)
    n_rows = -(-n_panels // n_columns)
    figure = Figure(figsize=(_PANEL[0] * n_columns, _PANEL[1] * n_rows), layout="constrained")
    axes = figure.subplots(n_rows, n_columns, squeeze=False).ravel().tolist()
    for unused in axes[n_panels:]:
        unused.remove()
    return figure, axes[:n_panels]


def draw_curves(
    results: Mapping[Trial, Result], *, x: str, y: str, labels: tuple[str, str]
) -> matplotlib.figure.Figure:
    """Draw one panel per data set: for each method the mean over runs of a list-valued result."""
    curves: dict[str, dict[str, list[Result]]] = {}
    for trial, result in results.items():
        curves.setdefault(trial.dataset, {}).setdefault(trial.method, []).append(result)
    figure, axes = panels(len(curves))
    for axis, (dataset, methods) in zip(axes, curves.items(), strict=True):
        for number, (method, runs) in enumerate(methods.items()):
            # Runs of different lengths are compared as far as the shortest one goes.
            n = min(len(run[x]) for run in runs)
            axis.plot(
                np.mean([run[x][:n] for run in runs], axis=0),
                np.mean([run[y][:n] for run in runs], axis=0),
                label=method,
                linestyle="-" if number < len(COLORS) else "--",
            )
        axis.set(title=dataset, xlabel=labels[0], ylabel=labels[1], yscale="log")
        axis.yaxis.set_major_formatter("{x:g}")
        axis.yaxis.set_minor_formatter("{x:g}")
    axes[0].legend(ncols=2)
    return figure
