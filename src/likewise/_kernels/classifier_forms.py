"""The forms in which the NumPy twins of the classifiers' kernels keep the covariance Σ."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from likewise._kernels.classifier_common import SUREST, ClassifierRule, Kind, Labels, Reals


class Covariance(Protocol):
    """What an engine asks of a form of Σ, model by model."""

    def room(self) -> bool:
        """Return whether one more update fits."""
        ...

    def variance(self, k: int, x: Reals) -> float:
        """Return xᵀΣx."""
        ...

    def update(self, k: int, x: Reals, y: float, tau: float, c: float) -> None:
        """Add ``τ y Σx`` to the weights, then ``c x xᵀ`` to Σ⁻¹."""
        ...


class Diagonal:
    """Σ⁻¹ is a diagonal; without one Σ is the identity for ever."""

    def __init__(self, W: Reals, precision: Reals, reach: Reals, rule: ClassifierRule) -> None:
        self.W, self.precision, self.reach, self.rule = W, precision, reach, rule

    def room(self) -> bool:
        return True

    def variance(self, k: int, x: Reals) -> float:
        return float(x @ (x / self.precision[k] if self.precision.size else x))

    def update(self, k: int, x: Reals, y: float, tau: float, c: float) -> None:
        if not self.precision.size:
            along = x.copy()
            if self.rule.bias and self.rule.kind is Kind.UNEVEN:
                along[-1] *= self.reach[k]
            self.W[k] += y * tau * along
        elif (
            self.rule.kind is Kind.SECOND_ORDER_PERCEPTRON
        ):  # w = Σv with v += y x: each weight is divided anew
            v = self.W[k] * self.precision[k] + y * x
            self.precision[k] = np.minimum(self.precision[k] + x * x, SUREST)
            self.W[k] = v / self.precision[k]
        else:
            self.W[k] += y * tau * (x / self.precision[k])
            self.precision[k] = np.minimum(self.precision[k] + c * (x * x), SUREST)


class Factored:
    """Σ = U diag(D) Uᵀ, with column j of the unit upper triangular U in row j of `columns`."""

    def __init__(self, W: Reals, columns: Reals, diagonal: Reals) -> None:
        self.W, self.columns, self.diagonal = W, columns, diagonal

    def room(self) -> bool:
        return True

    def variance(self, k: int, x: Reals) -> float:
        f = x + self.columns[k, :, : len(x)] @ x
        return float(f @ (self.diagonal[k] * f))

    def update(self, k: int, x: Reals, y: float, tau: float, c: float) -> None:
        columns = self.columns[k, :, : len(x)]
        f = x + columns @ x
        v = self.diagonal[k] * f
        gain = np.zeros(len(x))
        before = 1.0
        for j in range(len(x)):
            after = before + c * (f[j] * v[j])
            self.diagonal[k, j] = max(self.diagonal[k, j] * (before / after), 1 / SUREST)
            old = columns[j, :j].copy()
            columns[j, :j] += (-c * f[j] / before) * gain[:j]
            gain[:j] += v[j] * old
            gain[j] = v[j]
            before = after
        self.W[k] += y * tau * gain


class LowRank:
    """Σ = s I - HᵀH, and its inverse is I/s + SᵀS."""

    def __init__(
        self,
        W: Reals,
        sketch: Reals,
        history: Reals,
        used: Labels,
        trace: Reals,
        variance: float,
    ) -> None:
        self.W, self.sketch, self.history, self.used = W, sketch, history, used
        self.trace, self.start = trace, variance

    def room(self) -> bool:
        return bool((self.used < self.sketch.shape[1]).all())

    def variance(self, k: int, x: Reals) -> float:
        t = self.history[k, : self.used[k]] @ x
        # No eigenvalue of Σ is below 1 / trace, whatever rounding says.
        return float(max(self.start * (x @ x) - t @ t, (x @ x) / self.trace[k]))

    def update(self, k: int, x: Reals, y: float, tau: float, c: float) -> None:
        u = self.variance(k, x)
        history = self.history[k, : self.used[k]]
        gain = self.start * x - history.T @ (history @ x)
        self.W[k] += y * tau * gain
        if not self.trace[k] + c * (x @ x) < SUREST:
            return
        self.history[k, self.used[k]] = np.sqrt(c / (1 + c * u)) * gain
        self.sketch[k, self.used[k]] = np.sqrt(c) * x
        self.trace[k] += c * (x @ x)
        self.used[k] += 1
