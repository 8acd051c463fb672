"""likewise learns what *alike* means: labels, pairs, triplets or a stream into one metric."""

from importlib.metadata import version as _version

from likewise import constraints
from likewise._files import load
from likewise.batch import (
    FDA,
    ITML,
    LDML,
    LMNN,
    MCML,
    MMC,
    NCA,
    NCML,
    PCML,
    PLML,
    RCA,
    ComposedMetric,
    DMLEig,
    DoubletSVM,
    Euclidean,
    MultiMetricLMNN,
    TripletSVM,
    Whitening,
)
from likewise.energy import EnergyClassifier
from likewise.knn import MetricKNN
from likewise.online import (
    AROW,
    CW,
    PA,
    PAM,
    PAUM,
    POLA,
    PAMetric,
    Perceptron,
    SecondOrderPerceptron,
)

__version__ = _version("likewise")

__all__ = [
    "AROW",
    "CW",
    "FDA",
    "ITML",
    "LDML",
    "LMNN",
    "MCML",
    "MMC",
    "NCA",
    "NCML",
    "PA",
    "PAM",
    "PAUM",
    "PCML",
    "PLML",
    "POLA",
    "RCA",
    "ComposedMetric",
    "DMLEig",
    "DoubletSVM",
    "EnergyClassifier",
    "Euclidean",
    "MetricKNN",
    "MultiMetricLMNN",
    "PAMetric",
    "Perceptron",
    "SecondOrderPerceptron",
    "TripletSVM",
    "Whitening",
    "__version__",
    "constraints",
    "load",
]
