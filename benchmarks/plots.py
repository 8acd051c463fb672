"""Figures of the page: how measured times grow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.base import OURS

Results = dict[str, Any]


def growth(results: Results) -> dict[str, list[tuple[float, float]]]:
    """Return the points of each curve."""
    plot = results["plot"]
    rows = [r for r in results["rows"] if r["rival"] == OURS and r["status"] == "ok"]
    return {
        measure: sorted(
            (row["values"][plot["over"]]["median"], row["values"][measure]["median"])
            for row in rows
        )
        for measure in plot["powers"]
    }


def fitted_power(points: list[tuple[float, float]]) -> float:
    """Return the exponent of the power law fitted to some points."""
    x, y = np.log(np.array(points)).T
    return float(np.polyfit(x, y, 1)[0])


def draw(results: Results, path: Path, label: Any) -> None:
    """Draw each curve, and the line of its expected power law."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.add_subplot()
    axes.set(xscale="log", yscale="log", xlabel=results["plot"]["over"], ylabel="seconds")
    for measure, points in growth(results).items():
        x, y = np.array(points).T
        axes.set_xticks(x, [f"{value:,.0f}" for value in x])
        axes.set_xticks([], minor=True)
        power = results["plot"]["powers"][measure]
        measured = f"{label(measure)}, measured power {fitted_power(points):.2f}"
        (line,) = axes.plot(x, y, "o-", label=measured)
        # Through the middle point, so that deviations show at both ends.
        middle = len(x) // 2
        ideal = y[middle] * (x / x[middle]) ** power
        axes.plot(x, ideal, "--", color=line.get_color(), alpha=0.5, label=f"power {power:g}")
    axes.legend()
    axes.grid(alpha=0.3, which="both")
    with rc_context({"svg.hashsalt": "likewise"}):  # the same figure gives the same file
        figure.savefig(path, metadata={"Date": None})
