"""The parameter `init` of online metric learners."""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise._runtime.arrays import FloatArray
from likewise._runtime.validation import Rule

INIT_RULE = Rule(
    "None, 'identity', a pair (M, b) or a fitted metric",
    lambda v: (
        v is None
        or (isinstance(v, str) and v == "identity")
        or (isinstance(v, tuple) and len(v) == 2)
        or hasattr(v, "mahalanobis_matrix")
    ),
)


def initial_model(init: Any, n_features: int) -> tuple[FloatArray, float]:
    """Return M, for the user's X, and b before the first event."""
    if init is None:
        return np.zeros((n_features, n_features)), 0.0
    if isinstance(init, str):
        return np.eye(n_features), 1.0
    if isinstance(init, tuple):
        M, b = np.asarray(init[0], dtype=np.float64), float(init[1])
    else:
        M, b = np.asarray(init.mahalanobis_matrix()), float(getattr(init, "b_", 1.0))
    if M.shape != (n_features, n_features):
        raise ValueError(
            f"init has a matrix of shape {M.shape}, but {n_features} features need "
            f"({n_features}, {n_features})."
        )
    if not np.isfinite(M).all() or not np.isfinite(b):
        raise ValueError("init holds NaN or infinity, but M and b must be finite.")
    if not np.allclose(M, M.T, rtol=1e-8, atol=0):
        raise ValueError("init has a matrix M that is not symmetric, but it must be.")
    return M.astype(np.float64), b
