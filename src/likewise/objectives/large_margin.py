"""The LMNN objective: pull targets near, push impostors beyond a margin.

Pairs come in groups. Each group has an anchor, target pairs that pull, and impostor pairs, each of
which has to be farther than every target pair of the group by a margin. The hinge losses depend on
squared distances only, so the distances of one group may come from several metrics.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from likewise import _loops
from likewise._loops.hinges.types import Hinges
from likewise._numerics.products import map_rows, product_over_slices
from likewise._numerics.spread import standard_deviations
from likewise._runtime.arrays import Array, BoolArray, FloatArray, IndexArray
from likewise._runtime.threads import run_blocks
from likewise.objectives.evaluation_memory import EvaluationMemory
from likewise.objectives.large_margin_bound import LargeMarginBound, LowerBound, QuadraticPenalty

_SQUARED_ROWS = 1024  # squared in double precision at a time
_PRODUCTS_OF_PAIRS = 8  # dense products in the time of one with the rows of a pair


@dataclass(frozen=True, eq=False)
class GroupedPairs:
    """Pairs of rows of X, sorted by group: group g has ``indptr[g]`` to ``indptr[g + 1]``.

    Attributes
    ----------
    rows, cols : int array of shape (n_pairs,)
        Row numbers of the anchor and of the other row.
    indptr : int array of shape (n_groups + 1,)
        Where each group begins.
    """

    rows: IndexArray
    cols: IndexArray
    indptr: IndexArray

    @classmethod
    def from_sorted(
        cls, groups: IndexArray, n_groups: int, rows: IndexArray, cols: IndexArray
    ) -> GroupedPairs:
        """Build it from pairs that are sorted by `groups`, the group of each pair."""
        indptr = np.zeros(n_groups + 1, dtype=np.int64)
        np.cumsum(np.bincount(groups, minlength=n_groups), out=indptr[1:])
        return cls(rows, cols, indptr)

    @classmethod
    def empty(cls, n_groups: int) -> GroupedPairs:
        """Build groups without pairs."""
        nothing = np.empty(0, dtype=np.int64)
        return cls(nothing, nothing, np.zeros(n_groups + 1, dtype=np.int64))

    def without_pairs(self) -> GroupedPairs:
        """Return the same groups, with no pairs."""
        return GroupedPairs.empty(len(self.indptr) - 1)

    @property
    def groups(self) -> IndexArray:
        """The group of each pair."""
        return np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))

    def incidence(self, n_rows: int) -> Any:
        """Return the pairs of each row: once for all evaluations with them."""
        if n_rows not in self._incidences:
            self._incidences[n_rows] = _loops.incidence(self.rows, self.cols, n_rows)
        return self._incidences[n_rows]

    @cached_property
    def _incidences(self) -> dict[int, Any]:
        return {}

    def __reduce__(self) -> tuple[type[GroupedPairs], tuple[IndexArray, IndexArray, IndexArray]]:
        return GroupedPairs, (self.rows, self.cols, self.indptr)  # an incidence stays where it is

    def select(self, mask: BoolArray) -> GroupedPairs:
        """Return the pairs in `mask`, in the same groups."""
        n_groups = len(self.indptr) - 1
        return GroupedPairs.from_sorted(
            self.groups[mask], n_groups, self.rows[mask], self.cols[mask]
        )

    def __len__(self) -> int:
        return len(self.rows)


class PairLoss(NamedTuple):
    """The loss as a function of the squared distances of pairs, and its derivatives.

    Attributes
    ----------
    value : float
        Pull and push together.
    targets, impostors : float arrays of shape (n_pairs,)
        The derivative with respect to each squared distance: at least 0 for targets, at most 0 for
        impostors.
    """

    value: float
    targets: FloatArray
    impostors: FloatArray


@dataclass(frozen=True, eq=False)
class LargeMargin:
    """``Σ_g c_g [(1-μ) Σ_j D_j + μ Σ_j Σ_l hinge(margin + D_j - D_l)]`` over groups g.

    j runs over the target pairs of a group and l over its impostor pairs.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Data centred by `robust_centre`, so that products keep the precision of differences.
    targets : GroupedPairs
        Anchors and their target neighbours.
    impostors : GroupedPairs
        Anchors and impostors, in the same groups.
    weights : array of shape (n_groups,)
        c, the weight of each group.
    push : float
        μ, the weight of the push.
    margin : float
        How much larger the squared distances of impostors should be.
    smoothing : float
        Width over which the hinge is smoothed to a quadratic; 0 keeps the kink.
    n_jobs : int or None
        Threads; None uses all cores.
    """

    X: Array
    targets: GroupedPairs
    impostors: GroupedPairs
    weights: FloatArray
    push: float = 0.5
    margin: float = 1.0
    smoothing: float = 0.0
    n_jobs: int | None = None

    def value_and_gradient(self, L: Array) -> tuple[float, Array]:
        """Return the objective at L and its gradient with respect to L."""
        return self.value_and_gradient_in(self._memory, L)

    def value_and_gradient_in(self, memory: EvaluationMemory, L: Array) -> tuple[float, Array]:
        """Return what `value_and_gradient` does, computed in memory that is filled again."""
        array, shape = memory.array, (len(self.X), len(L))
        Z = map_rows(self.X, L, self.n_jobs, out=array("mapped", *shape, dtype=self.X.dtype))
        names = {"targets": self.targets, "impostors": self.impostors}
        sqdist = [
            _loops.pair_sqdist(
                Z, pairs.rows, pairs.cols, out=array(name, len(pairs)), n_jobs=self.n_jobs
            )
            for name, pairs in names.items()
        ]
        derivatives = (array(f"{name}, derivatives", len(p)) for name, p in names.items())
        out = Hinges(array("hinges", len(self.weights)), *derivatives)
        loss = self.loss(*sqdist, out=out)
        return loss.value, 2 * self._laplacian_gradient(Z, loss)

    def transform(self, L: Array) -> Array:
        """Return the rows transformed by the variable L."""
        return self.map_rows(L)

    def map_rows(self, L: Array) -> Array:
        """Return ``X @ L.T``."""
        return map_rows(self.X, L, self.n_jobs)

    def sqdist(self, Z: Array, pairs: GroupedPairs) -> FloatArray:
        """Return the squared distances of pairs of transformed rows Z."""
        return self.pair_sqdist(Z, pairs.rows, pairs.cols)

    def pair_sqdist(self, Z: Array, rows: IndexArray, cols: IndexArray) -> FloatArray:
        """Return the squared distances of pairs of rows of Z."""
        return _loops.pair_sqdist(Z, rows, cols, n_jobs=self.n_jobs)

    def scaled(self, Z: Array, square: float) -> Array:
        """Return rows whose squared distances are `square` times those of Z."""
        return np.asarray(Z * Z.dtype.type(np.sqrt(square)))

    def median(self, sqdist: FloatArray) -> float:
        """Return the median of squared distances."""
        return float(np.median(sqdist))

    def mean_square(self) -> float:
        """Return the mean of ‖x‖² over the rows of X."""

        def block(start: int, stop: int) -> float:
            return float(np.square(self.X[start:stop], dtype=np.float64).sum())

        sums = run_blocks(block, len(self.X), _SQUARED_ROWS, self.n_jobs)
        return sum(sums) / max(1, len(self.X))

    def standard_deviations(self) -> Array:
        """Return those of the features, 0 where they are within the rounding error."""
        return standard_deviations(self.X)

    def covariance(self, features: IndexArray, axes: Array) -> Array:
        """Return the covariance of ``X[:, features] @ axes.T``."""
        rows = map_rows(self.X[:, features], axes, self.n_jobs)
        rows = rows - rows.mean(axis=0, dtype=np.float64)
        return np.asarray(rows.T @ rows / len(rows))

    def loss(
        self,
        targets: FloatArray,
        impostors: FloatArray,
        *,
        pull: float | None = None,
        out: Hinges | None = None,
    ) -> PairLoss:
        """Return the loss for squared distances of the pairs; `pull` replaces ``1 - push``."""
        pull = 1 - self.push if pull is None else pull
        hinges, target_derivatives, impostor_derivatives = _loops.group_hinges(
            targets,
            self.targets.indptr,
            impostors,
            self.impostors.indptr,
            self.weights,
            pull,
            self.push,
            self.margin,
            self.smoothing,
            out=out,
            n_jobs=self.n_jobs,
        )
        pulled = float(self._target_weights @ targets) if pull else 0.0
        value = pull * pulled + self.push * float(self.weights @ hinges)
        return PairLoss(value, target_derivatives, impostor_derivatives)

    @cached_property
    def _memory(self) -> EvaluationMemory:
        return EvaluationMemory()

    @cached_property
    def _target_weights(self) -> FloatArray:
        """The weight of the group of each target pair."""
        return np.repeat(self.weights, np.diff(self.targets.indptr))

    def lagrangian(self, loss: PairLoss, targets: FloatArray, impostors: FloatArray) -> float:
        """Return ``margin Σλ + ⟨P + Q, M⟩`` for the derivatives λ of the hinges."""
        value = loss.targets @ targets + loss.impostors @ impostors
        return float(value) - self.margin * float(loss.impostors.sum())

    def _laplacian_gradient(self, Z: Array, loss: PairLoss) -> Array:
        """Return ``(ΛZ)ᵀX``, half the gradient in L for ``Z = XLᵀ``.

        Λ is the graph Laplacian of the derivatives, and ``2ΛZ`` the gradient in Z.
        """
        n = len(Z)
        parts = [
            (self.targets.incidence(n), loss.targets),
            (self.impostors.incidence(n), loss.impostors),
        ]
        rows_of = _loops.laplacian_slices(Z, parts)
        n_pairs, n_columns = len(self.targets) + len(self.impostors), Z.shape[1]
        row_products = _PRODUCTS_OF_PAIRS * 2 * n_pairs * n_columns // max(1, n)
        return product_over_slices(
            rows_of, n_columns, self.X, self.n_jobs, row_products=row_products
        )

    def lower_bound(self, penalty: QuadraticPenalty | None = None) -> LowerBound:
        """Return the function that bounds this objective, plus a `penalty`, over all metrics."""
        return LargeMarginBound(self, self.pull_gradient(), penalty)

    def pull_gradient(self) -> Array:
        """Return the gradient of the pull with respect to M, which is the same for every M."""
        targets = self._target_weights * (1 - self.push)
        return self.gradient_in_matrix(PairLoss(0.0, targets, np.zeros(len(self.impostors))))

    def gradient_in_matrix(self, loss: PairLoss) -> Array:
        """Return the gradient in M: ``Σ derivative (x_a - x_b)(x_a - x_b)ᵀ`` over the pairs."""
        gradient = self._laplacian_gradient(self.X, loss)
        return np.asarray((gradient + gradient.T) / 2)
