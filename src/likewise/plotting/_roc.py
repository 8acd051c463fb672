"""ROC curves of verification."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from likewise.plotting._curves import band_outline, curve_axes
from likewise.plotting._style import MUTED
from likewise.statistics import VerificationCurve

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def roc(
    curves: VerificationCurve | Mapping[str, VerificationCurve], *, ax: Axes | None = None
) -> Axes:
    """Draw the share of same pairs that are accepted against that of different pairs.

    A curve with a `band` gets it: at each threshold both rates are within their limits, from the
    worse (more false matches, fewer true ones) to the better, with the band's confidence.

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
    >>> from likewise.plotting import roc
    >>> curve = verification_curve([0.1, 0.2, 0.3, 0.4], [True, False, True, False])
    >>> ax = roc(curve)
    >>> ax.get_title()
    'AUC 0.750'
    """
    with curve_axes(
        curves,
        "roc",
        ax,
        lambda curve: f"AUC {curve.auc:.3f}",
        ylabel="true match rate: same, and accepted",
        legend="lower right",
    ) as (ax, drawn):
        for curve, line, band_look in drawn:
            if curve.band is not None:
                fmr, fnmr = band_outline(curve.band)
                ax.fill(fmr, 1 - fnmr, **band_look)
            ax.plot(*curve.roc(), **line)
        ax.plot([0, 1], [0, 1], color=MUTED, linewidth=0.8, linestyle=":", gid="chance")
        ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")
    return ax
