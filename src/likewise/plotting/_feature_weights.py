"""Which features a distance is made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise._runtime.arrays import FloatArray
from likewise._runtime.validation import (
    TableLike,
    as_float_array,
    at_least,
    check_finite,
    check_parameters,
    pluralize,
)
from likewise.plotting._metrics import feature_labels, linear_map
from likewise.plotting._style import COLORS, INK, axes_or_new, label_text, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BAR = 0.26  # inches of a new figure for each bar


def feature_weights(
    metric: Any,
    X: TableLike | None = None,
    *,
    n_features: int = 20,
    feature_names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    r"""Draw which share of the squared distances between rows is due to each feature.

    Two random rows differ by v, and their squared distance is the sum of :math:`v_i (Mv)_i` over
    the features (see `explain_pair`). Its mean is :math:`2 (M \Sigma)_{ii}` with the covariance
    :math:`\Sigma` of X; the bars are its shares of the sum. A negative share is that of a feature
    which, correlated with others, brings rows closer together. Without X, features count as
    uncorrelated and of equal variance: the share is :math:`M_{ii}` of the trace of M.

    Parameters
    ----------
    metric : fitted metric learner or array-like of shape (n_components, n_features)
        A linear metric, something with one in `metric_`, a pipeline that ends in one, or L itself.
    X : array-like of shape (n_samples, n_features), optional
        Rows, as the metric takes them: those of a pipeline's last step, if it is one.
    n_features : int, default=20
        The number of features that are shown.
    feature_names : sequence of str, optional
        Names of the features; by default those of the table that was fitted, else x0, x1, …
    ax : matplotlib Axes, optional
        Where to draw; a new figure of a suitable size by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from likewise.plotting import feature_weights
    >>> ax = feature_weights([[3.0, 0.0], [0.0, 1.0]], feature_names=["length", "width"])
    >>> [round(float(bar.get_width()), 6) for bar in ax.patches]
    [0.9, 0.1]
    """
    check_parameters("feature_weights", {"n_features": n_features}, {"n_features": at_least(1)})
    L = linear_map(metric, "feature_weights")
    names = feature_labels(metric, L.shape[1], feature_names)
    shares = feature_shares(L, None if X is None else as_float_array(X, "X"))
    with style():
        ax = axes_or_new(ax, height=1.1 + _BAR * min(len(shares), n_features + 1))
        draw_feature_weights(ax, shares, names, n_features)
    return ax


def feature_shares(L: FloatArray, X: FloatArray | None) -> FloatArray:
    """Return the share of each feature in the mean squared distance of two rows; 0 if that is."""
    scaled = L / (np.abs(L).max(initial=0.0) or 1.0)
    if X is None:
        parts = (scaled**2).sum(axis=0)
    else:
        if X.ndim != 2 or X.shape[1] != L.shape[1] or len(X) < 2:
            raise ValueError(
                f"X has shape {X.shape}, but at least two rows of {L.shape[1]} features are needed."
            )
        check_finite(X, "X")
        centred = X - X.mean(axis=0)
        # (MΣ)_ii = Σ_k L_ki (LΣ)_ki, and LΣ = (XLᵀ)ᵀ X / n: no matrix of all features is needed.
        parts = (scaled * ((centred @ scaled.T).T @ centred)).sum(axis=0)
    total = float(parts.sum())
    shares: FloatArray = parts / total if total > 0 else np.zeros_like(parts)
    return shares


def largest_shares(
    shares: FloatArray, names: Sequence[str], n_features: int
) -> list[tuple[str, float]]:
    """Return names and shares of the features with the largest shares, and of all others."""
    order = np.argsort(-np.abs(shares), kind="stable")[:n_features]
    shown = [(names[i], float(shares[i])) for i in order]
    if rest := len(shares) - len(shown):
        others = float(shares.sum() - sum(share for _, share in shown))
        shown.append((pluralize(rest, "other feature"), others))
    return shown


def draw_feature_weights(
    ax: Axes, shares: FloatArray, names: Sequence[str], n_features: int, *, others: bool = True
) -> None:
    """Draw the largest shares, and that of all others as the last bar."""
    shown = largest_shares(shares, names, n_features)
    shown = shown if others else shown[:n_features]
    parts = [part for _, part in shown]
    places = range(len(shown))
    ax.barh(places, parts, height=0.7, color=[COLORS[1 if part < 0 else 0] for part in parts])
    ax.axvline(0, color=INK, linewidth=1)
    ax.set_yticks(places, [label_text(name) for name, _ in shown], color=INK)
    ax.set_ylim(len(shown) - 0.4, -0.6)
    ax.grid(visible=False, axis="y")
    ax.xaxis.set_major_formatter("{x:.0%}")
    ax.set_xlabel("share of the squared distance between two rows")
