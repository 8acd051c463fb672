"""Distance metric learning from labels, pairs, triplets or a stream of judgements."""

from typing import TYPE_CHECKING

from likewise._runtime.lazy import lazy_package

if TYPE_CHECKING:
    from likewise import adapter as adapter
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
    from likewise import live as live
    from likewise import losses as losses
    from likewise import methods as methods
    from likewise import metric as metric
    from likewise import neighbors as neighbors
    from likewise import objectives as objectives
    from likewise import online as online
    from likewise import pair_classifier as pair_classifier
    from likewise import plotting as plotting
    from likewise import report as report
    from likewise import solvers as solvers
    from likewise import statistics as statistics
    from likewise import tables as tables
    from likewise import testing as testing
    from likewise import threshold_monitor as threshold_monitor
    from likewise._files import load
    from likewise._runtime.configuration import config_context, get_config, set_config
    from likewise._runtime.version import __version__
    from likewise.adapter import EmbeddingAdapter
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
    from likewise.threshold_monitor import Alarm, ThresholdMonitor
else:
    __getattr__, __dir__ = lazy_package(
        __name__,
        {
            "_files": ["load"],
            "_runtime.configuration": ["config_context", "get_config", "set_config"],
            "_runtime.version": ["__version__"],
            "adapter": ["EmbeddingAdapter"],
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
            "threshold_monitor": ["Alarm", "ThresholdMonitor"],
        },
        submodules=[
            "adapter",
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
            "live",
            "losses",
            "methods",
            "metric",
            "neighbors",
            "objectives",
            "online",
            "pair_classifier",
            "plotting",
            "report",
            "solvers",
            "statistics",
            "tables",
            "testing",
            "threshold_monitor",
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
    "Alarm",
    "ComposedMetric",
    "DMLEig",
    "DegenerateMetricWarning",
    "DoubletSVM",
    "EmbeddingAdapter",
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
    "ThresholdMonitor",
    "TripletSVM",
    "Whitening",
    "__version__",
    "cluster_pairs",
    "config_context",
    "constraints",
    "get_config",
    "load",
    "set_config",
    "tables",
]
