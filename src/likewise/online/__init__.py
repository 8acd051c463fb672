"""Metrics learned from a stream, one judgement at a time."""

from likewise.online.pa_metric import PAMetric
from likewise.online.pola import POLA

__all__ = ["POLA", "PAMetric"]
