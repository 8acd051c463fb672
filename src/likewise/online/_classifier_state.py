"""What an online classifier knows, and how labelled rows change it.

All learners share this engine: a rule says when and how far to step, a form says what is kept of
the covariance Σ of the weights. A step adds ``τ y Σx`` to w and ``c x xᵀ`` to Σ⁻¹.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise import _files, _loops
from likewise._loops import ClassifierRule
from likewise._loops.classifier_common import (
    EventLearner,
    Kind,
    Sketch,
    margins,
    predicted,
    split,
)
from likewise._loops.common import padded
from likewise._runtime.arrays import FloatArray, IndexArray
from likewise._runtime.threads import single_threaded_blas
from likewise.online._covariance_blocks import learn_in_blocks, likely, matrix_of
from likewise.online._rows import is_sparse, learnable

_NOTHING = np.empty((0, 0))
_NO_LIMIT = 2**62

# Measured: from so many features on, blocks of matrix products beat event by event.
_WIDE = 160


@_files.record
@dataclass
class DiagonalForm:
    """Σ has no correlations; its inverse is kept, model by model."""

    precision: FloatArray

    def learn(
        self,
        weights: FloatArray,
        reach: FloatArray,
        X: Any,
        labels: IndexArray,
        top2: bool,
        rule: ClassifierRule,
    ) -> tuple[FloatArray, int]:
        """Take events; return scores before each update, and the number of updates."""
        return _learn_linear(weights, self.precision, reach, X, labels, top2, rule)

    def covariance(self) -> FloatArray:
        """Return the variances, a row a model."""
        return 1 / self.precision


@_files.record
@dataclass
class FactoredForm:
    """Σ = U diag(D) Uᵀ, model by model: positive definite however long the stream."""

    columns: FloatArray
    diagonal: FloatArray

    @classmethod
    def start(cls, n_models: int, width: int, variance: float) -> FactoredForm:
        """Return the factors of a multiple of the identity."""
        return cls(np.zeros((n_models, width, padded(width))), np.full((n_models, width), variance))

    def learn(
        self,
        weights: FloatArray,
        reach: FloatArray,
        X: Any,
        labels: IndexArray,
        top2: bool,
        rule: ClassifierRule,
    ) -> tuple[FloatArray, int]:
        """Take events; return scores before each update, and the number of updates."""
        X = _dense(X)
        if top2:
            return _loops.factor_events(
                weights, self.columns, self.diagonal, reach, X, labels, True, _NO_LIMIT, rule
            )
        scores, updates = np.empty((len(X), len(weights))), 0
        for k, own in _models(weights, labels):
            scores[:, k], changed = self._learn_model(k, weights, reach, X, own, rule)
            updates += changed
        return scores, updates

    def _learn_model(
        self,
        k: int,
        weights: FloatArray,
        reach: FloatArray,
        X: FloatArray,
        labels: IndexArray,
        rule: ClassifierRule,
    ) -> tuple[FloatArray, int]:
        """Take the events of one model: one by one, and in blocks once they have paid."""
        model = slice(k, k + 1)
        width = weights.shape[1]
        scores, updates, taken = np.empty(len(X)), 0, 0

        def one_by_one(limit: int) -> None:
            nonlocal taken, updates
            found, changed = _loops.factor_events(
                weights[model],
                self.columns[model],
                self.diagonal[model],
                reach[model],
                X[taken:],
                labels[taken:],
                False,
                limit,
                rule,
            )
            scores[taken : taken + len(found)] = found[:, 0]
            taken, updates = taken + len(found), updates + changed

        # To leave the factors and to come back costs about as much as so many updates.
        worth = width // 8
        if width >= _WIDE and len(X) > worth:
            with single_threaded_blas():
                expected = np.count_nonzero(likely(weights[k], X, labels, rule))
            if expected < 2 * worth:
                one_by_one(worth)
            if taken < len(X):
                found, changed = learn_in_blocks(
                    weights[k],
                    self.columns[k],
                    self.diagonal[k],
                    X[taken:],
                    labels[taken:],
                    rule,
                )
                scores[taken : taken + len(found)] = found
                taken, updates = taken + len(found), updates + changed
        if taken < len(X):
            one_by_one(_NO_LIMIT)
        return scores, updates

    def covariance(self) -> FloatArray:
        """Return the matrices, one a model."""
        return np.stack(
            [matrix_of(*factors) for factors in zip(self.columns, self.diagonal, strict=True)]
        )


@_files.record
@dataclass
class SketchedForm:
    """Σ⁻¹ = I/s + QᵀSᵀSQ with S kept to `rank` rows by frequent directions, model by model.

    The arrays are those of a `Sketch`. There is room for twice as many rows, so that they are
    sorted out only now and then.
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

    @classmethod
    def start(cls, n_models: int, width: int, variance: float, rank: int) -> SketchedForm:
        """Return the sketch of a multiple of the identity."""
        rank = min(rank, width)  # more rows than features have nothing to tell
        room = 2 * rank
        return cls(
            rank,
            variance,
            basis=np.zeros((n_models, room, width)),
            spanned=np.zeros(n_models, dtype=np.int64),
            rows=np.zeros((n_models, room, room)),
            used=np.zeros(n_models, dtype=np.int64),
            columns=np.zeros((n_models, room, padded(room))),
            diagonal=np.full((n_models, room), variance),
            trace=np.full(n_models, 1 / variance),
            sums=np.zeros((n_models, width)),
        )

    def learn(
        self,
        weights: FloatArray,
        reach: FloatArray,
        X: Any,
        labels: IndexArray,
        top2: bool,
        rule: ClassifierRule,
    ) -> tuple[FloatArray, int]:
        """Take events; return scores before each update, and the number of updates."""
        X = _dense(X)
        if top2:
            return self._learn_models(slice(None), weights, reach, X, labels, True, rule)
        scores, updates = np.empty((len(X), len(weights))), 0
        for k, own in _models(weights, labels):
            model = slice(k, k + 1)
            found, changed = self._learn_models(model, weights, reach, X, own, False, rule)
            scores[:, k] = found[:, 0]
            updates += changed
        return scores, updates

    def _learn_models(
        self,
        models: slice,
        weights: FloatArray,
        reach: FloatArray,
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
                reach[models],
                X[taken:],
                labels[taken:],
                top2,
                rule,
            )
            parts.append(found)
            taken, updates = taken + len(found), updates + changed
            for k in np.flatnonzero(self.used == self.rows.shape[1]):
                self._sort_out(int(k), weights[k], rule)
        return np.concatenate(parts), updates

    def _sketch(self, models: slice) -> Sketch:
        return Sketch(*(getattr(self, name)[models] for name in Sketch._fields))

    def _sort_out(self, k: int, w: FloatArray, rule: ClassifierRule) -> None:
        """Turn S to its main directions, shorten all by the first that is dropped, keep `rank`."""
        s, Q = self.variance, self.basis[k, : self.spanned[k]]
        S = self.rows[k, : self.used[k], : self.spanned[k]]
        _, lengths, directions = np.linalg.svd(S, full_matrices=False)
        dropped = lengths[self.rank] ** 2 if len(lengths) > self.rank else 0.0
        kept = np.maximum(lengths[: self.rank] ** 2 - dropped, 0)
        count = int(np.count_nonzero(kept))
        kept = kept[:count]
        # Orthonormal again to the last digit, or rounding would add up from time to time.
        turned, signs = np.linalg.qr((directions[:count] @ Q).T)
        Q = (turned * np.sign(signs.diagonal())).T
        self.basis[k, :count] = Q
        self.rows[k] = 0
        np.fill_diagonal(self.rows[k, :count], np.sqrt(kept))
        self.columns[k] = 0
        self.diagonal[k] = s
        self.diagonal[k, :count] = s / (1 + s * kept)
        self.used[k] = self.spanned[k] = count
        if rule.kind is Kind.SECOND_ORDER_PERCEPTRON:  # w is Σv at all times
            inside, outside = split(self.sums[k], Q)
            w[:] = s * outside + Q.T @ (self.diagonal[k, :count] * inside)

    def covariance(self) -> FloatArray:
        """Return the matrices, one a model."""
        found = []
        for basis, columns, diagonal in zip(self.basis, self.columns, self.diagonal, strict=True):
            inside = matrix_of(columns, diagonal)
            inside[np.diag_indices_from(inside)] -= self.variance
            added = basis.T @ inside @ basis
            found.append(self.variance * np.eye(basis.shape[1]) + (added + added.T) / 2)
        return np.stack(found)


Form = DiagonalForm | FactoredForm | SketchedForm


@_files.record
@dataclass
class ClassifierState:
    """Weights and covariance of every model, and what they have been through."""

    weights: FloatArray
    reach: FloatArray
    form: Form | None
    n_events: int = 0
    n_updates: int = 0
    mistakes: int = 0

    @classmethod
    def start(
        cls, n_models: int, width: int, covariance: str | int | None, variance: float
    ) -> ClassifierState:
        """Return the state before the first event."""
        form: Form | None = None
        if covariance == "diagonal":
            form = DiagonalForm(np.full((n_models, width), 1 / variance))
        elif covariance == "full":
            form = FactoredForm.start(n_models, width, variance)
        elif covariance is not None:
            form = SketchedForm.start(n_models, width, variance, int(covariance))
        return cls(np.zeros((n_models, width)), np.zeros(n_models), form)


def size_of(n_models: int, width: int, covariance: str | int | None) -> float:
    """Return how many numbers a state holds, about."""
    if isinstance(covariance, str | None):
        each = {None: 1, "diagonal": 2, "full": 2 + padded(width)}[covariance]
        return float(n_models * width * each)
    room = 2 * min(covariance, width)
    return float(n_models * (width * (2 + room) + room * (room + padded(room))))


def advance(
    state: ClassifierState, X: Any, labels: IndexArray, top2: bool, rule: ClassifierRule
) -> FloatArray:
    """Take labelled rows in place, and return their scores before each was learned.

    Parameters
    ----------
    state : ClassifierState
        Changes.
    X : float64 array of shape (n, d), or CSR matrix without duplicates
        Rows.
    labels : int64 array of shape (n,)
        The number of each row's class; 0 and 1 where there is a single model.
    top2 : bool
        Whether a label learns against the best wrong one, or each class against the rest.
    rule : ClassifierRule
        When and how far to step.
    """
    if state.form is None:
        learned = _learn_linear(state.weights, _NOTHING, state.reach, X, labels, top2, rule)
    else:
        learned = state.form.learn(state.weights, state.reach, X, labels, top2, rule)
    scores, updates = learned
    state.n_events += len(labels)
    state.n_updates += updates
    state.mistakes += int(np.count_nonzero(predicted(scores) != labels))
    return scores


def row_learner(state: ClassifierState, top2: bool, rule: ClassifierRule) -> EventLearner:
    """Return a function that takes one dense row and its label, without the cost of a batch.

    It returns the margin (NaN, and nothing changed, if the row cannot be learned from), whether
    the row was a mistake, and how many models changed; counting is left to the caller.
    """
    form = state.form
    if form is None or isinstance(form, DiagonalForm):
        precision = _NOTHING if form is None else form.precision
        return _loops.event_learner(state.weights, precision, state.reach, top2, rule)

    def learn(x: FloatArray, label: int) -> tuple[float, bool, int]:
        if not learnable(x):
            return np.nan, False, 0
        labels = np.array([label])
        scores, updates = form.learn(state.weights, state.reach, x[None], labels, top2, rule)
        mistake = bool(predicted(scores)[0] != label)
        return float(margins(scores, labels)[0]), mistake, updates

    return learn


class UnlearnableError(Exception):
    """A row is not finite or too long; the state is spoiled."""


def _learn_linear(
    weights: FloatArray,
    precision: FloatArray,
    reach: FloatArray,
    X: Any,
    labels: IndexArray,
    top2: bool,
    rule: ClassifierRule,
) -> tuple[FloatArray, int]:
    if not is_sparse(X):
        scores, updates = _loops.dense_events(weights, precision, reach, X, labels, top2, rule)
        if updates < 0:
            raise UnlearnableError
        return scores, updates
    return _loops.csr_events(
        weights,
        precision,
        reach,
        X.data,
        X.indices.astype(np.int32, copy=False),
        X.indptr.astype(np.int64, copy=False),
        X.shape[1],
        labels,
        top2,
        rule,
    )


def _dense(X: Any) -> FloatArray:
    return np.ascontiguousarray(X.toarray()) if is_sparse(X) else X


def _models(weights: FloatArray, labels: IndexArray) -> list[tuple[int, IndexArray]]:
    """Return each model's number, and 1 for each event of its own."""
    if len(weights) == 1:
        return [(0, labels)]
    return [(k, (labels == k).astype(np.int64)) for k in range(len(weights))]
