"""Importing this module declares every benchmark."""

from benchmarks import closed_form, convex, itml, nca, pair_streams, radius_search, svm_metrics

__all__ = ["closed_form", "convex", "itml", "nca", "pair_streams", "radius_search", "svm_metrics"]
