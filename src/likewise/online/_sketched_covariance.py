"""A covariance of low rank: Σ of each model as a sketch of its updates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise import _files, _loops
from likewise._loops.checks import padded
from likewise._loops.classifiers.types import ClassifierRule, Kind, Sketch, split
from likewise._runtime.arrays import FloatArray, IndexArray
from likewise._runtime.invariants import (
    require,
    require_array,
    require_count,
    require_index,
    require_number,
)
from likewise.online._covariance_blocks import dense_covariance
from likewise.online._covariance_state import (
    CovarianceState,
    OutOfRangeError,
    learn_one_vs_rest,
    to_dense,
)


@_files.record
@dataclass
class SketchedCovariance(CovarianceState):
    """Σ⁻¹ = I/s + QᵀSᵀSQ per model, with S reduced to `rank` rows by frequent directions.

    The arrays are those of a `Sketch`. Their capacity is twice the rank, so that the reduction is
    needed only once per `rank` updates.
    """

    rank: int
    variance: float
    basis: FloatArray
    spanned: IndexArray
    rows: FloatArray
    used: IndexArray
    columns: FloatArray
    diagonal: FloatArray
    trace: FloatArray
    sums: FloatArray

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of models and of weights."""
        n_models, width = self.sums.shape
        return n_models, width

    def check(self) -> None:
        """Raise a ValueError if the fields are not valid."""
        require_array(self.sums, None, None)
        n_models, width = self.shape
        require_count(self.rank, least=1, most=width)
        capacity = 2 * self.rank
        require_number(self.variance)
        require(self.variance > 0)
        require_array(self.basis, n_models, capacity, width)
        require_array(self.rows, n_models, capacity, capacity)
        require_array(self.columns, n_models, capacity, padded(capacity))
        require_array(self.diagonal, n_models, capacity)
        require_array(self.trace, n_models)
        for counts in (self.spanned, self.used):
            require_index(counts, n_models, capacity + 1)
        require(bool((self.diagonal > 0).all() and (self.spanned <= self.used).all()))

    @classmethod
    def start(cls, n_models: int, width: int, variance: float, rank: int) -> SketchedCovariance:
        """Return the sketch of a multiple of the identity."""
        rank = min(rank, width)
        capacity = 2 * rank
        return cls(
            rank,
            variance,
            basis=np.zeros((n_models, capacity, width)),
            spanned=np.zeros(n_models, dtype=np.int64),
            rows=np.zeros((n_models, capacity, capacity)),
            used=np.zeros(n_models, dtype=np.int64),
            columns=np.zeros((n_models, capacity, padded(capacity))),
            diagonal=np.full((n_models, capacity), variance),
            trace=np.full(n_models, 1 / variance),
            sums=np.zeros((n_models, width)),
        )

    def learn(
        self,
        weights: FloatArray,
        max_sqnorm: FloatArray,
        X: Any,
        labels: IndexArray,
        top2: bool,
        rule: ClassifierRule,
    ) -> tuple[FloatArray, int]:
        """Update weights and Σ in place; see `CovarianceState.learn`."""
        X = to_dense(X)
        if top2:
            return self._learn_models(slice(None), weights, max_sqnorm, X, labels, True, rule)

        def learn_model(k: int, binary: IndexArray) -> tuple[FloatArray, int]:
            model = slice(k, k + 1)
            found, changed = self._learn_models(model, weights, max_sqnorm, X, binary, False, rule)
            return found[:, 0], changed

        return learn_one_vs_rest(learn_model, len(weights), labels)

    def _learn_models(
        self,
        models: slice,
        weights: FloatArray,
        max_sqnorm: FloatArray,
        X: FloatArray,
        labels: IndexArray,
        top2: bool,
        rule: ClassifierRule,
    ) -> tuple[FloatArray, int]:
        parts, updates, taken = [], 0, 0
        while taken < len(X):
            found, changed = _loops.low_rank_events(
                weights[models],
                self._sketch(models),
                max_sqnorm[models],
                X[taken:],
                labels[taken:],
                top2,
                rule,
            )
            parts.append(found)
            taken, updates = taken + len(found), updates + changed
            full = np.flatnonzero(self.used == self.rows.shape[1])
            if not len(found) and not len(full):
                raise OutOfRangeError  # the state is no longer valid
            for k in full:
                self._reduce(int(k), weights[k], rule)
        return np.concatenate(parts), updates

    def _sketch(self, models: slice) -> Sketch:
        return Sketch(*(getattr(self, name)[models] for name in Sketch._fields))

    def _reduce(self, k: int, w: FloatArray, rule: ClassifierRule) -> None:
        """Reduce S to `rank` rows by frequent directions.

        S is rotated to its principal directions, and the squared length of the first one that is
        dropped is subtracted from all squared lengths.
        """
        s, Q = self.variance, self.basis[k, : self.spanned[k]]
        S = self.rows[k, : self.used[k], : self.spanned[k]]
        if not np.isfinite(S).all():  # for which LAPACK might not return
            raise ValueError("The covariance is no longer finite: the samples are too large.")
        _, lengths, directions = np.linalg.svd(S, full_matrices=False)
        dropped = lengths[self.rank] ** 2 if len(lengths) > self.rank else 0.0
        kept = np.maximum(lengths[: self.rank] ** 2 - dropped, 0)
        count = int(np.count_nonzero(kept))
        kept = kept[:count]
        # QR restores orthonormality, or rounding errors would add up over the reductions.
        rotated, signs = np.linalg.qr((directions[:count] @ Q).T)
        Q = (rotated * np.sign(signs.diagonal())).T
        self.basis[k, :count] = Q
        self.rows[k] = 0
        np.fill_diagonal(self.rows[k, :count], np.sqrt(kept))
        self.columns[k] = 0
        self.diagonal[k] = s
        self.diagonal[k, :count] = s / (1 + s * kept)
        self.used[k] = self.spanned[k] = count
        if rule.kind is Kind.SECOND_ORDER_PERCEPTRON:  # w = Σv, with the new Σ
            inside, outside = split(self.sums[k], Q)
            w[:] = s * outside + Q.T @ (self.diagonal[k, :count] * inside)

    def dense(self) -> FloatArray:
        """Return the matrices, one per model."""
        matrices = []
        for basis, columns, diagonal in zip(self.basis, self.columns, self.diagonal, strict=True):
            inside = dense_covariance(columns, diagonal)
            inside[np.diag_indices_from(inside)] -= self.variance
            added = basis.T @ inside @ basis
            matrices.append(self.variance * np.eye(basis.shape[1]) + (added + added.T) / 2)
        return np.stack(matrices)
