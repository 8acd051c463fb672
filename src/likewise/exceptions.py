"""Warnings about metrics that were learned but are of little use."""

from __future__ import annotations

__all__ = ["DegenerateMetricWarning", "OverfitWarning"]


class OverfitWarning(UserWarning):
    """There are fewer constraints than the metric has degrees of freedom."""


class DegenerateMetricWarning(UserWarning):
    """The metric does not separate pairs, or a few features dominate it."""
