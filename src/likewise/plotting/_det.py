"""DET curves of verification."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri

from likewise._runtime.arrays import BoolArray, FloatArray
from likewise.plotting._curves import band_outline, curve_axes
from likewise.plotting._style import MUTED
from likewise.statistics import VerificationCurve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TICKS = np.array([1e-5, 1e-4, 1e-3, 0.01, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.95])


def det(
    curves: VerificationCurve | Mapping[str, VerificationCurve], *, ax: Axes | None = None
) -> Axes:
    """Draw both error rates against each other, on axes that spread out small rates.

    The axes are quantiles of the normal distribution, on which the curve of normally distributed
    scores is a straight line. Rates of exactly 0 and 1 are not on such axes and are left out. The
    dot is the equal error rate. A curve with a `band` gets it, as in `roc`.

    Parameters
    ----------
    curves : VerificationCurve or mapping of str to VerificationCurve
        What `likewise.evaluation.verification_curve` returns, or several by name.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from likewise.evaluation import verification_curve
    >>> from likewise.plotting import det
    >>> curve = verification_curve(
    ...     [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [True, True, False, True, False, False]
    ... )
    >>> ax = det(curve)
    >>> ax.get_title()
    'EER 33.33%'
    """
    smallest = 1.0
    with curve_axes(
        curves,
        "det",
        ax,
        lambda curve: f"EER {curve.eer:.2%}",
        ylabel="false non-match rate: same, but rejected",
        legend="best",
    ) as (ax, drawn):
        for curve, line, band_look in drawn:
            _fill_band(ax, curve, band_look)
            inside = _strictly_inside(curve.fmr) & _strictly_inside(curve.fnmr)
            ax.plot(ndtri(curve.fmr[inside]), ndtri(curve.fnmr[inside]), **line)
            if 0 < curve.eer < 1:
                dot = [ndtri(curve.eer)]
                ax.plot(dot, dot, "o", color=line["color"], markersize=5)
            smallest = min(smallest, *curve.fmr[inside], *curve.fnmr[inside], curve.eer or 1.0)
        low = float(ndtri(max(1e-5, min(0.4, smallest / 1.5))))
        highest = max(one.curve.eer for one in drawn)
        ends = (low, float(ndtri(min(0.99, max(0.6, 1.2 * highest)))))
        ax.plot(ends, ends, color=MUTED, linewidth=0.8, linestyle=":", gid="equal")
        shown = _TICKS[(ndtri(_TICKS) >= low) & (ndtri(_TICKS) <= ends[1])]
        names = [f"{100 * tick:g}%" for tick in shown]
        ax.set_xticks(ndtri(shown), names)
        ax.set_yticks(ndtri(shown), names)
        ax.set(xlim=ends, ylim=ends, aspect="equal")
    return ax


def _fill_band(ax: Axes, curve: VerificationCurve, look: dict[str, Any]) -> None:
    band = curve.band
    if band is None:
        return
    place = np.searchsorted(curve.thresholds, band.thresholds, side="right") - 1
    drawn = _strictly_inside(curve.fmr[place]) & _strictly_inside(curve.fnmr[place])
    if not drawn.any():
        return
    columns = {name: values[drawn] for name, values in vars(band).items() if name != "confidence"}
    fmr, fnmr = band_outline(replace(band, **columns))
    # A limit of 0 or 1 is beyond any axis; the edge of the figure cuts the band off.
    least = 0.1 / max(curve.n_same, curve.n_different)
    ax.fill(ndtri(fmr.clip(least, 1 - least)), ndtri(fnmr.clip(least, 1 - least)), **look)


def _strictly_inside(rates: FloatArray) -> BoolArray:
    return (rates > 0) & (rates < 1)
