"""What kernel PCA costs, and how large the problem in its coordinates may be."""

from __future__ import annotations

import math
from dataclasses import replace

from likewise.base.costs import MEASURED_UNCERTAINTY, Cost, Size
from likewise.objectives.working_memory import kernel_pca_bytes

_DEFAULT_DEGREE = 3

# All eigenvectors of the kernel matrix, and its values. The time that a callable takes for these is
# not known.
KERNEL_PCA = Cost(
    lambda s: 9 * s.n**3 + (3000 + 2 * s.d) * s.n**2,
    1,
    lambda s: kernel_pca_bytes(s.n),
    fixed=0.0,
    copies=0.0,
    uncertainty=MEASURED_UNCERTAINTY,
)


def has_kernel(s: Size) -> bool:
    """Return whether the learner has a kernel, of rows or of pairs."""
    return any(getattr(s.learner, name, None) is not None for name in ("kernel", "pair_kernel"))


def kernel_matrix_size(s: Size) -> Size:
    """Return the problem with as many rows as the kernel matrix has."""
    is_of_pairs = getattr(s.learner, "pair_kernel", None) is not None
    return replace(s, n=s.linked, m=s.linked) if is_of_pairs else s


def in_kernel_space(s: Size) -> Size:
    """Return the problem in as many directions as n rows of the kernel matrix can span."""
    kernel = getattr(s.learner, "kernel", None)
    directions = [s.n - 1, getattr(s.learner, "budget", None) or s.n - 1]
    if kernel == "linear":
        directions.append(s.d)
    elif kernel == "poly":
        degree = int((s.learner.kernel_params or {}).get("degree", _DEFAULT_DEGREE))
        directions.append(math.comb(s.d + degree, degree))
    return replace(s, d=max(1, min(directions)), itemsize=8)


def coordinate_bytes(s: Size) -> float:
    """Return the bytes of the coordinates of all rows, and of the basis."""
    return 16.0 * s.n * s.d
