"""Draw the threshold of the faces in the guide: pairs of people that it was not found with."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

import likewise as lw
from likewise.datasets import load
from likewise.statistics import verification_curve

DRAWING = Path(__file__).parent.parent / "docs" / "_static" / "face-threshold.svg"
BLUE, ORANGE = "#1f4e79", "#b35806"
TARGET = 0.05


def pairs_of(gate, faces, chosen):
    """Return all pairs of some rows: distances, whether they are same, items and people."""
    X, person = faces.X[chosen], faces.y[chosen]
    items = np.stack(np.triu_indices(len(X), 1), axis=1)
    distances = gate.pair_distance(X[items[:, 0]], X[items[:, 1]])
    return distances, person[items[:, 0]] == person[items[:, 1]], items, person


def main() -> None:
    faces = load("olivetti_dlib")
    known = faces.y < 30
    gate = lw.PairClassifier(target=f"fmr<={TARGET}").fit(
        faces.X[known], faces.y[known], groups=faces.y[known]
    )
    distances, same, _, _ = pairs_of(gate, faces, ~known)
    figure = Figure(figsize=(8.5, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    bins = np.linspace(distances.min(), distances.max(), 40)
    for kind, colour, label in ((same, BLUE, "same person"), (~same, ORANGE, "different people")):
        weights = np.full(kind.sum(), 1 / kind.sum())
        left.hist(distances[kind], bins, weights=weights, color=colour, alpha=0.6, label=label)
    left.set(title="Pairs of the 10 other people", ylabel="share of the pairs of each kind")
    left.legend(loc="upper left")

    distances, same, items, person = pairs_of(gate, faces, known)
    curve = verification_curve(distances, same, items=items, groups=person, confidence=0.9)
    band = curve.band
    shown = curve.fmr[1:] >= 10 / curve.n_different
    right.plot(curve.thresholds[1:][shown], curve.fmr[1:][shown], color=ORANGE, label="FMR seen")
    within = band.thresholds >= curve.thresholds[1:][shown].min()
    right.fill_between(
        band.thresholds[within],
        band.fmr_lower[within],
        band.fmr_upper[within],
        color=ORANGE,
        alpha=0.25,
        linewidth=0,
        label="its bounds, each of 95 % confidence",
    )
    right.axhline(TARGET, color="0.3", linestyle=":", label="target")
    right.set(
        title="Pairs of the 30 people that it was found with",
        yscale="log",
        xlim=(0.45, 0.75),
        ylim=(1e-3, 0.4),
    )
    right.legend(loc="lower right", fontsize="small")
    for axes in (left, right):
        axes.axvspan(*gate.threshold_interval_, color="0.8", zorder=0)
        axes.axvline(gate.threshold_, color="black", linewidth=1)
        axes.set_xlabel("distance")
        axes.yaxis.set_major_formatter(PercentFormatter(1))
    with rc_context({"svg.hashsalt": "likewise"}):  # the same figure gives the same file
        figure.savefig(DRAWING, metadata={"Date": None})


if __name__ == "__main__":
    main()
