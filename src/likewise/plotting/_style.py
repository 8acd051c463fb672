"""The look of all figures."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from likewise.base.pair_explanation import short_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, MUTED, ACCENT = "#20303f", "#5b6b7a", "#1f4e79"

# Okabe and Ito's colours, which people with colour blindness can tell apart; yellow is left out,
# since it is hardly visible on white.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")

# The same for points of classes; grey instead of black, which is hardly visible on a dark page.
POINT_COLORS = (*COLORS[:6], "#7f8c99")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")

FONT_SIZE, SMALL_FONT_SIZE = 10.0, 8.0


def point_color(place: int) -> str:
    """Return the colour of a class by its place; they repeat after the last one."""
    return POINT_COLORS[place % len(POINT_COLORS)]


def require_matplotlib() -> None:
    """Raise an ImportError that names the extra if matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(
            'figures need matplotlib, which comes with pip install "likewise[plot]"'
        ) from error


def visible(text: str) -> str:
    """Return text that matplotlib shows as it is, without reading formulas between dollar signs."""
    return text.replace("$", r"\$")


def label_text(name: object) -> str:
    """Return the name of a class, a feature or a method as a label: in one line and short."""
    return visible(short_name(str(name)))


@contextmanager
def style() -> Iterator[None]:
    """Draw what is drawn inside in the common look; the user's settings stay as they are."""
    require_matplotlib()
    import matplotlib
    from cycler import cycler

    settings: dict[Any, Any] = {
        "axes.axisbelow": True,
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
