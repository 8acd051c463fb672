"""Kernel PCA: coordinates in the subspace of feature space that the training rows span."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh

from likewise import _files
from likewise._runtime.arrays import Array, FloatArray
from likewise._runtime.invariants import require_array
from likewise._runtime.memory import require_memory
from likewise._runtime.threads import run_blocks, single_threaded_blas
from likewise.kernels import kernel_function
from likewise.objectives.working_memory import kernel_pca_bytes

_BLOCK = 512
_RANK_TOLERANCE = 1e-10  # relative to the largest eigenvalue
_SYMMETRY_TOLERANCE = 1e-8  # relative to the largest kernel value
_NEGATIVE_TOLERANCE = 1e-6  # relative to the largest eigenvalue


@_files.record
@dataclass(frozen=True, eq=False)
class KernelSpace:
    """Kernel principal components of the training rows.

    If all components are kept, differences of the training rows have the same inner products as
    in feature space, so a metric learned on the coordinates is the one learned there.

    Attributes
    ----------
    rows : array of shape (n_samples, n_features)
        The training rows.
    means : array of shape (n_samples,)
        Row means of the kernel matrix.
    basis : array of shape (n_samples, n_directions)
        Maps centred kernel values to coordinates.
    """

    rows: FloatArray
    means: FloatArray
    basis: FloatArray

    def check(self) -> None:
        """Raise a ValueError if the fields are not valid."""
        require_array(self.rows, None, None)
        require_array(self.means, len(self.rows))
        require_array(self.basis, len(self.rows), None)

    @classmethod
    def from_rows(
        cls, X: Array, kernel: Any, parameters: dict[str, Any], budget: int | None = None
    ) -> tuple[KernelSpace, FloatArray]:
        """Return the space with its `budget` leading directions, and the coordinates of X."""
        rows = np.ascontiguousarray(X, dtype=np.float64)
        n = len(rows)
        require_memory(
            kernel_pca_bytes(n),
            f"The kernel of {n} rows",
            "learn from a subsample instead",
        )
        values = kernel_function(kernel, parameters, rows.shape[1])(rows, rows)
        magnitude = float(np.abs(values).max(initial=0.0))
        asymmetry = float(np.abs(values - values.T).max(initial=0.0))
        if asymmetry > _SYMMETRY_TOLERANCE * magnitude:
            raise ValueError(
                f"The kernel is not symmetric: k(a, b) and k(b, a) differ by {asymmetry:.3g}, but "
                "they must be equal."
            )
        means = values.mean(axis=1)
        # A copy: a user's kernel function may have kept the array.
        values = values - means
        values -= means[:, None] - means.mean()
        values = values + values.T
        values /= 2
        with single_threaded_blas():
            # The transpose of the symmetric matrix is in Fortran order, so LAPACK needs no copy.
            eigenvalues, directions = eigh(values.T, overwrite_a=True)
        del values
        largest = float(eigenvalues[-1])
        if -eigenvalues[0] > _NEGATIVE_TOLERANCE * max(largest, 0.0):
            raise ValueError(
                "The kernel is not positive semidefinite: its matrix has the eigenvalue "
                f"{eigenvalues[0]:.3g} (the largest is {largest:.3g}), but none below 0 is allowed."
            )
        # Smaller eigenvalues are rounding errors of the rows.
        tolerance = max(_RANK_TOLERANCE, n * float(np.finfo(X.dtype).eps))
        kept = np.flatnonzero(eigenvalues > largest * tolerance)[::-1][:budget]
        if not len(kept):
            raise ValueError("The kernel maps all rows to one point, but two must differ.")
        roots = np.sqrt(eigenvalues[kept])
        space = cls(rows, means, np.ascontiguousarray(directions[:, kept] / roots))
        return space, np.ascontiguousarray(directions[:, kept] * roots)

    def coordinates(
        self, X: Array, kernel: Any, parameters: dict[str, Any], n_jobs: int | None = None
    ) -> FloatArray:
        """Return the coordinates of the projections of other rows."""
        function = kernel_function(kernel, parameters, self.rows.shape[1])
        coordinates = np.empty((len(X), self.basis.shape[1]))

        def block(start: int, stop: int) -> None:
            values = function(np.ascontiguousarray(X[start:stop], dtype=np.float64), self.rows)
            values = values - self.means
            centred = values - values.mean(axis=1, keepdims=True)
            coordinates[start:stop] = centred @ self.basis

        # A user's kernel function need not be thread-safe.
        run_blocks(block, len(X), _BLOCK, n_jobs=1 if callable(kernel) else n_jobs)
        return coordinates
