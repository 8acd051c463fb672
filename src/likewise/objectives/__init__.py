"""Objectives: data, constraints and a loss as functions of L or M, with their derivatives."""

from likewise.objectives.constraint_matrices import ConstraintMatrices
from likewise.objectives.dissimilar_pairs import (
    DissimilarPairs,
    SoftMinimum,
    SumOfDistances,
    WeightedFeatures,
)
from likewise.objectives.label_energies import label_energies
from likewise.objectives.large_margin import GroupedPairs, LargeMargin, PairLoss
from likewise.objectives.large_margin_bound import (
    DualBound,
    LargeMarginBound,
    LowerBound,
    QuadraticPenalty,
)
from likewise.objectives.local_margin import LocalMarginObjective
from likewise.objectives.margin import MarginProblem
from likewise.objectives.mcml import MCMLObjective
from likewise.objectives.nca import NCAObjective
from likewise.objectives.softmax_neighbours import SoftmaxNeighbours

__all__ = [
    "ConstraintMatrices",
    "DissimilarPairs",
    "DualBound",
    "GroupedPairs",
    "LargeMargin",
    "LargeMarginBound",
    "LocalMarginObjective",
    "LowerBound",
    "MCMLObjective",
    "MarginProblem",
    "NCAObjective",
    "PairLoss",
    "QuadraticPenalty",
    "SoftMinimum",
    "SoftmaxNeighbours",
    "SumOfDistances",
    "WeightedFeatures",
    "label_energies",
]
