"""Importing this module declares every benchmark."""

from benchmarks import closed_form, radius_search

__all__ = ["closed_form", "radius_search"]
