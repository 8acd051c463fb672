"""Metrics learned from a stream, one judgement at a time."""

from likewise.online.pa_metric import PAMetric

__all__ = ["PAMetric"]
