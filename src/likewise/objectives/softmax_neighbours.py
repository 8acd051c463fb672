"""Stochastic neighbours: the softmax over squared distances that NCA and MCML are built on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from likewise import _loops
from likewise._loops.softmax.types import NEGLIGIBLE
from likewise._numerics.products import map_rows, product_over_rows
from likewise._runtime.arrays import Array, Float32Array, IndexArray
from likewise._runtime.configuration import max_working_bytes
from likewise._runtime.memory import require_memory
from likewise._runtime.threads import count_threads, run_blocks, single_threaded_blas

_MAX_PARTS = 16  # partial sums over anchors, whatever the number of threads
_ANCHORS_PER_PART = 1024  # at most, unless there would be too many parts
_MAPPED_ROWS = 1024  # samples mapped at a time
_BLOCK_BYTES = 1 << 23  # of a thread's block of distances, unless the block would be too low
_MIN_BLOCK_ANCHORS = 128  # with fewer, a product is mostly spent on reading its factors
_LEAST_ANCHORS = 8  # of a block, where `max_memory` allows no more
# If a smaller share of the neighbours is near enough to count, screening them is faster (measured).
_SCREENING_SHARE = 0.1
_SHARE_SAMPLE = 32  # anchors that this share is estimated from
_MAX_SCREEN_ERROR = 4.0  # a screen with a larger error keeps too many neighbours


@dataclass(frozen=True, eq=False)
class _Screen:
    """Squared distances in single precision, up to a constant per anchor: enough to drop most.

    Attributes
    ----------
    points : float32 array of shape (n_samples, n_components + 1)
        z, and ``‖z‖²`` in the last column.
    error : float
        Bound on the error of the difference of two distances from the same anchor.
    """

    points: Float32Array
    error: float

    @classmethod
    def of(cls, Z: Array, sqnorm: Array) -> Self | None:
        """Return the screen of the samples z, or None where single precision is too coarse."""
        # Rounding of k + 1 products, of their factors, and of their sum, whose terms are together
        # 3 max ‖z‖² at most; in two distances.
        error = 2 * (Z.shape[1] + 4) * 2.0**-24 * 3 * float(sqnorm.max())
        if not error <= _MAX_SCREEN_ERROR:
            return None
        points = np.empty((len(Z), Z.shape[1] + 1), np.float32)
        points[:, :-1], points[:, -1] = Z, sqnorm
        return cls(points, error)

    def distances(self, anchors: IndexArray, out: Float32Array) -> Float32Array:
        """Return ``‖z_j‖² - 2 z_i·z_j`` for all anchors i and all samples j."""
        left = -2 * self.points[anchors]
        left[:, -1] = 1
        return np.matmul(left, self.points.T, out=out)


class _Sums(NamedTuple):
    """Sums over the softmax weights ``w_ij`` of anchors i and samples j.

    Attributes
    ----------
    same_class_probability, log_partition : arrays of shape (n_anchors,)
    by_sample : array of shape (n_samples,)
        ``Σ_i w_ij``.
    by_anchor : array of shape (n_anchors, n_columns)
        ``Σ_j w_ij v_j`` for some vectors v.
    of_anchors : array of shape (n_samples, n_components) or None
        ``Σ_i w_ij z_i``.
    """

    same_class_probability: Array
    log_partition: Array
    by_sample: Array
    by_anchor: Array
    of_anchors: Array | None


@dataclass(frozen=True, eq=False)
class SoftmaxNeighbours:
    """Labelled samples that choose a neighbour: ``p_ij ∝ exp(-‖L(x_i - x_j)‖²)``, ``p_ii = 0``.

    The n_samples × n_samples probabilities are never stored: blocks of anchors i are compared with
    all samples j, and negligible probabilities are skipped.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Centred samples, sorted by class, in float64; `of` makes them.
    class_start, class_stop : int arrays of shape (n_samples,)
        The range of samples that belong to the class of each sample.
    n_jobs : int or None
        Threads; None uses all cores.
    tile_bytes : int or None
        The most that the block of distances of one thread may take; None is no limit.

    Notes
    -----
    With weights ``w_ij``, the derivatives need

    ``A = Σ_ij w_ij (x_i - x_j)(x_i - x_j)ᵀ
    = Σ_j c_j x_j x_jᵀ + Σ_i r_i x_i x_iᵀ - Σ_i (x_i s_iᵀ + s_i x_iᵀ)``

    with ``c_j = Σ_i w_ij``, ``r_i = Σ_j w_ij`` and ``s_i = Σ_j w_ij x_j``.
    """

    X: Array
    class_start: IndexArray
    class_stop: IndexArray
    n_jobs: int | None = None
    tile_bytes: int | None = None

    @classmethod
    def of(
        cls, X: Array, codes: IndexArray, n_jobs: int | None = None, *, scale: float = 1.0
    ) -> Self:
        """Sort samples by their class codes 0…c-1, centre them and divide them by `scale`."""
        n_samples, n_features = X.shape
        n_threads, limit = count_threads(n_jobs), max_working_bytes()
        fixed, tile = softmax_bytes(n_samples, n_features)
        if limit is not None:
            tile = min(tile, max((limit - fixed) // n_threads, 8 * _LEAST_ANCHORS * n_samples))
        require_memory(
            float(fixed + n_threads * tile),
            f"Comparing {n_samples} samples of {n_features} features with each other",
            "take fewer rows, fewer threads by n_jobs, or allow more by max_memory",
        )
        order = np.argsort(codes, kind="stable")
        stop = np.cumsum(np.bincount(codes))
        start = np.concatenate([[0], stop[:-1]])
        samples = np.subtract(X[order], X.mean(axis=0, dtype=np.float64), dtype=np.float64)
        samples /= scale
        classes = codes[order]
        tile_bytes = None if limit is None else tile
        return cls(np.ascontiguousarray(samples), start[classes], stop[classes], n_jobs, tile_bytes)

    @property
    def n_samples(self) -> int:
        """The number of samples."""
        return len(self.X)

    def scatter(self) -> Array:
        """Return ``XᵀX``."""
        return product_over_rows(self.X, self.X, self.n_jobs)

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
        gradient : array of the shape of L
        """
        # The gradient is 2LA with weights w_ij = p_ij ([y_i = y_j] - p_i), for which r_i = 0.
        Z = map_rows(self.X, L, self.n_jobs, block_rows=_MAPPED_ROWS)
        if 2 * len(L) < self.X.shape[1]:
            # Few components: LA from sums over mapped samples z, which are shorter than x:
            # LA = Σ_j (c_j z_j - Σ_i w_ij z_i) x_jᵀ - Σ_i (L s_i) x_iᵀ.
            sums = self._sums(Z, Z, anchors, of_anchors=True, same_class=True)
            assert sums.of_anchors is not None
            gradient = self._product(
                sums.by_sample[:, None] * Z - sums.of_anchors, sums.by_anchor, anchors
            )
            gradient *= 2
        else:
            sums = self._sums(Z, self.X, anchors, same_class=True)
            gradient = 2 * L @ self._weighted_scatter(sums.by_sample, sums.by_anchor, anchors)
        return sums.same_class_probability, gradient

    def log_partition(self, L: Array, anchors: IndexArray | None = None) -> tuple[Array, Array]:
        """Return ``log Σ_j exp(-‖L(x_i - x_j)‖²)``, and minus the gradient of its sum in ``LᵀL``.

        Parameters
        ----------
        L : array of shape (n_components, n_features)
        anchors : int array of shape (n_anchors,), optional
            The samples i; None takes all.

        Returns
        -------
        log_partition : array of shape (n_anchors,)
        scatter : array of shape (n_features, n_features)
            ``Σ_ij p_ij (x_i - x_j)(x_i - x_j)ᵀ``.
        """
        # The weights are w_ij = p_ij, for which r_i = 1.
        Z = map_rows(self.X, L, self.n_jobs, block_rows=_MAPPED_ROWS)
        sums = self._sums(Z, self.X, anchors, same_class=False)
        by_anchor = sums.by_anchor
        by_anchor -= 0.5 * (self.X if anchors is None else self.X[anchors])
        return sums.log_partition, self._weighted_scatter(sums.by_sample, by_anchor, anchors)

    def _weighted_scatter(
        self, by_sample: Array, by_anchor: Array, anchors: IndexArray | None
    ) -> Array:
        """Return ``A = B + Bᵀ`` with ``B = Σ_j ½ c_j x_j x_jᵀ - Σ_i (s_i - ½ r_i x_i) x_iᵀ``."""
        scatter = self._product((0.5 * by_sample)[:, None] * self.X, by_anchor, anchors)
        scatter += scatter.T.copy()
        return scatter

    def _product(self, of_samples: Array, of_anchors: Array, anchors: IndexArray | None) -> Array:
        """Return ``Σ_j a_j x_jᵀ - Σ_i b_i x_iᵀ`` for vectors a of samples and b of anchors."""
        if anchors is None:
            of_samples -= of_anchors
            return product_over_rows(of_samples, self.X, self.n_jobs)
        product = product_over_rows(of_samples, self.X, self.n_jobs)
        product -= product_over_rows(of_anchors, self.X[anchors], self.n_jobs)
        return product

    def _sums(
        self,
        Z: Array,
        vectors: Array,
        anchors: IndexArray | None,
        *,
        same_class: bool,
        of_anchors: bool = False,
    ) -> _Sums:
        """Return the sums over ``p_ij ([y_i = y_j] - p_i)`` if `same_class`, else over ``p_ij``."""
        if anchors is None:
            anchors = np.arange(len(Z))
        n_samples, n_anchors = len(Z), len(anchors)
        class_start, class_stop = self.class_start[anchors], self.class_stop[anchors]
        probability, log_partition = np.empty(n_anchors), np.empty(n_anchors)
        by_anchor = np.empty((n_anchors, vectors.shape[1]))
        sqnorm = np.einsum("ij,ij->i", Z, Z)
        screen = _Screen.of(Z, sqnorm) if _few_are_near(Z, sqnorm, anchors) else None
        dtype = np.dtype(np.float64 if screen is None else np.float32)
        row_bytes = dtype.itemsize * n_samples
        height = max(_MIN_BLOCK_ANCHORS, _BLOCK_BYTES // row_bytes)
        if self.tile_bytes is not None:
            height = max(1, min(height, self.tile_bytes // row_bytes))

        def part_sums(start: int, stop: int) -> tuple[Array, Array | None]:
            by_sample = np.zeros(n_samples)
            anchor_sums = np.zeros(Z.shape) if of_anchors else None
            buffer = np.empty((min(height, stop - start), n_samples), dtype)
            for first in range(start, stop, height):
                part = slice(first, min(first + height, stop))
                block, rows = buffer[: part.stop - first], anchors[part]
                labelled = rows, class_start[part], class_stop[part]
                if screen is None:
                    weights = np.matmul(Z[rows], Z.T, out=block)
                    found = _loops.softmax_rows(
                        weights, sqnorm, *labelled, by_sample, probability_gradient=same_class
                    )
                    by_anchor[part] = weights @ vectors
                    if anchor_sums is not None:
                        anchor_sums += weights.T @ Z[rows]
                else:
                    found = _loops.near_softmax(
                        screen.distances(rows, out=block),
                        screen.error,
                        Z,
                        vectors,
                        *labelled,
                        by_sample,
                        by_anchor[part],
                        anchor_sums,
                        probability_gradient=same_class,
                    )
                log_partition[part], probability[part] = found
            return by_sample, anchor_sums

        # An even number of equal parts, or one thread would wait for another with a larger one.
        n_parts = min(_MAX_PARTS, 2 * -(-n_anchors // (2 * _ANCHORS_PER_PART)))
        parts = run_blocks(part_sums, n_anchors, -(-n_anchors // n_parts), self.n_jobs)
        by_sample, anchor_sums = parts[0]
        for more_by_sample, more_anchor_sums in parts[1:]:
            by_sample += more_by_sample
            if anchor_sums is not None:
                anchor_sums += more_anchor_sums
        return _Sums(probability, log_partition, by_sample, by_anchor, anchor_sums)


def softmax_bytes(n_samples: int, n_features: int) -> tuple[int, int]:
    """Return the bytes of all samples and their sums, and those of a thread's block."""
    fixed = 8 * (4 * n_samples * n_features + _MAX_PARTS * n_samples)
    tile = min(max(_BLOCK_BYTES, 8 * _MIN_BLOCK_ANCHORS * n_samples), 8 * n_samples**2)
    return fixed, tile


def _few_are_near(Z: Array, sqnorm: Array, anchors: IndexArray) -> bool:
    """Return whether few probabilities are not negligible, judged by a sample of the anchors."""
    sample = anchors[:: max(8, -(-len(anchors) // _SHARE_SAMPLE))]
    with single_threaded_blas():
        distances = sqnorm - 2 * Z[sample] @ Z.T
    distances[np.arange(len(sample)), sample] = np.inf
    near = distances <= distances.min(axis=1, keepdims=True) + NEGLIGIBLE
    return bool(near.mean() < _SCREENING_SHARE)
