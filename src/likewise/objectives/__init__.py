"""Objectives: data and constraints and a loss, as a function of L with a gradient."""

from likewise.objectives.large_margin import GroupedPairs, LargeMargin
from likewise.objectives.large_margin_bound import LargeMarginBound, Shrinkage
from likewise.objectives.pairs import PairObjective
from likewise.objectives.triplets import TripletObjective

__all__ = [
    "GroupedPairs",
    "LargeMargin",
    "LargeMarginBound",
    "PairObjective",
    "Shrinkage",
    "TripletObjective",
]
