"""Does more data help."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from likewise._runtime.arrays import FloatArray
from likewise._runtime.validation import as_float_array
from likewise.plotting._curves import BAND_ALPHA, LINE_STYLES
from likewise.plotting._style import COLORS, MARKERS, axes_or_new, label_text, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def learning_curve(
    sizes: ArrayLike,
    errors: ArrayLike | Mapping[str, ArrayLike],
    *,
    xlabel: str = "training rows",
    ylabel: str = "test error",
    ax: Axes | None = None,
) -> Axes:
    """Draw the error on held-out data against the amount of training data.

    The line is the mean of the repeats, and the band one standard deviation of them on either side.
    A curve that still falls at its end says that more data would help.

    Parameters
    ----------
    sizes : array-like of shape (n_sizes,)
        Numbers of training rows or pairs, ascending.
    errors : array-like of shape (n_sizes,) or (n_sizes, n_repeats), or mapping of str to such
        Errors at each size, of one method or of several by name. scikit-learn's `learning_curve`
        returns scores: give 1 less them.
    xlabel, ylabel : str
        What sizes and errors are.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from likewise.plotting import learning_curve
    >>> ax = learning_curve([10, 20, 40], {"RCA": [[0.3, 0.2], [0.2, 0.2], [0.1, 0.12]]})
    >>> ax.lines[0].get_ydata()
    array([0.25, 0.2 , 0.11])
    """
    numbers = as_float_array(sizes, "sizes")
    if numbers.ndim != 1 or not len(numbers) or not np.isfinite(numbers).all():
        raise ValueError(
            f"sizes has shape {numbers.shape}, but it must be a list of finite numbers."
        )
    if (np.diff(numbers) <= 0).any() or numbers[0] <= 0:
        raise ValueError("sizes must be positive and ascending, but they are not.")
    if isinstance(errors, Mapping):
        if not errors:
            raise ValueError("errors is empty, but at least one method is needed.")
        named = {str(k): _check_errors(v, f"errors[{k!r}]", numbers) for k, v in errors.items()}
    else:
        named = {"": _check_errors(errors, "errors", numbers)}
    with style():
        ax = axes_or_new(ax)
        for place, (name, found) in enumerate(named.items()):
            mean, spread = found.mean(axis=1), found.std(axis=1)
            color = COLORS[place % len(COLORS)]
            if found.shape[1] > 1:
                ax.fill_between(
                    numbers,
                    mean - spread,
                    mean + spread,
                    color=color,
                    alpha=BAND_ALPHA,
                    linewidth=0,
                )
            ax.plot(
                numbers,
                mean,
                color=color,
                marker=MARKERS[place % len(MARKERS)],
                linestyle=LINE_STYLES[place % len(LINE_STYLES)],
                markersize=5,
                label=label_text(name),
            )
        ax.set_ylim(bottom=min(0.0, ax.get_ylim()[0]))
        ax.set_xlim(left=0)
        ax.set_xlabel(xlabel)
        ax.set_ylabel(ylabel)
        if "" not in named:
            ax.legend(loc="best")
    return ax


def _check_errors(given: ArrayLike, name: str, sizes: FloatArray) -> FloatArray:
    found = as_float_array(given, name)
    if found.ndim == 1:
        found = found[:, None]
    if found.ndim != 2 or found.shape[0] != len(sizes) or not found.shape[1]:
        raise ValueError(
            f"{name} has shape {np.shape(given)}, but it must have one row for each of the "
            f"{len(sizes)} sizes."
        )
    if not np.isfinite(found).all():
        raise ValueError(f"{name} holds NaN or infinity, but only finite numbers are allowed.")
    return found
