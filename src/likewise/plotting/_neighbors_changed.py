"""Whose neighbours a metric changes, and for the better."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from likewise._runtime.arrays import IndexArray
from likewise._runtime.text import quote
from likewise.evaluation import NeighborChanges
from likewise.plotting._style import COLORS, INK, MUTED, axes_or_new, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BETTER, _WORSE, _EQUAL = COLORS[0], COLORS[1], MUTED


def neighbors_changed(changes: NeighborChanges, *, ax: Axes | None = None) -> Axes:
    """Draw how many neighbours of its own class each test row has, before and after.

    A cell has the number of test rows with that number of neighbours of their own class under the
    one metric (across) and the other (upwards). Above the diagonal rows have gained some, below it
    they have lost some; the more rows, the darker the cell.

    Parameters
    ----------
    changes : NeighborChanges
        What `likewise.evaluation.neighbor_changes` returns.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import likewise as lw
    >>> from likewise.evaluation import neighbor_changes
    >>> from likewise.plotting import neighbors_changed
    >>> wine = lw.datasets.load("wine")
    >>> X, y, X_new, y_new = wine.X[::2], wine.y[::2], wine.X[1::2], wine.y[1::2]
    >>> ax = neighbors_changed(neighbor_changes(X, y, X_new, y_new, metric=lw.FDA().fit(X, y)))
    >>> ax.get_title()
    '53 rows gain neighbours of their class, 0 lose some'
    """
    if not isinstance(changes, NeighborChanges):
        raise ValueError(
            f"changes is {quote(changes)}, but what neighbor_changes returns is needed."
        )
    with style():
        ax = axes_or_new(ax, width=4.6, height=4.4)
        draw_neighbors_changed(ax, changes.counts)
    return ax


def draw_neighbors_changed(ax: Axes, counts: IndexArray) -> None:
    """Draw a table of test rows by right neighbours before (first index) and after (second)."""
    from matplotlib.patches import Rectangle

    k = len(counts) - 1
    before, after = np.nonzero(counts)
    largest = (counts - np.diag(counts.diagonal())).max(initial=1)
    for x, y in zip(before.tolist(), after.tolist(), strict=True):
        number = int(counts[x, y])
        color = _EQUAL if x == y else _BETTER if y > x else _WORSE
        strength = 0.15 if x == y else 0.1 + 0.6 * min(1.0, number / largest)
        ax.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, color=color, alpha=strength, lw=0))
        ax.annotate(str(number), (x, y), ha="center", va="center", color=INK)
    ticks = np.arange(k + 1) if k <= 10 else np.linspace(0, k, 6).round().astype(int)
    ax.set_xticks(ticks)
    ax.set_yticks(ticks)
    ax.set(xlim=(-0.5, k + 0.5), ylim=(-0.5, k + 0.5), aspect="equal")
    ax.grid(visible=False)
    ax.set_xlabel("neighbours of the own class, before")
    ax.set_ylabel("after")
    gained, lost = int(np.triu(counts, 1).sum()), int(np.tril(counts, -1).sum())
    ax.set_title(f"{gained} rows gain neighbours of their class, {lost} lose some")
