"""Importing this module declares every benchmark."""

from benchmarks import (
    classifier_streams,
    closed_form,
    convex,
    itml,
    lmnn,
    nca,
    pair_coverage,
    pair_fits,
    pair_promises,
    pair_streams,
    pair_verdicts,
    radius_search,
    svm_metrics,
    verdicts,
)

__all__ = [
    "classifier_streams",
    "closed_form",
    "convex",
    "itml",
    "lmnn",
    "nca",
    "pair_coverage",
    "pair_fits",
    "pair_promises",
    "pair_streams",
    "pair_verdicts",
    "radius_search",
    "svm_metrics",
    "verdicts",
]
