"""matplotlib figures as SVG that is part of a page: its colours follow the page's theme."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from likewise.plotting._embedding import OTHERS
from likewise.plotting._style import COLORS, INK, MUTED, POINT_COLORS, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GRID = "#c9d3dc"
_RASTER_DPI = 110  # of the points of a figure with too many of them for SVG
_VARIABLES = {
    INK: "--ink",
    MUTED: "--muted",
    GRID: "--grid",
    OTHERS: "--others",
    POINT_COLORS[6]: "--c6",
    **{color: f"--c{number}" for number, color in enumerate(COLORS[:6])},
}


@contextmanager
def svg_style() -> Iterator[None]:
    """Draw as in all figures, with text that stays text and the same bits every time."""
    import matplotlib

    settings: dict[Any, Any] = {
        "svg.fonttype": "none",
        "svg.hashsalt": "likewise",
        "savefig.dpi": _RASTER_DPI,
        "font.family": ["DejaVu Sans"],
    }
    with style(), matplotlib.rc_context(settings), warnings.catch_warnings():
        # The browser has other fonts than matplotlib for the text of labels.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
        yield


def to_svg(figure: Figure, prefix: str, alt: str) -> tuple[str, int]:
    """Return a figure as an SVG element, and its width in CSS pixels.

    Parameters
    ----------
    figure : matplotlib Figure
        Closed afterwards.
    prefix : str
        Begins all ids: those of several figures of a page must differ.
    alt : str
        What the figure shows, for people who do not see it; already escaped for an attribute.
    """
    import matplotlib.pyplot as plt

    stream = io.StringIO()
    figure.savefig(stream, format="svg", transparent=True, metadata={"Date": None})
    width = round(figure.get_figwidth() * 96)
    plt.close(figure)
    text = stream.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<style type=\"text/css\">.*?</style>", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = _with_own_ids(text, prefix)
    for color, variable in _VARIABLES.items():
        text = text.replace(color, f"var({variable})")
    text = re.sub(r"font: ([\d.]+px) [^;\"]*", r"font-size: \1", text)
    text = re.sub(r"\s*\n\s*", "\n", text)
    opening = text[: text.index(">") + 1]
    view_box = re.search(r'viewBox="[^"]*"', opening)
    assert view_box is not None
    opening_tag = (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'{view_box[0]} role="img" aria-label="{alt}" focusable="false">'
    )
    return opening_tag + text[len(opening) :].strip(), width


def _with_own_ids(text: str, prefix: str) -> str:
    """Drop ids that nothing refers to, and begin the others with `prefix`."""
    used = set(re.findall(r"url\(#([^)]+)\)", text)) | set(re.findall(r'href="#([^"]+)"', text))

    def renamed(match: re.Match[str]) -> str:
        return f' id="{prefix}-{match[1]}"' if match[1] in used else ""

    # Only within tags: text of the user has its quotes escaped, or stands outside of tags.
    text = re.sub(
        r"<[^>]*>", lambda tag: re.sub(r' id="([^"]*)"', renamed, tag[0]), text, flags=re.DOTALL
    )
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", text)
    return re.sub(r'href="#([^"]+)"', rf'href="#{prefix}-\1"', text)
