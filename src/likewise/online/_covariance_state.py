"""The covariance Σ of the weights of an online classifier, and its update by labelled samples.

There is one Σ per model. An update adds ``τ y Σx`` to the weights and ``c x xᵀ`` to Σ⁻¹, with τ and
c of the `ClassifierRule`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from likewise import _files, _loops
from likewise._loops.checks import padded
from likewise._loops.classifiers.types import (
    ClassifierRule,
    EventLearner,
    margins,
    predicted,
)
from likewise._runtime.arrays import FloatArray, IndexArray
from likewise._runtime.invariants import (
    require,
    require_array,
)
from likewise._runtime.threads import single_threaded_blas
from likewise.online._covariance_blocks import dense_covariance, learn_in_blocks, likely_updates
from likewise.online._samples import is_sparse, samples_in_range

_NO_LIMIT = 2**62

# Measured: features from which blocks of matrix products beat sample by sample.
_BLOCK_FEATURES = 160


class OutOfRangeError(Exception):
    """A sample is not finite or too long; the state is no longer valid."""


class CovarianceState(ABC):
    """Σ of every model, in one of several representations."""

    is_diagonal: ClassVar[bool] = False
    """Whether Σ is diagonal. Then an update touches only the features that a sparse sample stores,
    and the loops check each dense sample themselves before they learn from it."""

    @abstractmethod
    def learn(
        self,
        weights: FloatArray,
        max_sqnorm: FloatArray,
        X: Any,
        labels: IndexArray,
        top2: bool,
        rule: ClassifierRule,
    ) -> tuple[FloatArray, int]:
        """Update weights and Σ in place with samples in order.

        Returns the scores of each sample before its update, and the number of updates.
        """

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int] | None:
        """Numbers of models and of weights; None if Σ is fixed."""

    @abstractmethod
    def check(self) -> None:
        """Raise a ValueError if the fields are not valid."""

    @abstractmethod
    def dense(self) -> FloatArray:
        """Return Σ of every model, or only its diagonal if it is diagonal."""

    def event_learner(
        self, weights: FloatArray, max_sqnorm: FloatArray, top2: bool, rule: ClassifierRule
    ) -> EventLearner:
        """Return a function that learns from one dense sample, without the cost of a batch."""

        def learn(x: FloatArray, label: int) -> tuple[float, int, int]:
            if not samples_in_range(x):
                return np.nan, 0, 0
            labels = np.array([label])
            scores, updates = self.learn(weights, max_sqnorm, x[None], labels, top2, rule)
            return float(margins(scores, labels)[0]), int(predicted(scores)[0]), updates

        return learn


@_files.record
@dataclass
class DiagonalCovariance(CovarianceState):
    """A diagonal Σ: `precision` is the diagonal of Σ⁻¹, one row per model.

    An empty `precision` stands for the fixed Σ = I of a first-order classifier.
    """

    precision: FloatArray
    is_diagonal: ClassVar[bool] = True

    @property
    def shape(self) -> tuple[int, int] | None:
        """Numbers of models and of weights; None if Σ is fixed."""
        n_models, width = self.precision.shape
        return (n_models, width) if self.precision.size else None

    def check(self) -> None:
        """Raise a ValueError if the fields are not valid."""
        require_array(self.precision, None, None)
        require(bool((self.precision > 0).all()))

    @classmethod
    def start(cls, n_models: int, width: int, variance: float) -> DiagonalCovariance:
        """Return a multiple of the identity."""
        return cls(np.full((n_models, width), 1 / variance))

    @classmethod
    def identity(cls) -> DiagonalCovariance:
        """Return the fixed Σ = I of a first-order classifier."""
        return cls(np.empty((0, 0)))

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
        if is_sparse(X):
            return _loops.csr_events(
                weights,
                self.precision,
                max_sqnorm,
                X.data,
                X.indices.astype(np.int32, copy=False),
                X.indptr.astype(np.int64, copy=False),
                X.shape[1],
                labels,
                top2,
                rule,
            )
        scores, updates = _loops.dense_events(
            weights, self.precision, max_sqnorm, X, labels, top2, rule
        )
        if updates < 0:
            raise OutOfRangeError
        return scores, updates

    def event_learner(
        self, weights: FloatArray, max_sqnorm: FloatArray, top2: bool, rule: ClassifierRule
    ) -> EventLearner:
        """Return a function that learns from one dense sample, without the cost of a batch."""
        return _loops.event_learner(weights, self.precision, max_sqnorm, top2, rule)

    def dense(self) -> FloatArray:
        """Return the variances, one row per model."""
        return 1 / self.precision


@_files.record
@dataclass
class FactoredCovariance(CovarianceState):
    """A full Σ = U diag(D) Uᵀ per model, which stays positive definite however long the stream."""

    columns: FloatArray
    diagonal: FloatArray

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of models and of weights."""
        n_models, width = self.diagonal.shape
        return n_models, width

    def check(self) -> None:
        """Raise a ValueError if the fields are not valid."""
        require_array(self.diagonal, None, None)
        n_models, width = self.shape
        require_array(self.columns, n_models, width, padded(width))
        require(bool((self.diagonal > 0).all()))

    @classmethod
    def start(cls, n_models: int, width: int, variance: float) -> FactoredCovariance:
        """Return the factors of a multiple of the identity."""
        return cls(np.zeros((n_models, width, padded(width))), np.full((n_models, width), variance))

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
            return _loops.factor_events(
                weights, self.columns, self.diagonal, max_sqnorm, X, labels, True, _NO_LIMIT, rule
            )

        def learn_model(k: int, binary: IndexArray) -> tuple[FloatArray, int]:
            return self._learn_model(k, weights, max_sqnorm, X, binary, rule)

        return learn_one_vs_rest(learn_model, len(weights), labels)

    def _learn_model(
        self,
        k: int,
        weights: FloatArray,
        max_sqnorm: FloatArray,
        X: FloatArray,
        labels: IndexArray,
        rule: ClassifierRule,
    ) -> tuple[FloatArray, int]:
        """Update one model: sample by sample, or in blocks where that is faster."""
        model = slice(k, k + 1)
        width = weights.shape[1]
        scores, updates, taken = np.empty(len(X)), 0, 0

        def one_by_one(limit: int) -> None:
            nonlocal taken, updates
            found, changed = _loops.factor_events(
                weights[model],
                self.columns[model],
                self.diagonal[model],
                max_sqnorm[model],
                X[taken:],
                labels[taken:],
                False,
                limit,
                rule,
            )
            scores[taken : taken + len(found)] = found[:, 0]
            taken, updates = taken + len(found), updates + changed

        # Updates that cost as much as changing from the factors to a dense Σ and back.
        break_even = width // 8
        if width >= _BLOCK_FEATURES and len(X) > break_even:
            with single_threaded_blas():
                expected = np.count_nonzero(likely_updates(weights[k], X, labels, rule))
            if expected < 2 * break_even:
                one_by_one(break_even)
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

    def dense(self) -> FloatArray:
        """Return the matrices, one per model."""
        factors = zip(self.columns, self.diagonal, strict=True)
        return np.stack([dense_covariance(*pair) for pair in factors])


def to_dense(X: Any) -> FloatArray:
    """Return samples as a dense array."""
    return np.ascontiguousarray(X.toarray()) if is_sparse(X) else X


def learn_one_vs_rest(
    learn_model: Callable[[int, IndexArray], tuple[FloatArray, int]],
    n_models: int,
    labels: IndexArray,
) -> tuple[FloatArray, int]:
    """Learn each model with labels 1 for its own class and 0 for the rest.

    `learn_model` takes the number of a model and its labels, and returns the scores of the samples
    and the updates. Returned are the scores, one column per model, and all updates.
    """
    if n_models == 1:
        scores, updates = learn_model(0, labels)
        return scores[:, None], updates
    learned = [learn_model(k, (labels == k).astype(np.int64)) for k in range(n_models)]
    return np.stack([scores for scores, _ in learned], axis=1), sum(n for _, n in learned)
