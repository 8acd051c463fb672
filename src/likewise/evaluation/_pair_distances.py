"""Distances of pairs, by any fitted estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from likewise._runtime.arrays import FloatArray
from likewise._runtime.tensors import to_numpy
from likewise.metric import row_norms


def pair_distances(estimator: Any, A: Any, B: Any) -> FloatArray:
    """Return `pair_distance` of an estimator, else the Euclidean distance after its `transform`."""
    if hasattr(estimator, "pair_distance"):
        return np.asarray(to_numpy(estimator.pair_distance(A, B)), dtype=np.float64)
    left, right = (to_numpy(estimator.transform(side)) for side in (A, B))
    difference = left - right if sp.issparse(left) else np.asarray(left) - np.asarray(right)
    return row_norms(difference).astype(np.float64)
