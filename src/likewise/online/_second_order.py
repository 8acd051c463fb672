"""What the second-order classifiers share: a covariance of their weights."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from likewise._runtime.arrays import FloatArray
from likewise._runtime.memory import require_memory
from likewise._runtime.validation import at_least, either, one_of
from likewise.online._classifier import OnlineClassifier
from likewise.online._classifier_state import DiagonalForm


class SecondOrderClassifier(OnlineClassifier):
    """An online classifier that knows how sure it is of its weights."""

    covariance: str | int
    _shared_rules: ClassVar = {
        "covariance": either(one_of("full", "diagonal"), at_least(1)),
        **OnlineClassifier._shared_rules,
    }

    @property
    def covariance_(self) -> FloatArray:
        """Σ, the covariance of the weights, or only the variances if it is diagonal.

        For more than two classes there is one more axis in front, for the class.
        """
        form = self._learned().form
        assert form is not None
        if not isinstance(form, DiagonalForm):
            n_models, width = self._state.weights.shape
            require_memory(8.0 * n_models * width**2, "covariance_")
        found = form.covariance()
        return np.asarray(found[0] if len(found) == 1 else found)
