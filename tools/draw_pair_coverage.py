"""Draw the coverage of bounds from the results of the benchmarks, for the guide."""

from __future__ import annotations

import json
from pathlib import Path

from matplotlib import rc_context
from matplotlib.figure import Figure

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"
DRAWING = ROOT / "docs" / "_static" / "pair-coverage.svg"
ROWS = {
    "likewise": ("pairs that share items (approximate)", "#1f4e79", "o-"),
    "exact": ("disjoint pairs (exact)", "#5a9367", "s-"),
    "Clopper–Pearson of all pairs": ("all pairs as if independent", "#b5483a", "^--"),
}
RATES = {"01": "true FMR 0.1 %", "1": "true FMR 1 %"}


def main() -> None:
    results = json.loads((RESULTS / "pair-coverage.json").read_text(encoding="utf-8"))
    figure = Figure(figsize=(8.5, 3.6), layout="constrained")
    for axes, (rate, title) in zip(figure.subplots(1, 2, sharey=True), RATES.items(), strict=True):
        for rival, (label, colour, style) in ROWS.items():
            rows = [row for row in results["rows"] if row["rival"] == rival]
            shares = [int(row["dataset"].removeprefix("items-")) for row in rows]
            covered = [100 * (1 - row["values"][f"uncovered_{rate}"]["mean"]) for row in rows]
            axes.plot(shares, covered, style, color=colour, label=label)
        axes.axhline(95, color="0.6", linestyle=":", linewidth=1)
        axes.set(
            xticks=[0, 20, 50], xlabel="share of the variance that is the items', %", title=title
        )
        axes.grid(alpha=0.3)
    figure.axes[0].set_ylabel("bounds that hold, % of 2000")
    figure.axes[0].legend(loc="lower left")
    with rc_context({"svg.hashsalt": "likewise"}):  # the same figure gives the same file
        figure.savefig(DRAWING, metadata={"Date": None})


if __name__ == "__main__":
    main()
