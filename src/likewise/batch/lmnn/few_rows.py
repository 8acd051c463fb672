"""A warning where LMNN has so few rows that it fits them closely."""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise._runtime.validation import warn_user
from likewise.batch._feature_spreads import inverse_stds_of
from likewise.exceptions import OverfitWarning

# Measured with LMNN on handwritten digits, embedded texts and faces, and sonar: from fewer samples
# its optimum had 0.7 to 35 points more neighbour errors than the Euclidean distance; with
# regularization=1 at most 1.2 points more, and up to 7 points fewer.
_MIN_ROWS_PER_FEATURE = 2
_MIN_FEATURES = 10  # with fewer, a few rows are a worked example


def warn_of_few_rows(learner: Any, n_free: int | None, objective: Any) -> None:
    """Warn if a metric without `regularization` has few independent samples for its features.

    Parameters
    ----------
    learner : LMNN or MultiMetricLMNN
    n_free : int or None
        Independent samples: rows less classes; None if there are no labels.
    objective : LargeMargin or BlockedLargeMargin
        It has the rows. Features that do not vary have no weights, and do not count.
    """
    limit = _MIN_ROWS_PER_FEATURE * objective.X.shape[1]
    if n_free is None or n_free >= limit or learner.regularization:
        return
    stds = objective.standard_deviations()
    n_features = np.count_nonzero(inverse_stds_of(stds, np.zeros_like(stds), stds))
    if n_features < _MIN_FEATURES or n_free >= _MIN_ROWS_PER_FEATURE * n_features:
        return
    warn_user(
        f"{type(learner).__name__} learned {n_features * (n_features + 1) // 2} weights of "
        f"{n_features} features from {n_free} independent samples, fewer than two per feature: it "
        "fits them closely, and may be a worse metric than the Euclidean one. Use regularization=1 "
        "or more, PCA first, or more samples.",
        OverfitWarning,
    )
