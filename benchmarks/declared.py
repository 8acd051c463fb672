"""Importing this module declares every benchmark."""

from benchmarks import (
    adapter,
    classifier_streams,
    closed_form,
    convex,
    itml,
    live,
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
    "adapter",
    "classifier_streams",
    "closed_form",
    "convex",
    "itml",
    "live",
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
