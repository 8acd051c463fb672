"""The feature space of a kernel, as far as a table of rows spans it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh

from likewise import _files
from likewise._runtime.arrays import Array, FloatArray
from likewise._runtime.memory import require_memory
from likewise._runtime.threads import run_blocks, single_threaded_blas
from likewise.kernels import kernel_function

_BLOCK = 512
_TABLES = 4  # of all rows by all rows, at a time
_NOISE = 1e-10  # share of the longest direction, squared
_ROUNDING = 1e-8  # relative; kernels are rarely computed to the last digit


@_files.record
@dataclass(frozen=True, eq=False)
class KernelSpace:
    """Coordinates of images in feature space: kernel principal components.

    If all are kept, differences of the rows have the lengths and angles that they have in feature
    space, so that what is learned on the coordinates is what would be learned there.

    Attributes
    ----------
    rows : array of shape (n_rows, n_features)
        The rows that span the space.
    means : array of shape (n_rows,)
        Mean kernel value of each row with all.
    basis : array of shape (n_rows, n_directions)
        What turns centred kernel values into coordinates.
    """

    rows: FloatArray
    means: FloatArray
    basis: FloatArray

    @classmethod
    def spanned_by(
        cls, X: Array, kernel: Any, parameters: dict[str, Any], budget: int | None = None
    ) -> tuple[KernelSpace, FloatArray]:
        """Return the space, its first `budget` directions, and the coordinates of the rows."""
        rows = np.ascontiguousarray(X, dtype=np.float64)
        n = len(rows)
        require_memory(
            8.0 * _TABLES * n**2,
            f"The kernel of {n} rows",
            "learn from a sample of them instead",
        )
        values = kernel_function(kernel, parameters, rows.shape[1])(rows, rows)
        size = float(np.abs(values).max(initial=0.0))
        uneven = float(np.abs(values - values.T).max(initial=0.0))
        if uneven > _ROUNDING * size:
            raise ValueError(
                f"The kernel is not symmetric: k(a, b) and k(b, a) differ by {uneven:.3g}, but "
                "they must be equal."
            )
        means = values.mean(axis=1)
        # The user's own kernel may have kept its values: they are not written to.
        values = values - means
        values -= means[:, None] - means.mean()
        values = values + values.T
        values /= 2
        with single_threaded_blas():
            # Transposed it is the same, and as LAPACK wants it: no copy is made.
            lengths2, directions = eigh(values.T, overwrite_a=True)
        del values
        largest = float(lengths2[-1])
        if -lengths2[0] > 1e-6 * max(largest, 0.0):
            raise ValueError(
                f"The kernel is not positive semi-definite: it has the eigenvalue {lengths2[0]:.3g}"
                f" beside {largest:.3g}, but none below 0 is allowed."
            )
        # Directions below what rounding of the rows makes are noise, and would be stretched.
        noise = max(_NOISE, n * float(np.finfo(X.dtype).eps))
        kept = np.flatnonzero(lengths2 > largest * noise)[::-1][:budget]
        if not len(kept):
            raise ValueError("The kernel maps all rows to one point, so that nothing differs.")
        roots = np.sqrt(lengths2[kept])
        space = cls(rows, means, np.ascontiguousarray(directions[:, kept] / roots))
        return space, np.ascontiguousarray(directions[:, kept] * roots)

    def coordinates(
        self, X: Array, kernel: Any, parameters: dict[str, Any], n_jobs: int | None = None
    ) -> FloatArray:
        """Return the coordinates of other rows, projected on the space."""
        function = kernel_function(kernel, parameters, self.rows.shape[1])
        found = np.empty((len(X), self.basis.shape[1]))

        def block(start: int, stop: int) -> None:
            some = np.ascontiguousarray(X[start:stop], dtype=np.float64)
            values = function(some, self.rows)
            values = values - self.means
            found[start:stop] = (values - values.mean(axis=1, keepdims=True)) @ self.basis

        # A user's own kernel need not be safe to run on two threads.
        run_blocks(block, len(X), _BLOCK, n_jobs=1 if callable(kernel) else n_jobs)
        return found
