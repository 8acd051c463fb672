"""Objectives: data and constraints and a loss, as a function of L with a gradient."""

from likewise.objectives.different_pairs import DifferentPairs, SoftMinimum, SumOfDistances
from likewise.objectives.large_margin import GroupedPairs, LargeMargin
from likewise.objectives.large_margin_bound import LargeMarginBound, Shrinkage
from likewise.objectives.logdet import LogDetProblem
from likewise.objectives.nca import NCAObjective
from likewise.objectives.neighbour_choice import NeighbourChoice
from likewise.objectives.pairs import PairObjective
from likewise.objectives.triplets import TripletObjective

__all__ = [
    "DifferentPairs",
    "GroupedPairs",
    "LargeMargin",
    "LargeMarginBound",
    "LogDetProblem",
    "NCAObjective",
    "NeighbourChoice",
    "PairObjective",
    "Shrinkage",
    "SoftMinimum",
    "SumOfDistances",
    "TripletObjective",
]
