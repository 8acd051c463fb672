"""Representations of the covariance Σ of a classifier in NumPy: diagonal, factored, of low rank."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from likewise._loops.classifiers.types import MAX_PRECISION, ClassifierRule, Kind, Sketch, split
from likewise._runtime.arrays import FloatArray


class Covariance(Protocol):
    """The covariance Σ of each model k."""

    def has_capacity(self) -> bool:
        """Return whether there is capacity for one more update."""
        ...

    def variance(self, k: int, x: FloatArray) -> float:
        """Return xᵀΣx."""
        ...

    def update(self, k: int, x: FloatArray, y: float, tau: float, c: float) -> None:
        """Add ``τ y Σx`` to the weights, then ``c x xᵀ`` to Σ⁻¹."""
        ...


class Diagonal:
    """Σ⁻¹ is diagonal; with an empty precision Σ is the identity and never updated."""

    def __init__(
        self, W: FloatArray, precision: FloatArray, max_sqnorm: FloatArray, rule: ClassifierRule
    ) -> None:
        self.W, self.precision, self.max_sqnorm, self.rule = W, precision, max_sqnorm, rule

    def has_capacity(self) -> bool:
        return True

    def variance(self, k: int, x: FloatArray) -> float:
        return float(x @ (x / self.precision[k] if self.precision.size else x))

    def update(self, k: int, x: FloatArray, y: float, tau: float, c: float) -> None:
        if not self.precision.size:
            along = x.copy()
            if self.rule.bias and self.rule.kind is Kind.PAUM:
                along[-1] *= self.max_sqnorm[k]
            self.W[k] += y * tau * along
        elif self.rule.kind is Kind.SECOND_ORDER_PERCEPTRON:
            # w = Σv with v += y x.
            v = self.W[k] * self.precision[k] + y * x
            self.precision[k] = np.minimum(self.precision[k] + x * x, MAX_PRECISION)
            self.W[k] = v / self.precision[k]
        else:
            self.W[k] += y * tau * (x / self.precision[k])
            self.precision[k] = np.minimum(self.precision[k] + c * (x * x), MAX_PRECISION)


class Factored:
    """Σ = U diag(D) Uᵀ, with column j of the unit upper triangular U in row j of `columns`."""

    def __init__(self, W: FloatArray, columns: FloatArray, diagonal: FloatArray) -> None:
        self.W, self.columns, self.diagonal = W, columns, diagonal

    def has_capacity(self) -> bool:
        return True

    def variance(self, k: int, x: FloatArray) -> float:
        f = x + self.columns[k, :, : len(x)] @ x
        return float(f @ (self.diagonal[k] * f))

    def update(self, k: int, x: FloatArray, y: float, tau: float, c: float) -> None:
        columns = self.columns[k, :, : len(x)]
        f = x + columns @ x
        v = self.diagonal[k] * f
        gain = np.zeros(len(x))
        before = 1.0
        for j in range(len(x)):
            after = before + c * (f[j] * v[j])
            self.diagonal[k, j] = max(self.diagonal[k, j] * (before / after), 1 / MAX_PRECISION)
            old = columns[j, :j].copy()
            columns[j, :j] += (-c * f[j] / before) * gain[:j]
            gain[:j] += v[j] * old
            gain[j] = v[j]
            before = after
        self.W[k] += y * tau * gain


class LowRank:
    """Σ of a `Sketch`: factored within a small basis, a multiple of I in its complement."""

    def __init__(self, W: FloatArray, sketch: Sketch, rule: ClassifierRule) -> None:
        self.W, self.sketch, self.rule = W, sketch, rule
        # The weights of the inner covariance: after an update they hold τ y Σx in coordinates.
        self.gains = np.zeros_like(sketch.diagonal)
        self.inner = Factored(self.gains, sketch.columns, sketch.diagonal)

    def has_capacity(self) -> bool:
        return bool((self.sketch.used < self.sketch.rows.shape[1]).all())

    def variance(self, k: int, x: FloatArray) -> float:
        return self.inner.variance(k, self._coordinates(k, x)[0])

    def update(self, k: int, x: FloatArray, y: float, tau: float, c: float) -> None:
        basis, spanned, rows, used, _, _, trace, sums = self.sketch
        if self.rule.kind is Kind.SECOND_ORDER_PERCEPTRON:
            sums[k] += y * x
        inside, outside = self._coordinates(k, x)
        if spanned[k] < len(inside) and inside[spanned[k]]:
            basis[k, spanned[k]] = outside / inside[spanned[k]]
            spanned[k] += 1
        if not trace[k] + c * (x @ x) < MAX_PRECISION:
            c = 0.0  # the precision would overflow: only w is updated
        self.gains[k] = 0
        self.inner.update(k, inside, y, tau, c)
        self.W[k] += basis[k].T @ self.gains[k]
        rows[k, used[k]] = np.sqrt(c) * inside
        trace[k] += c * (x @ x)
        used[k] += 1

    def _coordinates(self, k: int, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the coordinates of x, the norm of its residual as the next, and the residual."""
        spanned = self.sketch.spanned[k]
        coordinates = np.zeros(self.sketch.basis.shape[1])
        coordinates[:spanned], outside = split(x, self.sketch.basis[k, :spanned])
        if spanned < len(coordinates):
            coordinates[spanned] = np.sqrt(outside @ outside)
        return coordinates, outside
