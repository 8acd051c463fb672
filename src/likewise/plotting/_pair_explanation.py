"""A diagram of which features keep two rows apart."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from likewise._runtime.validation import at_least, check_parameters, pluralize
from likewise.base.pair_explanation import PairExplanation
from likewise.plotting._style import (
    COLORS,
    INK,
    MUTED,
    SMALL_FONT_SIZE,
    axes_or_new,
    label_text,
    style,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_APART, _TOGETHER = COLORS[0], COLORS[1]
_BAR = 0.28  # inches of a new figure for each bar
_MARGIN = 0.2  # of the length of the axis, for the factors


def pair_explanation_diagram(
    explanation: PairExplanation, *, n_features: int = 10, ax: Axes | None = None
) -> Axes:
    """Draw how much each feature contributes to the squared distance of two rows.

    The features that contribute most are at the top; what the others contribute together is the
    last bar. With a threshold, a factor beside a bar says by how much the difference of this
    feature alone would have to be multiplied to reach it.

    Parameters
    ----------
    explanation : PairExplanation
        What `explain_pair` of a metric learner returns.
    n_features : int, default=10
        The number of features that are shown.
    ax : matplotlib Axes, optional
        Where to draw; a new figure of a suitable size by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import likewise as lw
    >>> from likewise.plotting import pair_explanation_diagram
    >>> metric = lw.Euclidean().fit([[0.0, 0.0]])
    >>> explanation = metric.explain_pair([0.0, 3.0], [4.0, 0.0], threshold=4.5)
    >>> ax = pair_explanation_diagram(explanation)
    >>> ax.get_title()
    'distance 5, threshold 4.5: different'
    """
    check_parameters(
        "pair_explanation_diagram", {"n_features": n_features}, {"n_features": at_least(1)}
    )
    if not isinstance(explanation, PairExplanation):
        raise ValueError(
            f"explanation is a {type(explanation).__name__}, but what explain_pair returns is "
            "needed."
        )
    shown = explanation.largest_features(n_features)
    names = [label_text(explanation.feature_names[i]) for i in shown]
    parts = explanation.feature_contributions[shown].tolist()
    factors = [math.nan] * len(parts)
    if explanation.factors is not None:
        factors = explanation.factors[shown].tolist()
    if rest := len(explanation.feature_names) - len(shown):
        names.append(pluralize(rest, "other feature"))
        parts.append(explanation.squared_distance - sum(parts))
        factors.append(math.nan)
    with style():
        ax = axes_or_new(ax, height=1.1 + _BAR * len(parts))
        places = range(len(parts))
        ax.barh(places, parts, height=0.7, color=[_TOGETHER if p < 0 else _APART for p in parts])
        ax.axvline(0, color=INK, linewidth=1)
        ax.set_yticks(places, names, color=INK)
        ax.set_ylim(len(parts) - 0.4, -0.6)
        ax.grid(visible=False, axis="y")
        ax.set_xlabel("contribution to the squared distance")
        ax.set_title(explanation.summary)
        labelled = [
            (place, part, factor)
            for place, part, factor in zip(places, parts, factors, strict=True)
            if not math.isnan(factor)
        ]
        for place, part, factor in labelled:
            _draw_factor(ax, place, part, factor)
        # The axis ends at the longest bar: factors need room beyond it.
        ax.margins(x=_MARGIN if labelled else 0.05)
    return ax


def _draw_factor(ax: Axes, place: int, part: float, factor: float) -> None:
    ax.annotate(
        f"× {factor:.3g}".replace("-", "−"),
        (part, place),
        xytext=(-4 if part < 0 else 4, 0),
        textcoords="offset points",
        ha="right" if part < 0 else "left",
        va="center",
        color=MUTED,
        fontsize=SMALL_FONT_SIZE,
    )
