"""A positive semidefinite matrix in its eigenbasis, for metrics projected after every update."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh, lapack

from likewise import _files
from likewise._loops.pairs.types import LowRankMetric
from likewise._runtime.arrays import FloatArray
from likewise._runtime.invariants import require, require_array, require_count


@_files.record
@dataclass
class EigenbasisMatrix:
    """A PSD matrix as ``U (diag(values) + Σ weights[j] rows[j] rows[j]ᵀ) Uᵀ`` with few rows."""

    vectors: FloatArray
    values: FloatArray
    rows: FloatArray
    weights: FloatArray
    count: int = 0

    @classmethod
    def of(cls, matrix: FloatArray) -> EigenbasisMatrix:
        """Return a PSD matrix in its eigenbasis."""
        values, vectors = eigh(matrix)
        n_features = len(matrix)
        # More rows make steps slower and refreshes rarer (measured).
        capacity = round(4 * n_features**0.5)
        return cls(
            vectors,
            np.maximum(values, 0),
            np.zeros((capacity, n_features)),
            np.zeros(capacity),
        )

    def check(self) -> None:
        """Raise a ValueError if the fields are not valid."""
        n_features, capacity = len(self.values), len(self.weights)
        require(n_features > 0 and capacity > 0)
        require_array(self.vectors, n_features, n_features)
        require_array(self.values, n_features)
        require_array(self.rows, capacity, n_features)
        require_array(self.weights, capacity)
        require_count(self.count, most=capacity)

    @property
    def low_rank(self) -> LowRankMetric:
        """The matrix in the basis U."""
        return LowRankMetric(self.values, self.rows, self.weights, self.count)

    def refresh(self) -> None:
        """Compute the eigenbasis again, after which there are no rows."""
        # LAPACK directly: for few features the overhead of `eigh` is measurable.
        values, rotation, failed = lapack.dsyevd(self.low_rank.dense().T, lower=0, overwrite_a=1)
        if failed:
            raise np.linalg.LinAlgError("The eigenvalues of the metric did not converge.")
        # In one statement, which no interrupt divides.
        self.values, self.vectors, self.count = np.maximum(values, 0), self.vectors @ rotation, 0

    def multiply(self, factor: float) -> None:
        """Multiply the matrix by a positive number."""
        self.values *= factor
        self.weights *= factor

    def dense(self) -> FloatArray:
        """Return the matrix, exactly symmetric."""
        matrix = self.vectors @ self.low_rank.dense() @ self.vectors.T
        return np.asarray((matrix + matrix.T) / 2)
