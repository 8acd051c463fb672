"""Draw how fits grow with rows, features and pairs, from the results of the benchmarks.

For the page *How large is too large*. Results of ``gpu-growth-rows-METHOD`` are drawn as well once
they are stored.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

from likewise.plotting._style import COLORS, INK, MARKERS, SMALL_FONT_SIZE, style

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"
DRAWINGS = ROOT / "docs" / "_static"
OURS = "likewise"
METHODS = ("LMNN", "NCA", "RCA", "ITML", "PCML", "LDML", "MMC", "PAMetric")
# The dashes of each engine.
ENGINES = {"": "-", "two workers": "--", "GPU": ":"}
# The device of results whose names begin so.
DEVICES = {"growth-rows-": "", "gpu-growth-rows-": "GPU"}
# As wide as a phone shows it, so that its text has the size of that of the page.
WIDTH, HEIGHT = 4.2, 3.6


class Curve(NamedTuple):
    """The seconds of one method by one engine, over rows, features or pairs."""

    method: str
    engine: str
    points: list[tuple[float, float]]

    @property
    def power(self) -> float:
        """The exponent of the power law fitted to the last three points."""
        x, y = np.log(self.points[-3:]).T
        return float(np.polyfit(x, y, 1)[0])

    @property
    def label(self) -> str:
        return ", ".join(part for part in (self.method, self.engine) if part)


def over_rows() -> list[Curve]:
    """Return the curves of each method and engine."""
    found = []
    for prefix, device in DEVICES.items():
        for path in RESULTS.glob(f"{prefix}*.json"):
            results = _read(path)
            method = path.stem.removeprefix(prefix).upper()
            for rival in _rivals(results):
                engine = device if rival == OURS else rival.removeprefix(f"{OURS}, ")
                found.append(Curve(method, engine, _points(results, rival, "rows")))
    return _in_order(found)


def over(fact: str, first: str) -> list[Curve]:
    """Return the curves of the methods over features or pairs; the row of ours is the first."""
    path = RESULTS / f"growth-{fact}.json"
    results = _read(path)
    found = [
        Curve(
            first if rival == OURS else rival.removeprefix(f"{OURS}, "),
            "",
            _points(results, rival, fact),
        )
        for rival in _rivals(results)
    ]
    return _in_order(found)


def draw(curves: list[Curve], fact: str) -> Figure:
    """Return the figure of some curves, each with its power in the legend."""
    with style():
        figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
        axes = figure.add_subplot()
        axes.set(xscale="log", yscale="log", xlabel=fact, ylabel="seconds")
        for curve in curves:
            x, y = zip(*curve.points, strict=True)
            place = METHODS.index(curve.method)
            axes.plot(
                x,
                y,
                ENGINES[curve.engine],
                marker=MARKERS[place % len(MARKERS)],
                markersize=4,
                color=COLORS[place % len(COLORS)],
                label=f"{curve.label}: power {curve.power:.1f}",
            )
        ticks = sorted({x for curve in curves for x, _ in curve.points})
        axes.set_xticks(ticks, [_short(tick) for tick in ticks])
        axes.set_xticks([], minor=True)
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        figure.legend(
            loc="outside upper left",
            ncols=2,
            columnspacing=1,
            handlelength=1.6,
            fontsize=SMALL_FONT_SIZE,
            labelcolor=INK,
        )
    return figure


def _short(number: float) -> str:
    return f"{number / 1000:g}k" if number >= 1000 else f"{number:g}"


def _in_order(curves: list[Curve]) -> list[Curve]:
    engines = list(ENGINES)
    known = [curve for curve in curves if len(curve.points) > 1]
    return sorted(known, key=lambda c: (METHODS.index(c.method), engines.index(c.engine)))


def _read(path: Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


def _rivals(results: dict) -> list[str]:
    return list(dict.fromkeys(row["rival"] for row in results["rows"]))


def _points(results: dict, rival: str, fact: str) -> list[tuple[float, float]]:
    return sorted(
        (row["values"][fact]["median"], row["values"]["fit_s"]["median"])
        for row in results["rows"]
        if row["rival"] == rival and row["status"] == "ok"
    )


def main() -> None:
    figures = {
        "rows": over_rows(),
        "features": over("features", "LMNN"),
        "pairs": over("pairs", "ITML"),
    }
    for fact, curves in figures.items():
        figure = draw(curves, fact)
        with rc_context({"svg.hashsalt": "likewise"}):  # the same figure gives the same file
            figure.savefig(DRAWINGS / f"growth-{fact}.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
