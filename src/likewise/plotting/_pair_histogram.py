"""Distances of same and different pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from likewise._runtime.arrays import BoolArray, FloatArray
from likewise._runtime.validation import at_least, check_parameters, either, non_negative, none
from likewise.plotting._style import COLORS, INK, SMALL_FONT_SIZE, axes_or_new, style
from likewise.statistics._pair_units import check_scored_pairs

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class PairHistogram:
    """Shares of the same, and of the different, pairs in bins of the distance."""

    edges: FloatArray
    same: FloatArray
    different: FloatArray


def pair_histogram(
    distance: ArrayLike,
    same: ArrayLike,
    *,
    threshold: float | None = None,
    n_bins: int = 40,
    ax: Axes | None = None,
) -> Axes:
    """Draw how the distances of same and of different pairs are distributed.

    The less the two overlap, the better the metric verifies. Bars are shares of the pairs of their
    own kind, so that kinds of different numbers can be compared.

    Parameters
    ----------
    distance : array-like of shape (n_pairs,)
        Large means different; `pair_distance` of any metric.
    same : array-like of bool of shape (n_pairs,)
        True for pairs that belong together. Both kinds are needed.
    threshold : float, optional
        Pairs of at most this distance are accepted as *same*; marked by a line, with the shares
        of both kinds that are decided wrongly.
    n_bins : int, default=40
        Number of bins from 0 to the largest distance.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from likewise.plotting import pair_histogram
    >>> ax = pair_histogram([0.1, 0.2, 0.3, 0.4], [True, True, False, True], threshold=0.25)
    >>> ax.get_title()
    'FMR 0.00%, FNMR 33.33%'
    """
    check_parameters(
        "pair_histogram",
        {"threshold": threshold, "n_bins": n_bins},
        {"threshold": either(none(), non_negative()), "n_bins": at_least(1)},
    )
    distances, is_same = check_scored_pairs(distance, same, "distance")
    with style():
        ax = axes_or_new(ax)
        draw_pair_histogram(ax, count_pairs(distances, is_same, n_bins), threshold)
        if threshold is not None:
            accepted = distances <= threshold
            fmr, fnmr = accepted[~is_same].mean(), (~accepted[is_same]).mean()
            ax.set_title(f"FMR {fmr:.2%}, FNMR {fnmr:.2%}", pad=24)
    return ax


def count_pairs(distances: FloatArray, same: BoolArray, n_bins: int) -> PairHistogram:
    """Return the histograms of both kinds over the same bins."""
    low = min(0.0, float(distances.min()))
    edges = np.linspace(low, float(distances.max()) or 1.0, n_bins + 1)
    counts = [np.histogram(distances[kind], edges)[0] for kind in (same, ~same)]
    shares = [count / count.sum() for count in counts]
    return PairHistogram(edges, *shares)


def draw_pair_histogram(ax: Axes, found: PairHistogram, threshold: float | None) -> None:
    """Draw both histograms; the different pairs are hatched as well as of another colour."""
    ax.stairs(
        found.same,
        found.edges,
        fill=True,
        facecolor=COLORS[0],
        alpha=0.45,
        label="same pairs",
    )
    ax.stairs(found.same, found.edges, color=COLORS[0], linewidth=1.2)
    ax.stairs(
        found.different,
        found.edges,
        color=COLORS[1],
        hatch="////",
        fill=False,
        linewidth=1.2,
        label="different pairs",
    )
    right = threshold is not None and threshold > (found.edges[0] + found.edges[-1]) / 2
    if threshold is not None:
        ax.axvline(threshold, color=INK, linewidth=1.2)
        ax.annotate(
            f"threshold {threshold:.4g}",
            (threshold, 0.98),
            xycoords=("data", "axes fraction"),
            xytext=(-4 if right else 4, 0),
            textcoords="offset points",
            ha="right" if right else "left",
            va="top",
            color=INK,
            fontsize=SMALL_FONT_SIZE,
        )
    ax.margins(x=0.01)
    ax.set_ylim(0, 1.12 * max(found.same.max(), found.different.max()))
    ax.set_xlabel("distance")
    ax.set_ylabel("share of the pairs of its kind")
    ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, borderaxespad=0.2)
