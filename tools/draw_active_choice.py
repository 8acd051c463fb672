"""Draw how the error falls with judgements on chosen and on random pairs, for their page."""

from __future__ import annotations

import json
import re
from pathlib import Path

from matplotlib import rc_context
from matplotlib.figure import Figure

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "live-choice.json"
DRAWING = ROOT / "docs" / "_static" / "active-choice.svg"
TITLES = {
    "judged-faces": "faces",
    "judged-faces-5-wrong": "faces, 5 % of answers wrong",
    "judged-texts": "texts",
    "judged-texts-5-wrong": "texts, 5 % of answers wrong",
}
CHOICES = {"active": ("chosen pairs", "#1f4e79", "o-"), "random": ("random pairs", "#b5483a", "^-")}


def main() -> None:
    rows = json.loads(RESULTS.read_text(encoding="utf-8"))["rows"]
    figure = Figure(figsize=(9, 3.2), layout="constrained")
    for axes, row in zip(figure.subplots(1, len(rows)), rows, strict=True):
        for choice, (label, colour, style) in CHOICES.items():
            points = sorted(
                (int(found[1]), 100 * value["mean"])
                for name, value in row["values"].items()
                if (found := re.fullmatch(rf"{choice}_(\d+)", name))
            )
            axes.plot(*zip(*points, strict=True), style, color=colour, label=label, markersize=4)
        axes.set_title(TITLES[row["dataset"]], fontsize="medium")
        axes.grid(alpha=0.3)
    figure.axes[0].legend(fontsize="small")
    figure.supxlabel("judgements")
    figure.supylabel("FNMR at FMR 1 % (%)")
    with rc_context({"svg.hashsalt": "likewise"}):  # the same figure gives the same file
        figure.savefig(DRAWING, metadata={"Date": None})


if __name__ == "__main__":
    main()
