"""Figures 2, 4, 5, 7, 8, 10, 12 and 13 of Weinberger and Saul."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise._runtime.arrays import Array, FloatArray
from likewise.experiments._experiment import Result, Trial
from likewise.experiments._figures import panels
from likewise.experiments._lmnn_reduction import DESKEWED_METHODS, REDUCTION_METHODS
from likewise.experiments._lmnn_toys import CIRCLE_METHODS, ZEBRA_METHODS, circles

if TYPE_CHECKING:
    import matplotlib.figure

DIMENSIONS = tuple(range(10, 55, 5))
# Read off the bars of Figures 10 and 12, and the curve of Figure 13, which starts at 15.
PAPER_TREE = (41.0, 14.8, 8.6, 5.7, 4.7, 3.7, 3.4, 2.9, 2.8)
PAPER_ABANDONING = (7.0, 3.5, 2.8, 2.2, 2.2, 1.9, 1.9, 1.7, 1.7)
PAPER_IMPOSTORS = (1.9, 1.8, 1.6, 1.5, 1.4, 1.3, 1.3, 1.2, 1.2)
PAPER_LMNN_R = (2.38, 2.09, 1.76, 1.82, 1.79, 1.80, 1.81, 1.84)
_CIRCLE = np.column_stack([f(np.linspace(0, 2 * np.pi, 100)) for f in (np.cos, np.sin)])


def dimensions(dataset: str) -> int:
    """Return the number of dimensions that a data set's name begins with."""
    return int(dataset.split()[0])


def draw_zebra(results: Mapping[Trial, Result]) -> matplotlib.figure.Figure:
    """Draw both modes side by side, and the dominant axis of each metric."""
    figure, axes = panels(2)
    result = results[Trial(0, "zebra", "Input")]
    points, labels = np.array(result["points"]), np.array(result["labels"])
    for label in (0, 1):
        axes[0].plot(*points[labels == label].T, "o", markersize=2)
    axes[0].set(title="some of the data")
    for method in ZEBRA_METHODS[1:]:
        axis = np.array(results[Trial(0, "zebra", method)]["axis"])
        axis *= 1 if axis[np.abs(axis).argmax()] > 0 else -1
        axes[1].plot([-axis[0], axis[0]], [-axis[1], axis[1]], label=method)
    axes[1].set(title="dominant axes", aspect="equal", xlim=(-1.1, 1.1), ylim=(-1.1, 1.1))
    axes[1].legend()
    return figure


def ellipse(components: Array, size: float) -> FloatArray:
    """Return the points at equal distance from the centre; the longer half axis is `size`."""
    _, values, directions = np.linalg.svd(np.asarray(components, dtype=np.float64))
    halves = 1 / np.maximum(values, 1e-3 * values.max())
    halves = np.append(halves, [1e3 / values.max()] * (2 - len(halves)))
    return np.asarray(_CIRCLE * (size * halves / halves.max()) @ directions)


def draw_circles(results: Mapping[Trial, Result]) -> matplotlib.figure.Figure:
    """Draw clusters and their metrics: what is at distance 1 from the centre of a cluster."""
    shown = [method for method in CIRCLE_METHODS if Trial(0, "circles", method) in results]
    figure, axes = panels(len(shown), n_columns=4)
    X, y = circles()
    for axis, method in zip(axes, shown, strict=True):
        result = results[Trial(0, "circles", method)]
        clusters = np.array(result["clusters"])
        for cluster, components in enumerate(result["components"]):
            own = clusters == cluster
            for label, marker in ((0, "o"), (1, "s")):
                part = X[own & (y == label)]
                axis.plot(*part.T, marker, markersize=2.5, color=f"C{cluster}")
            border = X[own].mean(axis=0) + ellipse(np.array(components), 0.3)
            axis.plot(*border.T, color=f"C{cluster}", linewidth=1)
        axis.set(title=f"{method}: {result['left_out']:.0f} %", aspect="equal")
        axis.set_xticks([])
        axis.set_yticks([])
    return figure


def draw_digits(results: Mapping[Trial, Result]) -> matplotlib.figure.Figure:
    """Draw four digits on two principal components, with the metric of each."""
    figure, axes = panels(1)
    result = results[Trial(0, "four digits", "LMNN metrics")]
    points, labels = np.array(result["points"]), np.array(result["labels"])
    metrics = np.array(result["components"])
    unit = 2 / max(np.linalg.norm(L, 2) for L in metrics)
    for number, digit in enumerate(result["classes"]):
        color, mean = f"C{number}", np.array(result["means"][number])
        axes[0].plot(*points[labels == digit].T, "o", markersize=2, color=color, alpha=0.5)
        # The unit circle stretched by √M, as in the paper, and its principal axis.
        _, stretches, axis = np.linalg.svd(metrics[number])
        image = _CIRCLE * (unit * stretches) @ axis + mean
        principal = mean + unit * stretches[0] * np.array([-1, 1])[:, None] * axis[0]
        axes[0].plot(*image.T, color=color, label=str(digit))
        axes[0].plot(*principal.T, color=color, linewidth=1)
    axes[0].set(aspect="equal")
    axes[0].legend()
    return figure


def draw_images(results: Mapping[Trial, Result], dataset: str, titles: tuple[str, ...]) -> Any:
    """Draw rows of images: test images and neighbours."""
    from matplotlib.figure import Figure

    rows = results[Trial(0, dataset, "LMNN")]["images"]
    n_columns = max(1, len(rows[0]))
    figure = Figure(figsize=(n_columns, len(rows) + 0.9), layout="constrained")
    axes = figure.subplots(len(rows), n_columns, squeeze=False)
    for line, images, title in zip(axes, rows, titles, strict=True):
        for axis in line:
            axis.set_axis_off()
        for axis, image in zip(line, images, strict=False):
            side = int(len(image) ** 0.5)
            axis.imshow(np.reshape(image, (side, side)), cmap="gray")
        line[0].set_title(title, loc="left")
    return figure


def draw_search(results: Mapping[Trial, Result]) -> matplotlib.figure.Figure:
    """Draw the speed-up of searches against the number of dimensions, beside the paper's."""
    figure, axes = panels(2)
    declared = (
        (axes[0], "ball tree", "speedup", PAPER_TREE),
        (axes[0], "abandoning", "speedup", PAPER_ABANDONING),
        (axes[1], "impostors by ball trees", "impostor_speedup", PAPER_IMPOSTORS),
    )
    for number, (axis, method, measure, paper) in enumerate(declared):
        found = _by_dimension(results, method, measure)
        axis.plot(*found, "o-", markersize=3, color=f"C{number}", label=method)
        axis.plot(DIMENSIONS, paper, "--", color=f"C{number}", label=f"{method}, paper")
    for axis, title in zip(axes, ("3-NN search (Figure 10)", "impostors (Figure 12)"), strict=True):
        axis.axhline(1, linewidth=0.8, color="0.4")
        axis.set(title=title, xlabel="dimensions", ylabel="times faster")
        axis.legend()
    axes[0].set_yscale("log")
    ticks = (1, 2, 5, 10, 20, 50, 100, 200)
    axes[0].set_yticks(ticks, labels=[str(tick) for tick in ticks])
    axes[0].minorticks_off()
    return figure


def draw_reduction(results: Mapping[Trial, Result]) -> matplotlib.figure.Figure:
    """Draw the error against the number of dimensions: raw images, and deskewed ones."""
    figure, axes = panels(2)
    groups = (("raw images", REDUCTION_METHODS), ("deskewed images", DESKEWED_METHODS))
    for axis, (title, methods) in zip(axes, groups, strict=True):
        for method, label in zip(methods, REDUCTION_METHODS, strict=True):
            found = _by_dimension(results, method, "reduced_error")
            axis.plot(*found, "o-", markersize=3, label=label)
        axis.plot(DIMENSIONS[1:], PAPER_LMNN_R, "--", label="LMNN-R, paper", color="C2")
        axis.set(title=title, xlabel="dimensions", ylabel="3-NN error (%)")
        axis.legend()
    return figure


def _by_dimension(
    results: Mapping[Trial, Result], method: str, measure: str
) -> tuple[list[int], list[float]]:
    """Return the numbers of dimensions and the results of a method."""
    found = sorted(
        (dimensions(trial.dataset), result[measure])
        for trial, result in results.items()
        if trial.method == method and measure in result
    )
    return [size for size, _ in found], [value for _, value in found]
