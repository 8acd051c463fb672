"""Which directions matter to a metric."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from likewise._runtime.arrays import FloatArray
from likewise._runtime.validation import pluralize
from likewise.evaluation import effective_dimension
from likewise.plotting._metrics import linear_map
from likewise.plotting._style import COLORS, MUTED, SMALL_FONT_SIZE, axes_or_new, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LOWEST = 1e-12  # of the largest: what lies below is rounding
_FEW = 40  # directions that are drawn as points


def spectrum(metric: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the eigenvalues of M, from the largest.

    A steep spectrum ignores most directions, a flat one is nearly the Euclidean distance. The line
    marks `likewise.evaluation.effective_dimension`. Eigenvalues below 1e-12 of the largest are
    rounding: such directions are empty circles at the bottom.

    Parameters
    ----------
    metric : fitted metric learner or array-like of shape (n_components, n_features)
        A linear metric, something with one in `metric_`, a pipeline that ends in one, or L itself.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from likewise.plotting import spectrum
    >>> ax = spectrum([[3.0, 0.0], [0.0, 1.0]])
    >>> ax.lines[0].get_ydata().round(6)
    array([9., 1.])
    """
    L = linear_map(metric, "spectrum")
    eigenvalues = metric_eigenvalues(L)
    with style():
        ax = axes_or_new(ax)
        draw_spectrum(ax, eigenvalues, effective_dimension(L), L.shape[1])
    return ax


def metric_eigenvalues(L: FloatArray) -> FloatArray:
    """Return the eigenvalues of M in descending order, without those that are rounding."""
    values = np.asarray(np.linalg.svd(L, compute_uv=False) ** 2, dtype=np.float64)
    return np.asarray(values[values > _LOWEST * values.max(initial=0.0)])


def draw_spectrum(ax: Axes, eigenvalues: FloatArray, dimension: int, n_features: int) -> None:
    """Draw eigenvalues in descending order, and where the effective dimension ends."""
    marker = "o" if len(eigenvalues) <= _FEW else None
    numbers = np.arange(1, len(eigenvalues) + 1)
    ax.plot(numbers, eigenvalues, color=COLORS[0], marker=marker, markersize=4)
    if len(eigenvalues) and eigenvalues[-1] < 0.1 * eigenvalues[0]:
        ax.set_yscale("log")
    else:
        ax.set_ylim(bottom=0)
        ax.set_ylim(top=1.08 * eigenvalues.max(initial=0.0) or 1.0)
    ax.axvline(dimension + 0.5, color=MUTED, linestyle="--", linewidth=1)
    ax.set_xlim(0, max(n_features, len(eigenvalues)) + 1)
    if len(eigenvalues) < n_features:
        none = np.arange(len(eigenvalues) + 1, n_features + 1)
        ax.plot(
            none,
            np.zeros(len(none)),
            transform=ax.get_xaxis_transform(),  # zero has no place on a logarithmic axis
            linestyle="none" if n_features <= _FEW else "-",
            marker="o" if n_features <= _FEW else None,
            markersize=4,
            color=MUTED,
            markerfacecolor="none",
            clip_on=False,
            gid="zero",
        )
    ax.annotate(
        pluralize(dimension, "direction"),
        (dimension + 0.5, 0.96),
        xycoords=("data", "axes fraction"),
        xytext=(-4, 0) if dimension > 0.6 * n_features else (4, 0),
        textcoords="offset points",
        ha="right" if dimension > 0.6 * n_features else "left",
        va="top",
        color=MUTED,
        fontsize=SMALL_FONT_SIZE,
    )
    ax.set_xlabel("direction, in the order of weight")
    ax.set_ylabel("eigenvalue of M")
    ax.set_title(f"{dimension} of {pluralize(n_features, 'direction')} matter")
