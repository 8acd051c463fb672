"""Solvers of margin problems in a symmetric matrix: interior-point methods, coordinate ascent."""

from likewise.solvers.margin._conic_interior_point import conic_interior_point
from likewise.solvers.margin._interior_point import interior_point
from likewise.solvers.margin.problem import (
    ConstraintOperator,
    CoordinateSweeps,
    MarginObjective,
    ProjectionJacobian,
    ProjectionWithJacobian,
)

__all__ = [
    "ConstraintOperator",
    "CoordinateSweeps",
    "MarginObjective",
    "ProjectionJacobian",
    "ProjectionWithJacobian",
    "conic_interior_point",
    "interior_point",
]
