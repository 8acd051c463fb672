"""Objectives: data and constraints and a loss, as a function of L with a gradient."""

from likewise.objectives.pairs import PairObjective
from likewise.objectives.triplets import TripletObjective

__all__ = ["PairObjective", "TripletObjective"]
