"""Figures of results. They need matplotlib: ``pip install "likewise[plot]"``."""

from likewise.plotting.critical_difference import critical_difference_diagram

__all__ = ["critical_difference_diagram"]
