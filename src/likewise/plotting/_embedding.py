"""Rows under a metric, in the plane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from likewise._runtime.arrays import Array, FloatArray, IndexArray
from likewise._runtime.validation import (
    TableLike,
    as_float_array,
    at_least,
    check_finite,
    check_parameters,
    either,
    encode_labels,
    has_method,
    none,
    pluralize,
)
from likewise.plotting._style import (
    MARKERS,
    POINT_COLORS,
    axes_or_new,
    label_text,
    point_color,
    style,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OTHERS = "#b4bec8"


@dataclass(frozen=True, eq=False)
class Projection:
    """Rows in the plane of their first two principal components, and its share of the variance."""

    points: FloatArray
    variance_share: float


def embedding(
    X: TableLike,
    y: ArrayLike | None = None,
    *,
    metric: Any = None,
    max_classes: int = 14,
    ax: Axes | None = None,
) -> Axes:
    """Draw rows in the plane that shows most of their variance under a metric.

    The plane is that of the first two principal components after the metric's `transform`. Show
    rows that the metric was not learned from: classes of the rows that it was learned from can be
    far apart by chance.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,), optional
        Their classes, shown by colour and shape.
    metric : fitted transformer, optional
        Distances are Euclidean after its `transform`; without one, between the rows as given.
    max_classes : int, default=14
        The most frequent classes have a colour and shape of their own, the others are grey.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import likewise as lw
    >>> from likewise.plotting import embedding
    >>> wine = lw.datasets.load("wine")
    >>> metric = lw.FDA().fit(wine.X[::2], wine.y[::2])
    >>> ax = embedding(wine.X[1::2], wine.y[1::2], metric=metric)
    >>> ax.get_title()
    '100% of the variance'
    """
    check_parameters(
        "embedding",
        {"metric": metric, "max_classes": max_classes},
        {
            "metric": either(none(), has_method("transform", "a fitted transformer")),
            "max_classes": at_least(1),
        },
    )
    rows = as_float_array(X if metric is None else metric.transform(X), "X")
    if rows.ndim != 2 or 0 in rows.shape:
        raise ValueError(f"X has shape {rows.shape}, but it must have rows and columns.")
    check_finite(rows, "X")
    if y is None:
        classes, codes = np.array([""]), np.zeros(len(rows), dtype=np.int64)
    else:
        labels = np.asarray(y)
        if labels.shape != rows.shape[:1]:
            raise ValueError(
                f"y has shape {labels.shape}, but there must be one label for each of the "
                f"{len(rows)} rows of X."
            )
        classes, codes = encode_labels(labels)
    with style():
        ax = axes_or_new(ax, width=5.2, height=4.2)
        draw_embedding(ax, project(rows), codes, classes, max_classes)
    return ax


def project(rows: FloatArray) -> Projection:
    """Return rows on their first two principal components; the largest loading is positive."""
    centred = rows - rows.mean(axis=0)
    scale = np.abs(centred).max(initial=0.0) or 1.0
    centred = centred / scale
    # The smaller of the two products has all the information, at its cost.
    if centred.shape[1] <= len(centred):
        values, vectors = np.linalg.eigh(centred.T @ centred)
        directions = vectors[:, ::-1][:, :2]
    else:
        values, vectors = np.linalg.eigh(centred @ centred.T)
        directions = centred.T @ vectors[:, ::-1][:, :2]
        lengths = np.linalg.norm(directions, axis=0)
        directions = directions / np.where(lengths > 0, lengths, 1.0)
    largest = np.abs(directions).argmax(axis=0)
    signs = np.sign(directions[largest, np.arange(directions.shape[1])])
    points = centred @ (directions * np.where(signs == 0, 1.0, signs)) * scale
    if points.shape[1] == 1:
        points = np.column_stack([points, np.zeros(len(points))])
    total = float(values.sum())
    shown = float(values[-2:].sum())
    return Projection(points, min(1.0, shown / total) if total > 0 else 1.0)


def draw_embedding(
    ax: Axes,
    projected: Projection,
    codes: IndexArray,
    classes: Array,
    max_classes: int = 14,
    *,
    rasterized: bool = False,
    legend: bool = True,
) -> None:
    """Draw projected rows; codes are places in `classes`."""
    counts = np.bincount(codes, minlength=len(classes))
    frequent = np.sort(np.argsort(-counts, kind="stable")[:max_classes])
    size = float(np.clip(14_000 / max(1, len(codes)), 5, 26))
    options: dict[str, Any] = {"s": size, "linewidths": 0, "alpha": 0.8, "rasterized": rasterized}
    rest = ~np.isin(codes, frequent)
    if rest.any():
        name = pluralize(len(classes) - len(frequent), "other class").replace("classs", "classes")
        ax.scatter(*projected.points[rest].T, color=OTHERS, label=name, **options)
    for place, code in enumerate(frequent.tolist()):
        ax.scatter(
            *projected.points[codes == code].T,
            color=point_color(place),
            marker=MARKERS[(place + place // len(POINT_COLORS)) % len(MARKERS)],
            label=label_text(classes[code]),
            **options,
        )
    ax.set_aspect("equal", adjustable="datalim")
    ax.set_xlabel("first principal component")
    ax.set_ylabel("second")
    ax.set_title(f"{projected.variance_share:.0%} of the variance")
    if legend and len(classes) > 1:
        ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), markerscale=max(1.0, 4 / size**0.5))
