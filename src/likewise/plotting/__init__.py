"""Figures of results. They need matplotlib: ``pip install "likewise[plot]"``."""

from likewise.plotting.critical_difference import critical_difference_diagram
from likewise.plotting.pair_explanation import pair_explanation_diagram

__all__ = ["critical_difference_diagram", "pair_explanation_diagram"]
