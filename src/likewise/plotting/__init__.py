"""Figures of metrics and results. They need matplotlib: ``pip install "likewise[plot]"``.

Every function draws into Axes, given or new, and returns them.
"""

from collections.abc import Callable
from typing import Any

from likewise._runtime.renaming import renamed_function
from likewise.plotting._convergence import convergence
from likewise.plotting._critical_difference import critical_difference
from likewise.plotting._det import det
from likewise.plotting._ellipses import ellipses
from likewise.plotting._embedding import embedding
from likewise.plotting._feature_weights import feature_weights
from likewise.plotting._learning_curve import learning_curve
from likewise.plotting._neighbors_changed import neighbors_changed
from likewise.plotting._pair_explanation import pair_explanation_diagram
from likewise.plotting._pair_histogram import pair_histogram
from likewise.plotting._roc import roc
from likewise.plotting._spectrum import spectrum

__all__ = [
    "convergence",
    "critical_difference",
    "det",
    "ellipses",
    "embedding",
    "feature_weights",
    "learning_curve",
    "neighbors_changed",
    "pair_explanation_diagram",
    "pair_histogram",
    "roc",
    "spectrum",
]

critical_difference_diagram: Callable[..., Any] = renamed_function(
    critical_difference, "critical_difference_diagram", until="1.0"
)
