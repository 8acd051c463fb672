"""Draw the gains of adapted embeddings from the results of the benchmark, for their page."""

from __future__ import annotations

import json
import re
from pathlib import Path

from matplotlib import rc_context
from matplotlib.figure import Figure

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"
DRAWING = ROOT / "docs" / "_static" / "adapter-gains.svg"
KINDS = {
    "labels": ("labels", "#1f4e79", "o-"),
    "near": ("near pairs", "#5a9367", "s-"),
    "random": ("random pairs", "#b5483a", "^-"),
    "judged": ("judged pairs", "#7a5195", "D-"),
}
MOST_LOST = 0.02  # in a draw


def gains() -> dict[str, dict[str, list[tuple[int, float, float]]]]:
    """Return (judgements, mean gain, least gain) by data set and kind of judgement."""
    found: dict[str, dict[str, list[tuple[int, float, float]]]] = {}
    files = sorted(set(RESULTS.glob("adapter-*.json")) - {RESULTS / "adapter-time.json"})
    for row in [r for f in files for r in json.loads(f.read_text(encoding="utf-8"))["rows"]]:
        name, kind, n = re.fullmatch(r"(.+)-(\w+)-(\d+)", row["dataset"]).groups()
        values = row["values"]
        point = (int(n), values["gain"]["mean"], -values["worst_loss"]["mean"])
        found.setdefault(name, {}).setdefault(kind, []).append(point)
    return found


def main() -> None:
    figure = Figure(figsize=(9, 5.6), layout="constrained")
    panels = figure.subplots(2, 3).ravel()
    for axes, (name, kinds) in zip(panels, gains().items(), strict=True):
        for kind, points in kinds.items():
            label, colour, style = KINDS[kind]
            n, mean, least = zip(*sorted(points), strict=True)
            axes.plot(n, mean, style, color=colour, label=label, markersize=4)
            axes.fill_between(n, least, mean, color=colour, alpha=0.15, linewidth=0)
        axes.axhline(0, color="0.4", linewidth=0.8)
        axes.axhline(-MOST_LOST, color="0.4", linewidth=0.8, linestyle="--")
        low, high = axes.get_ylim()
        axes.set_ylim(min(low, -1.2 * MOST_LOST), max(high, 1.2 * MOST_LOST))
        axes.set(xscale="log", title=name)
        axes.grid(alpha=0.3)
    labels = {
        label: line
        for axes in panels
        for line, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    figure.legend(labels.values(), labels.keys(), loc="outside upper center", ncols=len(labels))
    figure.supxlabel("judgements")
    figure.supylabel("gain: mean and least of 20")
    with rc_context({"svg.hashsalt": "likewise"}):  # the same figure gives the same file
        figure.savefig(DRAWING, metadata={"Date": None})


if __name__ == "__main__":
    main()
