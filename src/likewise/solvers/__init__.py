"""Solvers: they know a protocol and nothing of data, metrics or estimators."""

from likewise.solvers._protocols import Iteration, Smooth, Solution, Status
from likewise.solvers.lbfgs import lbfgs
from likewise.solvers.projected_subgradient import (
    Bounds,
    SubgradientProblem,
    projected_subgradient,
)
from likewise.solvers.working_set import HingeProblem, Look, working_set_lbfgs

__all__ = [
    "Bounds",
    "HingeProblem",
    "Iteration",
    "Look",
    "Smooth",
    "Solution",
    "Status",
    "SubgradientProblem",
    "lbfgs",
    "projected_subgradient",
    "working_set_lbfgs",
]
