"""What is equally far under a metric, around the centres of classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from likewise._runtime.arrays import FloatArray
from likewise._runtime.validation import (
    TableLike,
    as_float_array,
    at_least,
    check_finite,
    check_parameters,
    either,
    encode_labels,
    none,
    positive,
)
from likewise.batch import MultiMetricLMNN
from likewise.plotting._embedding import Projection, draw_embedding
from likewise.plotting._metrics import feature_labels, linear_map
from likewise.plotting._style import axes_or_new, label_text, point_color, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LONGEST = 100.0  # times the size of the data: a half-axis that is infinite, or nearly


def ellipses(
    metric: Any,
    X: TableLike,
    y: ArrayLike | None = None,
    *,
    features: Sequence[int] = (0, 1),
    radius: float | None = None,
    feature_names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw rows by two features, and around the centre of each class what is equally far from it.

    An ellipse is long in a direction in which differences count little. It is the section of the
    metric's ellipsoid with the plane of the two features: all others are equal. For a
    `MultiMetricLMNN` with one metric per class, each class has its own.

    Parameters
    ----------
    metric : fitted metric learner or array-like of shape (n_components, n_features)
        A linear metric, something with one in `metric_`, a pipeline that ends in one, L itself,
        or a `MultiMetricLMNN`.
    X : array-like of shape (n_samples, n_features)
        Rows, as the metric takes them: those of a pipeline's last step, if it is one.
    y : array-like of shape (n_samples,), optional
        Their classes; without them there is one ellipse, around the centre of all rows.
    features : sequence of two int, default=(0, 1)
        The columns to show.
    radius : float, optional
        Distance of the ellipses from their centres. By default the median distance, in these two
        features, of rows from the centre of their class.
    feature_names : sequence of str, optional
        Names of the columns; by default those of the table that was fitted, else x0, x1, …
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import likewise as lw
    >>> from likewise.plotting import ellipses
    >>> iris = lw.datasets.load("iris")
    >>> metric = lw.LMNN().fit(iris.X, iris.y)
    >>> ax = ellipses(metric, iris.X, iris.y, features=(2, 3))
    >>> len(ax.patches)
    3
    """
    check_parameters("ellipses", {"radius": radius}, {"radius": either(none(), positive())})
    rows = as_float_array(X, "X")
    if rows.ndim != 2 or 0 in rows.shape:
        raise ValueError(f"X has shape {rows.shape}, but it must have rows and columns.")
    check_finite(rows, "X")
    classes, codes = encode_labels(np.zeros(len(rows), dtype=int) if y is None else y)
    if len(codes) != len(rows):
        raise ValueError(f"X has {len(rows)} rows but y has {len(codes)} labels; they must match.")
    maps = _maps(metric, classes)
    n_features = maps.shape[2]
    if rows.shape[1] != n_features:
        raise ValueError(
            f"X has {rows.shape[1]} features, but the metric was learned from {n_features}."
        )
    first, second = _check_features(features, n_features)
    names = feature_labels(metric, n_features, feature_names)
    points = rows[:, [first, second]]
    centres = np.array([points[codes == code].mean(axis=0) for code in range(len(classes))])
    planes = maps[:, :, [first, second]]
    if radius is None:
        away = points - centres[codes]
        mapped = np.einsum("nij,nj->ni", planes[codes], away)
        radius = float(np.median(np.linalg.norm(mapped, axis=1))) or 1.0
    size = float(np.ptp(points, axis=0).max()) or 1.0
    with style():
        ax = axes_or_new(ax, width=5.2, height=4.2)
        draw_embedding(ax, Projection(points, 1.0), codes, classes, len(classes))
        ax.set_aspect("auto")
        ax.autoscale_view()  # matplotlib puts limits off, and would forget them with the next line
        ax.autoscale(enable=False)
        for code in range(len(classes)):
            _draw_ellipse(
                ax,
                centres[code],
                planes[code],
                radius,
                _LONGEST * size,
                point_color(code),
            )
        ax.set_xlabel(label_text(names[first]))
        ax.set_ylabel(label_text(names[second]))
        ax.set_title(f"distance {radius:.3g} from the centre")
    return ax


def half_axes(plane: FloatArray, radius: float, longest: float) -> tuple[FloatArray, FloatArray]:
    """Return half-axes, and their directions as columns, of ``{v : ‖plane v‖ = radius}``.

    A direction in which the metric sees no difference has no end: it gets the length `longest`.
    """
    _, values, directions = np.linalg.svd(plane)
    values = np.concatenate([values, np.zeros(2 - len(values))])
    lengths = np.full(2, longest)
    np.divide(radius, values, out=lengths, where=values * longest > radius)
    return lengths, directions.T


def _draw_ellipse(
    ax: Axes, centre: FloatArray, plane: FloatArray, radius: float, longest: float, color: str
) -> None:
    from matplotlib.patches import Ellipse

    lengths, directions = half_axes(plane, radius, longest)
    angle = float(np.degrees(np.arctan2(directions[1, 0], directions[0, 0])))
    width, height = (2 * lengths).tolist()
    ax.add_patch(
        Ellipse(
            (float(centre[0]), float(centre[1])),
            width,
            height,
            angle=angle,
            fill=False,
            edgecolor=color,
            linewidth=1.8,
        )
    )
    ax.plot(*centre, "+", color=color, markersize=9, markeredgewidth=2)


def _maps(metric: Any, classes: Any) -> FloatArray:
    """Return L of each class."""
    if isinstance(metric, MultiMetricLMNN) and hasattr(metric, "components_"):
        known = {str(label): number for number, label in enumerate(metric.classes_.tolist())}
        asked = [str(label) for label in classes.tolist()]
        if not isinstance(metric.clusters, str) or not set(asked) <= set(known):
            raise ValueError(
                "metric has no metric for each class of y, but ellipses needs a MultiMetricLMNN "
                "with clusters='class' that was fitted to these classes."
            )
        local: FloatArray = np.asarray(metric.components_, dtype=np.float64)
        return local[[known[label] for label in asked]]
    L = linear_map(metric, "ellipses")
    return np.repeat(L[None], len(classes), axis=0)


def _check_features(features: Sequence[int], n_features: int) -> tuple[int, int]:
    columns = list(features)
    rule = at_least(0)
    if len(columns) != 2 or columns[0] == columns[1] or not all(map(rule.holds, columns)):
        raise ValueError(f"features is {features!r}, but two different columns are needed.")
    if max(columns) >= n_features:
        raise ValueError(
            f"features holds column {max(columns)}, but there are columns 0 to {n_features - 1}."
        )
    return int(columns[0]), int(columns[1])
