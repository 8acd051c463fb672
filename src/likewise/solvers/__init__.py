"""Solvers: algorithms that know their problem only through a protocol.

A solver lives here if several methods use it or if it is a general method for any smooth function
(L-BFGS, Adam, FISTA). The solvers of all SVM-style learners are in ``margin``. A solver for the
problem of one method or family lives beside that method (Newton's method in ``batch.itml``, the
PSD cone in ``batch.mcml``, the spectrahedron and the simplex in ``batch.similar_scatter``).
"""

from likewise.solvers._protocols import Iteration, Smooth, Solution, Status, Watcher
from likewise.solvers.adam import adam
from likewise.solvers.lbfgs import lbfgs
from likewise.solvers.projected_gradient import fista, project_to_simplex

__all__ = [
    "Iteration",
    "Smooth",
    "Solution",
    "Status",
    "Watcher",
    "adam",
    "fista",
    "lbfgs",
    "project_to_simplex",
]
