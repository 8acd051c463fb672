"""Solvers: they know a protocol and nothing of data, metrics or estimators."""

from likewise.solvers._protocols import Iteration, Smooth, Solution, Status, Watcher
from likewise.solvers.adam import adam
from likewise.solvers.bregman import bregman_cycles
from likewise.solvers.lbfgs import lbfgs
from likewise.solvers.projected_gradient import fista, nearest_shares
from likewise.solvers.psd_factor import minimise_on_psd
from likewise.solvers.simplex import maximise_on_simplex
from likewise.solvers.spectrahedron import maximise_on_spectrahedron

__all__ = [
    "Iteration",
    "Smooth",
    "Solution",
    "Status",
    "Watcher",
    "adam",
    "bregman_cycles",
    "fista",
    "lbfgs",
    "maximise_on_simplex",
    "maximise_on_spectrahedron",
    "minimise_on_psd",
    "nearest_shares",
]
