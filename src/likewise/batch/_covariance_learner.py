"""The base of methods that invert a covariance matrix: Whitening, RCA and FDA."""

from __future__ import annotations

from typing import ClassVar, Literal

from likewise._runtime.arrays import Array, IndexArray
from likewise._runtime.validation import at_least, between, either, none, one_of
from likewise.base import MetricLearner
from likewise.base.diagnosis import warn_of_few_samples
from likewise.batch._scatter import Rows, whitener


class CovarianceLearner(MetricLearner):
    """A metric from the inverse of a covariance matrix, with optional shrinkage."""

    _rules: ClassVar = {
        "n_components": either(none(), at_least(1)),
        "shrinkage": either(none(), one_of("auto"), between(0, 1)),
    }

    # What becomes of directions in which groups differ but do not vary; see `whitener`.
    _separating: ClassVar[Literal["keep", "drop"]] = "drop"
    # Whether shrinkage="auto" beats the Euclidean distance with fewer samples than features.
    _few_suffice: ClassVar[bool] = False

    def __init__(
        self,
        n_components: int | None = None,
        *,
        shrinkage: float | Literal["auto"] | None = "auto",
    ) -> None:
        self.n_components = n_components
        self.shrinkage = shrinkage

    def _whitener(
        self, X: Rows, means: Array, groups: IndexArray, n_axes: int | None = None
    ) -> Array:
        """Return the whitening map of the covariance within groups; see `whitener`."""
        unreliable = not self.shrinkage or (self.shrinkage == "auto" and not self._few_suffice)
        if unreliable and n_axes is None:
            warn_of_few_samples(self, self.shrinkage, len(X) - len(means), X.shape[1])
        return whitener(
            X,
            means,
            groups,
            shrinkage=self.shrinkage,
            n_axes=n_axes,
            separating=self._separating,
            feature_names=getattr(self, "feature_names_in_", None),
        )
