"""Stochastic neighbours among rows in blocks: what NCA needs of `SoftmaxNeighbours`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np

from likewise._numerics.products import map_rows
from likewise._runtime.arrays import Array, IndexArray
from likewise._runtime.blocks.engines import tree_sum
from likewise._runtime.blocks.rows import BlockedRows

_TILE = 1 << 20  # probabilities in memory at a time
_Block = tuple[Array, IndexArray]


@dataclass(frozen=True, eq=False)
class BlockedSoftmaxNeighbours:
    """Labelled samples that choose a neighbour, as in `SoftmaxNeighbours`, in blocks.

    A first task for every pair of blocks finds the largest exponent of each anchor and its sums
    relative to that, a second one the gradient. Sums over blocks have a fixed order.

    Parameters
    ----------
    X : BlockedRows
        Centred samples in float64, whose groups are the classes; `of` makes them.
    """

    X: BlockedRows

    @classmethod
    def of(cls, X: BlockedRows, *, scale: float = 1.0) -> Self:
        """Centre samples and divide them by `scale`."""
        mean = X.total(lambda rows, codes: rows.sum(axis=0, dtype=np.float64)) / len(X)
        return cls(X.derive(partial(_centred, mean, scale)))

    @property
    def n_samples(self) -> int:
        """The number of samples."""
        return len(self.X)

    def scatter(self) -> Array:
        """Return ``XᵀX``."""
        return self.X.total(lambda rows, codes: rows.T @ rows)

    def same_class_probability(
        self, L: Array, anchors: IndexArray | None = None
    ) -> tuple[Array, Array]:
        """Return ``p_i = Σ_{j in the class of i} p_ij`` and the gradient of ``-Σ_i p_i`` in L.

        Parameters
        ----------
        L : array of shape (n_components, n_features)
        anchors : int array of shape (n_anchors,), optional
            The samples i; None takes all.

        Returns
        -------
        probability : array of shape (n_anchors,)
            In the order of the samples.
        gradient : array of the shape of L
        """
        engine, blocks = self.X.engine, self.X.blocks
        chosen = self._by_block(anchors)
        sums, gradients = [], []
        for b, block in enumerate(blocks):
            if not len(chosen[b]):
                continue
            parts = [
                engine.submit(_partial_sums, block, other, chosen[b], b == c, L, engine.n_jobs)
                for c, other in enumerate(blocks)
            ]
            sums.append(engine.submit(_joined, parts))
            parts = [
                engine.submit(
                    _gradient, block, other, chosen[b], b == c, L, sums[-1], engine.n_jobs
                )
                for c, other in enumerate(blocks)
            ]
            # Added where they are: otherwise one gradient per pair of blocks would be held here.
            gradients.append(engine.submit(sum, parts))
        probability = [part.probability for part in engine.gather(sums)]
        return np.concatenate(probability), 2 * tree_sum(engine, gradients)

    def _by_block(self, anchors: IndexArray | None) -> list[IndexArray]:
        """Return the numbers of the anchors of each block within it."""
        if anchors is None:
            return [np.arange(count) for count in self.X.counts]
        ordered = np.sort(anchors)
        edges = np.searchsorted(ordered, np.append(self.X.starts, len(self.X)))
        return [
            ordered[first:last] - start
            for first, last, start in zip(edges[:-1], edges[1:], self.X.starts, strict=True)
        ]


class _Sums(NamedTuple):
    """Sums of ``exp(exponent - largest)`` over all samples, and over those of the same class."""

    largest: Array
    total: Array
    own: Array

    @property
    def log_partition(self) -> Array:
        return np.asarray(self.largest + np.log(self.total))

    @property
    def probability(self) -> Array:
        return np.asarray(self.own / self.total)


def _centred(mean: Array, scale: float, rows: Array, codes: IndexArray) -> _Block:
    return np.subtract(rows, mean, dtype=np.float64) / scale, codes


def _exponents(Z: Array, anchors: IndexArray, points: Array, same_block: bool) -> Array:
    """Return ``-‖z_i - z_j‖²`` of anchors i, -inf for an anchor itself."""
    rows = Z[anchors]
    exponents: Array = 2 * (rows @ points.T)
    exponents -= np.square(points).sum(axis=1)
    exponents -= np.square(rows).sum(axis=1)[:, None]
    if same_block:
        exponents[np.arange(len(anchors)), anchors] = -np.inf
    return exponents


def _tiles(n_anchors: int, n_points: int) -> list[slice]:
    height = max(1, _TILE // max(1, n_points))
    return [slice(start, start + height) for start in range(0, n_anchors, height)]


def _partial_sums(
    block: _Block,
    other: _Block,
    anchors: IndexArray,
    same_block: bool,
    L: Array,
    n_jobs: int | None,
) -> _Sums:
    """Return the sums of the anchors of one block over the samples of another."""
    Z = map_rows(block[0], L, n_jobs)
    points = Z if same_block else map_rows(other[0], L, n_jobs)
    sums = _Sums(np.full(len(anchors), -np.inf), np.zeros(len(anchors)), np.zeros(len(anchors)))
    for part in _tiles(len(anchors), len(points)):
        exponents = _exponents(Z, anchors[part], points, same_block)
        sums.largest[part] = exponents.max(axis=1, initial=-np.inf)
        finite = np.where(np.isfinite(sums.largest[part]), sums.largest[part], 0.0)
        weights = np.exp(exponents - finite[:, None])
        sums.total[part] = weights.sum(axis=1)
        sums.own[part] = (weights * (block[1][anchors[part], None] == other[1])).sum(axis=1)
    return sums


def _joined(parts: list[_Sums]) -> _Sums:
    largest = np.max([part.largest for part in parts], axis=0)
    factors = [np.exp(part.largest - largest) for part in parts]
    totals = (part.total * factor for part, factor in zip(parts, factors, strict=True))
    owns = (part.own * factor for part, factor in zip(parts, factors, strict=True))
    return _Sums(largest, np.sum(list(totals), axis=0), np.sum(list(owns), axis=0))


def _gradient(
    block: _Block,
    other: _Block,
    anchors: IndexArray,
    same_block: bool,
    L: Array,
    sums: Any,
    n_jobs: int | None,
) -> Array:
    """Return ``Σ_ij w_ij (z_i - z_j)(x_i - x_j)ᵀ`` for ``w_ij = p_ij ([y_i = y_j] - p_i)``."""
    X, samples = block[0], other[0]
    Z = map_rows(X, L, n_jobs)
    points = Z if same_block else map_rows(samples, L, n_jobs)
    total = np.zeros(L.shape)
    by_sample = np.zeros(len(points))
    for part in _tiles(len(anchors), len(points)):
        rows = anchors[part]
        weights = np.exp(_exponents(Z, rows, points, same_block) - sums.log_partition[part, None])
        weights *= (block[1][rows, None] == other[1]) - sums.probability[part, None]
        by_sample += weights.sum(axis=0)
        of_anchors = weights.sum(axis=1)[:, None] * Z[rows] - weights @ points
        total += of_anchors.T @ X[rows] - (weights.T @ Z[rows]).T @ samples
    total += (by_sample[:, None] * points).T @ samples
    return total
