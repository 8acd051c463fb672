"""Online learners: metrics from a stream of pairs, classifiers from a stream of samples."""

from typing import TYPE_CHECKING

from likewise._runtime.lazy import lazy_package

if TYPE_CHECKING:
    from likewise.online.arow import AROW
    from likewise.online.classifier_tuning import TunedClassifier, tune_classifier
    from likewise.online.cw import CW
    from likewise.online.pa import PA
    from likewise.online.pa_metric import PAMetric
    from likewise.online.pam import PAM
    from likewise.online.paum import PAUM
    from likewise.online.perceptron import Perceptron
    from likewise.online.pola import POLA
    from likewise.online.second_order_perceptron import SecondOrderPerceptron
    from likewise.online.tuning import TunedC, tune_C
else:
    __getattr__, __dir__ = lazy_package(
        __name__,
        {
            "arow": ["AROW"],
            "classifier_tuning": ["TunedClassifier", "tune_classifier"],
            "cw": ["CW"],
            "pa": ["PA"],
            "pa_metric": ["PAMetric"],
            "pam": ["PAM"],
            "paum": ["PAUM"],
            "perceptron": ["Perceptron"],
            "pola": ["POLA"],
            "second_order_perceptron": ["SecondOrderPerceptron"],
            "tuning": ["TunedC", "tune_C"],
        },
    )

__all__ = [
    "AROW",
    "CW",
    "PA",
    "PAM",
    "PAUM",
    "POLA",
    "PAMetric",
    "Perceptron",
    "SecondOrderPerceptron",
    "TunedC",
    "TunedClassifier",
    "tune_C",
    "tune_classifier",
]
