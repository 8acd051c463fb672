"""A model at one moment, which other threads may read while learning goes on."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from likewise._runtime.arrays import Array, FloatArray, IndexArray
from likewise._runtime.threads import single_threaded_blas

__all__ = ["ModelView"]

_BLOCK_VALUES = 2**22


class ModelView:
    """A copy of the learner, made after `position` judgements were learned."""

    def __init__(self, position: int, learner: Any) -> None:
        self.position = position
        self.learner = learner

    @cached_property
    def components(self) -> Array:
        """L of the metric, in float32."""
        with single_threaded_blas():
            return np.ascontiguousarray(self.learner.components_, dtype=np.float32)

    @cached_property
    def threshold(self) -> float:
        """The learner's own threshold: no rate is promised for it."""
        return float(self.learner.threshold_)

    def distances(self, X: Array, pairs: IndexArray) -> FloatArray:
        """Return the distances of pairs of rows of X."""
        found = np.empty(len(pairs))
        size = max(1, _BLOCK_VALUES // X.shape[1])
        for start in range(0, len(pairs), size):
            first, second = pairs[start : start + size].T
            mapped = (X[first] - X[second]) @ self.components.T
            found[start : start + size] = np.sqrt(np.einsum("nd,nd->n", mapped, mapped))
        return found
