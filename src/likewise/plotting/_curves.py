"""What the figures of verification curves share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from likewise._runtime.arrays import FloatArray
from likewise._runtime.text import quote
from likewise.plotting._style import COLORS, axes_or_new, label_text, style
from likewise.statistics import VerificationBand, VerificationCurve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LINE_STYLES = ("-", "--", "-.", ":")
BAND_ALPHA = 0.18


class Drawn(NamedTuple):
    """A curve, and how its line and its band look."""

    curve: VerificationCurve
    line: dict[str, Any]
    band: dict[str, Any]


@contextmanager
def curve_axes(
    curves: Any,
    owner: str,
    ax: Axes | None,
    summary: Callable[[VerificationCurve], str],
    *,
    ylabel: str,
    legend: Literal["best", "lower right"],
) -> Iterator[tuple[Axes, list[Drawn]]]:
    """Give axes for curves against the false match rate, and label them at the end.

    Parameters
    ----------
    curves, ax
        As of `roc`.
    owner : str
        The function that was called, for errors.
    summary : callable
        The number of a curve that stands in the legend, or in the title of a single one.
    ylabel, legend : str
        What the second axis shows, and the place of the legend.
    """
    named = named_curves(curves, owner)
    with style():
        ax = axes_or_new(ax, width=4.6, height=4.2)
        drawn = []
        for number, (name, curve) in enumerate(named.items()):
            color = COLORS[number % len(COLORS)]
            line = {"color": color, "linestyle": LINE_STYLES[number % len(LINE_STYLES)]}
            line["label"] = f"{label_text(name)}, {summary(curve)}"
            drawn.append(Drawn(curve, line, {"color": color, "alpha": BAND_ALPHA, "linewidth": 0}))
        yield ax, drawn
        ax.set_xlabel("false match rate: different, but accepted")
        ax.set_ylabel(ylabel)
        if len(named) > 1 or "" not in named:
            ax.legend(loc=legend)
        else:
            ax.set_title(summary(named[""]))


def band_outline(band: VerificationBand) -> tuple[FloatArray, FloatArray]:
    """Return the false match and false non-match rates around a band.

    The outline goes along the worse limits, towards larger thresholds, and back along the better
    ones. A rate rises or falls with the threshold, and its limits are made to do so, too: each is
    the loosest one of all thresholds that imply it. Else the outline would cross itself.
    """
    fmr_upper = np.maximum.accumulate(band.fmr_upper)
    fmr_lower = np.minimum.accumulate(band.fmr_lower[::-1])[::-1]
    fnmr_upper = np.maximum.accumulate(band.fnmr_upper[::-1])[::-1]
    fnmr_lower = np.minimum.accumulate(band.fnmr_lower)
    # At both ends, the corner of both limits closes the outline.
    fmr = np.concatenate([fmr_lower[:1], fmr_upper, fmr_upper[-1:], fmr_lower[::-1]])
    fnmr = np.concatenate([fnmr_upper[:1], fnmr_upper, fnmr_lower[-1:], fnmr_lower[::-1]])
    return fmr, fnmr


def named_curves(curves: Any, owner: str) -> dict[str, VerificationCurve]:
    """Return curves by name: one, which needs no name, or a mapping."""
    if isinstance(curves, VerificationCurve):
        return {"": curves}
    if not isinstance(curves, Mapping) or not curves:
        raise ValueError(
            f"curves is {quote(curves)}, but {owner} needs what verification_curve returns, or a "
            "dict of name to such curves."
        )
    for name, curve in curves.items():
        if not isinstance(curve, VerificationCurve):
            raise ValueError(
                f"curves[{quote(name)}] is a {type(curve).__name__}, but {owner} needs what "
                "verification_curve returns."
            )
    return {str(name): curve for name, curve in curves.items()}
