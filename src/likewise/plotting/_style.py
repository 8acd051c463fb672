"""The look of all figures."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, MUTED, ACCENT = "#20303f", "#5b6b7a", "#1f4e79"

# Okabe and Ito's colours, which people with colour blindness can tell apart; yellow is left out,
# since it is hardly visible on white.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")

FONT_SIZE, SMALL_FONT_SIZE = 10.0, 8.0


def require_matplotlib() -> None:
    """Raise an ImportError that names the extra if matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(
            'figures need matplotlib, which comes with pip install "likewise[plot]"'
        ) from error


@contextmanager
def style() -> Iterator[None]:
    """Draw what is drawn inside in the common look; the user's settings stay as they are."""
    require_matplotlib()
    import matplotlib
    from cycler import cycler

    settings: dict[Any, Any] = {
        "axes.edgecolor": MUTED,
        "axes.grid": True,
        "axes.labelcolor": INK,
        "axes.labelsize": FONT_SIZE,
        "axes.prop_cycle": cycler(color=COLORS),
        "axes.spines.right": False,
        "axes.spines.top": False,
        "axes.titlesize": FONT_SIZE,
        "axes.titleweight": "bold",
        "font.size": FONT_SIZE,
        "grid.alpha": 0.5,
        "grid.color": "#c9d3dc",
        "grid.linewidth": 0.6,
        "legend.fontsize": SMALL_FONT_SIZE,
        "legend.frameon": False,
        "lines.linewidth": 1.5,
        "text.color": INK,
        "xtick.color": MUTED,
        "xtick.labelsize": SMALL_FONT_SIZE,
        "ytick.color": MUTED,
        "ytick.labelsize": SMALL_FONT_SIZE,
    }
    with matplotlib.rc_context(settings):
        yield


def axes_or_new(ax: Axes | None, width: float = 5.5, height: float = 3.6) -> Axes:
    """Return `ax`, or new axes in a figure of this size in inches."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    _, new = plt.subplots(figsize=(width, height), layout="constrained")
    return new
