"""The methods that `compare` knows: a new method adds one line here."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from likewise.base import MetricLearner
from likewise.batch import (
    FDA,
    ITML,
    LMNN,
    MCML,
    MMC,
    NCA,
    RCA,
    DMLEig,
    DoubletSVM,
    Euclidean,
    TripletSVM,
    Whitening,
)
from likewise.online import POLA, PAMetric

METHODS: dict[str, Callable[[], MetricLearner]] = {
    "Euclidean": Euclidean,
    "Whitening": Whitening,
    "RCA": RCA,
    "FDA": FDA,
    "LMNN": LMNN,
    "NCA": partial(NCA, regularization=0.01, tol=3e-4),
    "ITML": partial(ITML, 0.3, tol=0.05, random_state=0),
    "MCML": partial(MCML, tol=1e-2),
    "MMC": partial(MMC, random_state=0),
    "DMLEig": partial(DMLEig, smoothing=1.0, shrinkage=0.1, random_state=0),
    "DoubletSVM": partial(DoubletSVM, 1, 1, tol=1e-2),
    "TripletSVM": partial(TripletSVM, 1, 1, tol=1e-2),
    "PAMetric": partial(PAMetric, "PA-I", C=0.1, random_state=0),
    "POLA": partial(POLA, 10.0, max_iter=2, random_state=0),
}
