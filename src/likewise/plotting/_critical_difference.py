"""Demšar's diagram of average ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from likewise._runtime.arrays import BoolArray, FloatArray
from likewise._runtime.validation import as_float_array, check_parameters, strictly_between
from likewise.plotting._style import (
    ACCENT,
    FONT_SIZE,
    INK,
    MUTED,
    SMALL_FONT_SIZE,
    axes_or_new,
    style,
    visible,
)
from likewise.statistics import critical_difference as nemenyi_difference
from likewise.statistics.ranks import check_average_ranks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Heights are in lines of names, widths in ranks, sizes of a new figure in inches.
_LINE = 1.9 * FONT_SIZE / 72
_CHARACTER = 0.6 * FONT_SIZE / 72
_AXIS = 4.5
_BAR = 0.4


def critical_difference(
    ranks: ArrayLike,
    names: Sequence[str],
    n_datasets: int,
    *,
    alpha: float = 0.05,
    p_values: ArrayLike | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw average ranks of methods, and join those whose difference is not significant.

    The best method is at the left. A bar joins methods none of which differ significantly; methods
    without a common bar do. The length of the critical difference is shown above the axis.

    Parameters
    ----------
    ranks : array-like of shape (n_methods,)
        As of `likewise.statistics.average_ranks`.
    names : sequence of str
        The methods' names.
    n_datasets : int
        The number of data sets of which the ranks are the average.
    alpha : float, default=0.05
        The level of the tests.
    p_values : array-like of shape (n_methods, n_methods), optional
        Adjusted p-values for each pair of methods, such as Holm's; Nemenyi's by default. With
        others there is no common critical difference, and none is shown.
    ax : matplotlib Axes, optional
        Where to draw; a new figure of a suitable size by default.

    Returns
    -------
    matplotlib Axes

    References
    ----------
    J. Demšar, *Statistical comparisons of classifiers over multiple data sets*, JMLR 7, 2006.

    Examples
    --------
    >>> from likewise.plotting import critical_difference
    >>> ax = critical_difference(
    ...     [3.143, 2.000, 2.893, 1.964], ["C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"], 14, alpha=0.1
    ... )
    >>> ax.figure.savefig("ranks.svg")  # doctest: +SKIP
    """
    check_parameters("critical_difference", {"alpha": alpha}, {"alpha": strictly_between(0, 1)})
    values = check_average_ranks(ranks)
    n_methods = len(values)
    if len(names) != n_methods:
        raise ValueError(f"names has {len(names)} entries, but there are {n_methods} ranks.")
    difference = nemenyi_difference(n_methods, n_datasets, alpha=alpha)
    if p_values is None:
        alike = np.abs(values[:, None] - values) < difference
    else:
        alike = _check_p_values(p_values, n_methods) > alpha
        difference = 0.0
    order = np.argsort(values, kind="stable")
    values, alike = values[order], alike[np.ix_(order, order)]
    stub = 0.12 * (n_methods - 1)
    left, right = 1 - stub, max(n_methods, 1 + difference) + stub
    bars = _bars(alike)
    levels = _levels(bars, values, gap=stub / 4)
    top = -3.0 if difference else -1.4
    first_name = _BAR * (max(levels, default=-1) + 1) + 1.2
    bottom = first_name + (n_methods + 1) // 2 - 0.4
    with style():
        ax = axes_or_new(
            ax,
            width=_AXIS + 2 * _CHARACTER * max(map(len, names)),
            height=_LINE * (bottom - top),
        )
        ax.set_axis_off()
        ax.set(xlim=(left, right), ylim=(bottom, top))
        _draw_axis(ax, n_methods)
        if difference:
            _draw_difference(ax, difference, f"critical difference {difference:.2f}, α = {alpha:g}")
        n_left = (n_methods + 1) // 2
        for place, method in enumerate(order):
            at_left = place < n_left
            line = place if at_left else n_methods - 1 - place
            _draw_method(
                ax,
                visible(str(names[method])),
                values[place],
                first_name + line,
                left if at_left else right,
                at_left,
            )
        for (first, last), level in zip(bars, levels, strict=True):
            overhang = stub / 10
            ax.plot(
                [values[first] - overhang, values[last] + overhang],
                [_BAR * (level + 1)] * 2,
                color=ACCENT,
                linewidth=3,
                solid_capstyle="butt",
                gid="bar",
            )
    return ax


def _draw_axis(ax: Axes, n_methods: int) -> None:
    ax.plot([1, n_methods], [0, 0], color=INK, linewidth=1)
    for rank in range(1, n_methods + 1):
        ax.plot([rank, rank], [0, -0.25], color=INK, linewidth=1)
        ax.text(
            rank,
            -0.4,
            str(rank),
            ha="center",
            va="bottom",
            color=MUTED,
            fontsize=SMALL_FONT_SIZE,
        )


def _draw_difference(ax: Axes, difference: float, label: str) -> None:
    ax.plot([1, 1 + difference], [-1.7, -1.7], color=INK, linewidth=1, gid="difference")
    for end in (1, 1 + difference):
        ax.plot([end, end], [-1.85, -1.55], color=INK, linewidth=1)
    ax.text(1, -2.0, label, ha="left", va="bottom", color=INK, fontsize=SMALL_FONT_SIZE)


def _draw_method(ax: Axes, name: str, rank: float, y: float, edge: float, at_left: bool) -> None:
    ax.plot([rank, rank, edge], [0, y, y], color=MUTED, linewidth=0.8)
    outwards, inwards = ("right", "left") if at_left else ("left", "right")
    ax.annotate(
        name,
        (edge, y),
        xytext=(-4 if at_left else 4, 0),
        textcoords="offset points",
        ha=outwards,
        va="center",
        color=INK,
        annotation_clip=False,
    )
    ax.annotate(
        f"{rank:.2f}",
        (edge, y),
        xytext=(0, 1.5),
        textcoords="offset points",
        ha=inwards,
        va="bottom",
        color=MUTED,
        fontsize=SMALL_FONT_SIZE,
        annotation_clip=False,
    )


def _check_p_values(p_values: ArrayLike, n_methods: int) -> FloatArray:
    values = as_float_array(p_values, "p_values")
    if values.shape != (n_methods, n_methods):
        raise ValueError(
            f"p_values has shape {values.shape}, but it must have a row and a column for each of "
            f"{n_methods} methods."
        )
    if np.isnan(values).any() or not np.array_equal(values, values.T):
        raise ValueError("p_values must be a symmetric matrix with a number for every pair.")
    return values


def _bars(alike: BoolArray) -> list[tuple[int, int]]:
    """Return the first and last method of each maximal run of methods that are all alike."""
    n_methods, bars, reached = len(alike), [], 0
    for first in range(n_methods):
        last = first
        while last + 1 < n_methods and alike[first : last + 1, last + 1].all():
            last += 1
        if last > first and last > reached:
            bars.append((first, last))
            reached = last
    return bars


def _levels(bars: list[tuple[int, int]], ranks: FloatArray, gap: float) -> list[int]:
    """Return the height of each bar such that bars at the same height are `gap` apart."""
    ends: list[float] = []
    levels = []
    for first, last in bars:
        free = [level for level, end in enumerate(ends) if ranks[first] > end + gap]
        level = free[0] if free else len(ends)
        ends[level : level + 1] = [float(ranks[last])]
        levels.append(level)
    return levels
