"""The methods that `compare` knows: a new method adds one line here."""

from __future__ import annotations

from collections.abc import Callable

from likewise.base import MetricLearner
from likewise.batch import FDA, RCA, Euclidean, Whitening

METHODS: dict[str, Callable[[], MetricLearner]] = {
    "Euclidean": Euclidean,
    "Whitening": Whitening,
    "RCA": RCA,
    "FDA": FDA,
}
