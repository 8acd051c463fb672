"""All experiments, by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from likewise.experiments import pa, pam
from likewise.experiments._experiment import Experiment
from likewise.experiments.lmnn_figures import LMNN_FIGURES
from likewise.experiments.lmnn_table import LMNN_TABLE1
from likewise.experiments.pola_denoise import POLA_DENOISE
from likewise.experiments.pola_filter import POLA_FILTER
from likewise.experiments.pola_mnist import POLA_MNIST
from likewise.experiments.svm_figures import FIGURES as SVM_FIGURES
from likewise.experiments.svm_tables import TABLE22, TABLE24

_ALL = (
    LMNN_TABLE1,
    LMNN_FIGURES,
    *pa.EXPERIMENTS,
    *pam.EXPERIMENTS,
    POLA_DENOISE,
    POLA_MNIST,
    POLA_FILTER,
    TABLE22,
    TABLE24,
    SVM_FIGURES,
)

EXPERIMENTS: Mapping[str, Experiment] = MappingProxyType(
    {experiment.name: experiment for experiment in _ALL}
)
