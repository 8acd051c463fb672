"""likewise learns what *alike* means: labels, pairs, triplets or a stream into one metric."""

from importlib.metadata import version as _version

from likewise import constraints
from likewise._files import load
from likewise.batch import FDA, RCA, Euclidean, Whitening
from likewise.knn import MetricKNN
from likewise.online import POLA, PAMetric

__version__ = _version("likewise")

__all__ = [
    "FDA",
    "POLA",
    "RCA",
    "Euclidean",
    "MetricKNN",
    "PAMetric",
    "Whitening",
    "__version__",
    "constraints",
    "load",
]
