"""The LMNN objective as a sum over blocks of rows, evaluated where the blocks are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from likewise import _loops
from likewise._numerics.products import map_rows
from likewise._runtime.arrays import Array, FloatArray, IndexArray
from likewise._runtime.blocks.engines import Engine
from likewise.objectives.blocked.mapped_rows import MappedRows
from likewise.objectives.blocked.pairs import BlockedPairs, BlockedSqdist, LocalPairs
from likewise.objectives.large_margin_bound import LargeMarginBound, QuadraticPenalty

_MAX_SAMPLE = 1 << 20  # squared distances that a median is taken of
_SUMMED_HERE = 32  # parts that are gathered and added here; more are added in a tree of tasks


class BlockedLoss:
    """The loss, and the Lagrangian at its derivatives; both are waited for when they are read.

    Parameters
    ----------
    engine : Engine
    parts : list of handles
        Of both numbers for each block, or some blocks.
    """

    def __init__(self, engine: Engine, parts: list[Any]) -> None:
        self._engine, self._parts = engine, parts

    @cached_property
    def _totals(self) -> list[float]:
        return [float(total) for total in _add(self._engine.gather(self._parts))]

    @property
    def value(self) -> float:
        """The loss."""
        return self._totals[0]

    @property
    def lagrangian(self) -> float:
        """``margin Σλ + ⟨P + Q, M⟩`` for the derivatives λ of the hinges."""
        return self._totals[1]


@dataclass(frozen=True, eq=False)
class BlockedLargeMargin:
    """The objective of `LargeMargin` with all weights 1, over rows in blocks.

    Every value and gradient is the sum over blocks of one task per block, in a fixed order.

    Parameters
    ----------
    X : MappedRows
        The data. Pairs refer to rows before the map, which is multiplied into L.
    targets, impostors : BlockedPairs
        Local pairs of every block; those of `impostors` have the same targets.
    push, margin, smoothing : float
        As in `LargeMargin`.
    """

    X: MappedRows
    targets: BlockedPairs
    impostors: BlockedPairs
    push: float = 0.5
    margin: float = 1.0
    smoothing: float = 0.0

    def value_and_gradient(self, L: Array) -> tuple[float, Array]:
        """Return the objective at L and its gradient with respect to L."""
        value, gradient = self._sum(_value_and_gradient, np.asarray(L @ self.X.map))
        return float(value), np.asarray(gradient @ self.X.map.T)

    def transform(self, L: Array) -> MappedRows:
        """Return the rows transformed by L, which is not computed yet."""
        return self.X.mapped(L)

    def map_rows(self, L: Array) -> MappedRows:
        """Return the same as `transform`."""
        return self.X.mapped(L)

    def sqdist(self, Z: MappedRows, pairs: BlockedPairs) -> BlockedSqdist:
        """Return the squared distances of pairs of transformed rows Z, where the blocks are."""
        engine = self.X.engine
        task = partial(_sqdist, Z.map, pairs.targets, engine.n_jobs)
        return BlockedSqdist(tuple(engine.submit_each(task, pairs.handles)))

    def pair_sqdist(self, Z: MappedRows, rows: IndexArray, cols: IndexArray) -> FloatArray:
        """Raise: pairs of rows of several blocks are measured where their anchors are."""
        raise NotImplementedError

    def scaled(self, Z: MappedRows, square: float) -> MappedRows:
        """Return rows whose squared distances are `square` times those of Z."""
        return Z.scaled(float(np.sqrt(square)))

    def median(self, sqdist: BlockedSqdist) -> float:
        """Return the median of squared distances, of at most a million of them."""
        return float(np.median(self.sample(sqdist)))

    def sample(self, sqdist: BlockedSqdist) -> FloatArray:
        """Return the squared distances, of more than a million every k-th."""
        engine = self.X.engine
        counts = engine.gather(engine.submit_each(len, sqdist.handles))
        step = -(-sum(counts) // _MAX_SAMPLE) or 1
        sample = engine.gather(engine.submit_each(partial(_every, step), sqdist.handles))
        return np.asarray(sqdist.factor * np.concatenate(sample))

    def mean_square(self) -> float:
        """Return the mean of ‖x‖² over the rows of X."""
        return self.X.mean_square()

    def standard_deviations(self) -> Array:
        """Return those of the features, 0 where they are within the rounding error."""
        n_columns = self.X.shape[1]
        _, covariance, largest = self.X.moments(np.arange(n_columns), np.eye(n_columns))
        stds = np.sqrt(np.diag(covariance))
        stds[stds <= largest * np.finfo(self.X.rows.dtype).eps] = 0.0
        return np.asarray(stds)

    def covariance(self, features: IndexArray, axes: Array) -> Array:
        """Return the covariance of ``X[:, features] @ axes.T``."""
        return self.X.moments(features, axes)[1]

    def loss(
        self, targets: BlockedSqdist, impostors: BlockedSqdist, *, pull: float | None = None
    ) -> BlockedLoss:
        """Return the loss for squared distances of the pairs; `pull` replaces ``1 - push``."""
        factors = (targets.factor, impostors.factor)
        each = zip(targets.handles, impostors.handles, strict=True)
        return BlockedLoss(self.X.engine, self._parts(_loss, factors, pull, each=each))

    def lagrangian(
        self, loss: BlockedLoss, targets: BlockedSqdist, impostors: BlockedSqdist
    ) -> float:
        """Return ``margin Σλ + ⟨P + Q, M⟩`` for the derivatives λ of the hinges."""
        return loss.lagrangian

    def lower_bound(self, penalty: QuadraticPenalty | None = None) -> BlockedBound:
        """Return the function that bounds this objective, plus a `penalty`, over all metrics."""
        return BlockedBound(self, self.pull_gradient(), penalty)

    def pull_gradient(self) -> Array:
        """Return the gradient of the pull with respect to M, which is the same for every M."""
        return self._mapped(self._sum(_pull_gradient)[0])

    def push_gradient(
        self,
        targets: BlockedSqdist,
        impostors: BlockedSqdist,
        null_space: tuple[Array, float] | None,
    ) -> tuple[float, Array]:
        """Return ``margin Σλ`` and the gradient of the push with respect to M.

        `null_space` has a map and a tolerance: pairs that differ more by it are left out.
        """
        factors = (targets.factor, impostors.factor)
        each = zip(targets.handles, impostors.handles, strict=True)
        total, Q = self._sum(_push, factors, null_space, each=each)
        return self.margin * float(total), self._mapped(Q)

    def _mapped(self, G: Array) -> Array:
        """Return a gradient in M for mapped rows, from that for rows before the map."""
        mapped = self.X.map @ G @ self.X.map.T
        return np.asarray((mapped + mapped.T) / 2)

    def _sum(
        self,
        task: Callable[..., Any],
        *arguments: Any,
        each: Iterable[tuple[Any, ...]] | None = None,
    ) -> list[Any]:
        """Return the sums over blocks of what `task` returns, added in a fixed order."""
        return _add(self.X.engine.gather(self._parts(task, *arguments, each=each)))

    def _parts(
        self,
        task: Callable[..., Any],
        *arguments: Any,
        each: Iterable[tuple[Any, ...]] | None = None,
    ) -> list[Any]:
        """Return handles of few such sums, whose sum remains to be taken in their order."""
        engine = self.X.engine
        options = _Options(self.push, self.margin, self.smoothing, engine.n_jobs)
        columns = [] if each is None else [[list(part) for part in each]]
        parts = engine.submit_each(
            partial(_with_options, task, options, arguments), self.impostors.handles, *columns
        )
        while len(parts) > _SUMMED_HERE:
            parts = engine.submit_each(
                _add, [parts[start : start + 2] for start in range(0, len(parts), 2)]
            )
        return parts


class BlockedBound(LargeMarginBound):
    """`LargeMarginBound` whose sums over pairs are taken where the blocks are."""

    def _push(self, objective: Any, targets: Any, impostors: Any) -> tuple[float, Array]:
        """Return ``margin Σλ`` and Q."""
        null_space = None
        if self.penalty is None and self._null_space.shape[1]:
            null_space = (self._null_coordinates.map, self._null_tolerance)
        found: tuple[float, Array] = objective.push_gradient(targets, impostors, null_space)
        return found


class _Options(NamedTuple):
    push: float
    margin: float
    smoothing: float
    n_jobs: int | None


def _with_options(
    task: Callable[..., Any],
    options: _Options,
    arguments: tuple[Any, ...],
    local: LocalPairs,
    *each: Any,
) -> Any:
    return task(local, options, *arguments, *each)


def _add(parts: list[list[Any]]) -> list[Any]:
    total = list(parts[0])
    for part in parts[1:]:
        total = [one + two for one, two in zip(total, part, strict=True)]
    return total


def _every(step: int, values: Array) -> Array:
    return np.asarray(values[::step])


def _sqdist(L: Array, targets: bool, n_jobs: int | None, local: LocalPairs) -> FloatArray:
    return local.sqdist(L, targets, n_jobs)


def _value_and_gradient(local: LocalPairs, options: _Options, L: Array) -> list[Any]:
    return list(local.objective(*options).value_and_gradient_in(local.memory_of_thread(), L))


def _pull_gradient(local: LocalPairs, options: _Options) -> list[Any]:
    return [local.objective(*options).pull_gradient()]


def _loss(
    local: LocalPairs,
    options: _Options,
    factors: tuple[float, float],
    pull: float | None,
    sqdist: list[FloatArray],
) -> list[float]:
    objective = local.objective(*options)
    targets, impostors = (factor * part for factor, part in zip(factors, sqdist, strict=True))
    loss = objective.loss(targets, impostors, pull=pull)
    return [loss.value, objective.lagrangian(loss, targets, impostors)]


def _push(
    local: LocalPairs,
    options: _Options,
    factors: tuple[float, float],
    null_space: tuple[Array, float] | None,
    sqdist: list[FloatArray],
) -> list[Any]:
    objective = local.objective(*options)
    targets, impostors = (factor * part for factor, part in zip(factors, sqdist, strict=True))
    if null_space is not None:
        L, tolerance = null_space
        pairs = local.impostors
        Z = map_rows(local.X, L, options.n_jobs)
        kept = _loops.pair_sqdist(Z, pairs.rows, pairs.cols, n_jobs=options.n_jobs) <= tolerance
        objective, impostors = replace(objective, impostors=pairs.select(kept)), impostors[kept]
    push = objective.loss(targets, impostors, pull=0.0)
    return [-float(push.impostors.sum()), objective.gradient_in_matrix(push)]
