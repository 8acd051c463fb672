"""Distance metric learning from labels, pairs, triplets or a stream of judgements."""

from typing import TYPE_CHECKING

from likewise._runtime.lazy import lazy_package

if TYPE_CHECKING:
    from likewise import base as base
    from likewise import batch as batch
    from likewise import clustering as clustering
    from likewise import cones as cones
    from likewise import constraints as constraints
    from likewise import datasets as datasets
    from likewise import energy as energy
    from likewise import evaluation as evaluation
    from likewise import exceptions as exceptions
    from likewise import experiments as experiments
    from likewise import export as export
    from likewise import kernels as kernels
    from likewise import knn as knn
    from likewise import losses as losses
    from likewise import methods as methods
    from likewise import metric as metric
    from likewise import neighbors as neighbors
    from likewise import objectives as objectives
    from likewise import online as online
    from likewise import pair_classifier as pair_classifier
    from likewise import plotting as plotting
    from likewise import solvers as solvers
    from likewise import statistics as statistics
    from likewise import testing as testing
    from likewise._files import load
    from likewise._runtime.version import __version__
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
    from likewise.clustering import PairClusters, cluster_pairs
    from likewise.energy import EnergyClassifier
    from likewise.exceptions import DegenerateMetricWarning, GuaranteeError, OverfitWarning
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
    from likewise.pair_classifier import PairClassifier
else:
    __getattr__, __dir__ = lazy_package(
        __name__,
        {
            "_files": ["load"],
            "_runtime.version": ["__version__"],
            "batch": [
                "FDA",
                "ITML",
                "LDML",
                "LMNN",
                "MCML",
                "MMC",
                "NCA",
                "NCML",
                "PCML",
                "PLML",
                "RCA",
                "ComposedMetric",
                "DMLEig",
                "DoubletSVM",
                "Euclidean",
                "MultiMetricLMNN",
                "TripletSVM",
                "Whitening",
            ],
            "clustering": ["PairClusters", "cluster_pairs"],
            "energy": ["EnergyClassifier"],
            "exceptions": ["DegenerateMetricWarning", "GuaranteeError", "OverfitWarning"],
            "knn": ["MetricKNN"],
            "online": [
                "AROW",
                "CW",
                "PA",
                "PAM",
                "PAUM",
                "POLA",
                "PAMetric",
                "Perceptron",
                "SecondOrderPerceptron",
            ],
            "pair_classifier": ["PairClassifier"],
        },
        submodules=[
            "base",
            "batch",
            "clustering",
            "cones",
            "constraints",
            "datasets",
            "energy",
            "evaluation",
            "exceptions",
            "experiments",
            "export",
            "kernels",
            "knn",
            "losses",
            "methods",
            "metric",
            "neighbors",
            "objectives",
            "online",
            "pair_classifier",
            "plotting",
            "solvers",
            "statistics",
            "testing",
        ],
    )

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
    "DegenerateMetricWarning",
    "DoubletSVM",
    "EnergyClassifier",
    "Euclidean",
    "GuaranteeError",
    "MetricKNN",
    "MultiMetricLMNN",
    "OverfitWarning",
    "PAMetric",
    "PairClassifier",
    "PairClusters",
    "Perceptron",
    "SecondOrderPerceptron",
    "TripletSVM",
    "Whitening",
    "__version__",
    "cluster_pairs",
    "constraints",
    "load",
]
