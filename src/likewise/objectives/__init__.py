"""Objectives: data, constraints and a loss as functions of L or M, with their derivatives."""

from typing import TYPE_CHECKING

from likewise._runtime.lazy import lazy_package

# Imported at once: the module of the same name would replace the function.
from likewise.objectives.label_energies import label_energies

if TYPE_CHECKING:
    from likewise.objectives.constraint_matrices import ConstraintMatrices
    from likewise.objectives.dissimilar_pairs import (
        DissimilarPairs,
        SoftMinimum,
        SumOfDistances,
        WeightedFeatures,
    )
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
else:
    # Workers of a cluster import a few of these, but not the solvers that others need.
    __getattr__, __dir__ = lazy_package(
        __name__,
        {
            "constraint_matrices": ["ConstraintMatrices"],
            "dissimilar_pairs": [
                "DissimilarPairs",
                "SoftMinimum",
                "SumOfDistances",
                "WeightedFeatures",
            ],
            "large_margin": ["GroupedPairs", "LargeMargin", "PairLoss"],
            "large_margin_bound": [
                "DualBound",
                "LargeMarginBound",
                "LowerBound",
                "QuadraticPenalty",
            ],
            "local_margin": ["LocalMarginObjective"],
            "margin": ["MarginProblem"],
            "mcml": ["MCMLObjective"],
            "nca": ["NCAObjective"],
            "softmax_neighbours": ["SoftmaxNeighbours"],
        },
    )

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
