"""Solvers of large-margin problems in a matrix: interior-point methods and coordinate ascent."""

from likewise.solvers.margin._conic_interior_point import conic_interior_point
from likewise.solvers.margin._interior_point import interior_point

__all__ = ["conic_interior_point", "interior_point"]
