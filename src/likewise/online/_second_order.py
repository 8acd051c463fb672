"""Second-order online classifiers: those that keep a covariance of their weights."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from likewise._runtime.arrays import FloatArray
from likewise._runtime.memory import require_memory
from likewise._runtime.validation import at_least, either, one_of
from likewise.online._classifier import OnlineClassifier

# Measured on words, pixels and speech: with more features, a full Σ takes tens to hundreds of times
# longer than a diagonal one and seldom has a lower error.
_MAX_FULL_FEATURES = 500


class SecondOrderClassifier(OnlineClassifier):
    """Base class of online classifiers with a covariance Σ of the weights."""

    covariance: str | int
    _shared_rules: ClassVar = {
        "covariance": either(one_of("auto", "full", "diagonal"), at_least(1)),
        **OnlineClassifier._shared_rules,
    }

    def _covariance_of(self, n_features: int) -> str | int:
        if self.covariance == "auto":
            return "full" if n_features <= _MAX_FULL_FEATURES else "diagonal"
        return self.covariance

    @property
    def covariance_(self) -> FloatArray:
        """Covariance Σ of the weights, or its diagonal for ``covariance="diagonal"``.

        With more than two classes the first axis is the class.
        """
        state = self._fitted_state()
        if not state.covariance.is_diagonal:
            n_models, width = state.weights.shape
            require_memory(8.0 * n_models * width**2, "covariance_")
        dense = state.covariance.dense()
        return np.asarray(dense[0] if len(dense) == 1 else dense)
