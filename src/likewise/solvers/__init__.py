"""Solvers: they know a protocol and nothing of data, metrics or estimators."""

from likewise.solvers._protocols import Iteration, Smooth, Solution, Status
from likewise.solvers.lbfgs import lbfgs

__all__ = ["Iteration", "Smooth", "Solution", "Status", "lbfgs"]
