"""The base of methods that invert a covariance matrix: Whitening, RCA and FDA."""

from __future__ import annotations

from typing import ClassVar, Literal

from likewise._runtime.validation import at_least, between, either, none, one_of
from likewise.base import MetricLearner


class CovarianceLearner(MetricLearner):
    """A metric from the inverse of a covariance matrix, with optional shrinkage."""

    _rules: ClassVar = {
        "n_components": either(none(), at_least(1)),
        "shrinkage": either(none(), one_of("auto"), between(0, 1)),
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        shrinkage: float | Literal["auto"] | None = None,
    ) -> None:
        self.n_components = n_components
        self.shrinkage = shrinkage
