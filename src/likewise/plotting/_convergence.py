"""How a fit converged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.pipeline import Pipeline

from likewise._runtime.arrays import FloatArray
from likewise._runtime.text import quote
from likewise._runtime.validation import check_parameters, one_of
from likewise.plotting._metrics import fitted_metric
from likewise.plotting._style import COLORS, axes_or_new, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STEEP = 30.0  # ratio of the largest to the smallest value from which the axis is logarithmic


@dataclass(frozen=True, eq=False)
class Record:
    """Objective, and bound if there is one, at some seconds or iterations of a fit."""

    at: FloatArray
    unit: str
    objective: FloatArray
    bound: FloatArray | None


def convergence(model: Any, *, against: str = "time", ax: Axes | None = None) -> Axes:
    """Draw objective and bound of a fit against time.

    The optimum is between the two, so that their distance is how much could still be gained. Not
    all methods have a bound; some only have one at the end, `duality_gap_`.

    Parameters
    ----------
    model : fitted estimator
        One with ``history_["objective"]``, something with such a metric in `metric_`, or a pipeline
        that ends in one.
    against : {"time", "iterations"}, default="time"
        What is across. The seconds of a fit are not part of its model file: a model that was loaded
        is drawn against iterations.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import likewise as lw
    >>> from likewise.plotting import convergence
    >>> wine = lw.datasets.load("wine")
    >>> ax = convergence(lw.LMNN().fit(wine.X, wine.y))
    >>> [line.get_label() for line in ax.lines], ax.get_xlabel()
    (['objective', 'lower bound'], 'seconds')
    """
    check_parameters("convergence", {"against": against}, {"against": one_of("time", "iterations")})
    record = fit_record(model, with_time=against == "time")
    if record is None:
        raise ValueError(
            f"model is {quote(model)}, but convergence needs a fitted estimator that recorded its "
            'objective, in history_["objective"].'
        )
    with style():
        ax = axes_or_new(ax)
        draw_convergence(ax, record)
    return ax


def fit_record(model: Any, *, with_time: bool = True) -> Record | None:
    """Return what a fit recorded of its objective; None if it recorded nothing."""
    if isinstance(model, Pipeline) or "history_" not in vars(model):
        model = fitted_metric(model)
    history = getattr(model, "history_", None)
    if not isinstance(history, dict) or "objective" not in history:
        return None
    objective = np.asarray(history["objective"], dtype=np.float64)
    if not len(objective):
        return None
    seconds = getattr(model, "_history_seconds", None)
    at = np.asarray(history.get("n_iter", np.arange(len(objective))), dtype=np.float64)
    unit = "iteration"
    if with_time and seconds is not None and len(seconds) == len(objective):
        at, unit = np.asarray(seconds, dtype=np.float64), "seconds"
    return Record(at, unit, objective, _bound(history, objective))


def _bound(history: dict[str, Any], objective: FloatArray) -> FloatArray | None:
    for name in ("lower_bound", "dual"):
        if name in history:
            return np.asarray(history[name], dtype=np.float64)
    if "gap" in history:  # relative to the objective
        gap = np.asarray(history["gap"], dtype=np.float64)
        return np.asarray(objective - gap * np.abs(objective))
    return None


def draw_convergence(ax: Axes, record: Record) -> None:
    """Draw the objective and the best bound so far."""
    few = len(record.at) <= 40
    ax.plot(
        record.at,
        record.objective,
        color=COLORS[0],
        marker="o" if few else None,
        markersize=4,
        label="objective",
    )
    shown = [record.objective]
    if record.bound is not None:
        best = np.maximum.accumulate(record.bound)
        ax.plot(
            record.at,
            best,
            color=COLORS[1],
            linestyle="--",
            marker="s" if few else None,
            markersize=4,
            label="lower bound",
        )
        # First bounds may be far below: the axis shows those of the second half.
        shown.append(best[len(best) // 2 :])
    values = np.concatenate(shown)
    low, high = float(values.min()), float(values.max())
    if low > 0 and high > _STEEP * low:
        ax.set_yscale("log")
        ax.set_ylim(low / 1.2, high * 1.2)
    else:
        margin = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
        ax.set_ylim(low - margin, high + margin)
    ax.set_xlabel("seconds" if record.unit == "seconds" else "iteration")
    ax.set_ylabel("objective")
    ax.legend(loc="best")
