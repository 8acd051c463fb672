"""In how many directions does a metric see a difference."""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise.metric import count_directions


def effective_dimension(metric: Any, threshold: float = 1e-6) -> int:
    """Return the number of directions that matter to a metric.

    These are the eigenvalues of ``M = L.T @ L`` above `threshold` times the largest one.

    Parameters
    ----------
    metric : fitted MetricLearner or array-like of shape (n_components, n_features)
        Something with `components_`, or L itself.
    threshold : float, default=1e-6
        Relative to the largest eigenvalue; at least 1e-12, what lies below is rounding.

    Returns
    -------
    int
        0 for a metric in which all points coincide.

    Examples
    --------
    >>> from likewise.evaluation import effective_dimension
    >>> effective_dimension([[3.0, 0.0, 0.0], [0.0, 0.5, 0.0], [0.0, 0.0, 1e-4]])
    2
    """
    if not 1e-12 <= threshold < 1:
        raise ValueError(f"threshold is {threshold!r}, but it must be at least 1e-12 and below 1.")
    components = np.asarray(getattr(metric, "components_", metric), dtype=np.float64)
    if components.ndim != 2 or not np.isfinite(components).all():
        raise ValueError(
            f"metric has components of shape {components.shape}, "
            "but they must be a matrix of finite numbers."
        )
    return count_directions(components, threshold)
