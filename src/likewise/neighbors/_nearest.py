"""The k nearest or farthest points."""

import threading

import numpy as np
from numpy.typing import ArrayLike

from likewise import _loops
from likewise._runtime.arrays import BoolArray, FloatArray, FloatingArray, IndexArray
from likewise._runtime.tensors import device_memory_errors, is_tensor
from likewise._runtime.threads import count_threads, openmp_threads, run_blocks
from likewise._runtime.validation import warn_of_gradient
from likewise.neighbors._arguments import Algorithm, as_finite_matrix, use_tree
from likewise.neighbors._best_scores import BestScores

# Candidates beyond k: the more, the rarer a row whose k-th neighbour is in doubt.
_SPARE = 8
# Up to this many features a tree beats comparing with every row (measured).
_TREE_FEATURES = 5
_TREE_LEAF = 32
_COMPARED_ROWS = 4096
# Up to this many distances, OpenMP's threads take longer to meet than to compare.
_FEW_DISTANCES = 1 << 20
_TREE_ROWS = 1024
_BLOCK_VALUES = 1 << 20
_BLOCK_ROWS = 256  # more are not in the cache among few points: twice as slow
# A tile of scores: few enough to stay in the cache, but enough of both for a product (measured).
_SCORED_ROWS = 128
_SCORED_POINTS = 1 << 13
_MIN_SCORED_ROWS = 16  # of a tile of more points, which large k needs
# Points are divided into groups, several for every proposed one, of several points each.
_MIN_GROUPS = 256
_GROUPS_PER_PROPOSED = 16
_MIN_GROUP_SIZE = 4
# Where a point is this much farther from the centre than most, the error of all sums is too large.
_MAX_NORM_RATIO = 100.0


def nearest(
    queries: ArrayLike,
    points: ArrayLike,
    k: int,
    *,
    exclude_self: bool = False,
    algorithm: Algorithm = "auto",
    n_jobs: int | None = None,
) -> tuple[FloatArray, IndexArray]:
    """Return the k nearest points of every query, exactly.

    Parameters
    ----------
    queries : array of shape (n, d)
    points : array of shape (m, d)
        Or both tensors of PyTorch: the search runs on their device, and returns tensors.
    k : int
    exclude_self : bool
        Queries are the points, row for row, and none is its own neighbour; a duplicate of it
        may be.
    algorithm : {"auto", "brute", "tree"}
        Compare with every point, or search a tree, which is faster for few features; "auto"
        chooses. The result does not depend on it.
    n_jobs : int or None
        Threads; None for all cores. The result does not depend on it.

    Returns
    -------
    sqdist : float64 array of shape (n, k)
        Squared distances, ascending.
    index : int64 array of shape (n, k)
        Rows of ``points``; equal distances in the order of their rows.

    Examples
    --------
    >>> sqdist, index = nearest([[0.0], [2.9]], [[0.0], [1.0], [3.0]], k=2)
    >>> index
    array([[0, 1],
           [2, 1]])
    """
    if is_tensor(queries) or is_tensor(points):
        from likewise.neighbors import _torch_nearest

        for given, name in ((queries, "queries"), (points, "points")):
            warn_of_gradient(given, name)
        with device_memory_errors("nearest", "pass arrays"):
            return _torch_nearest.nearest(queries, points, k, exclude_self=exclude_self)
    search = _Search(queries, points, k, exclude_self, n_jobs)
    if use_tree(algorithm, search.n_features <= _TREE_FEATURES):
        propose = search.propose_by_tree
    elif len(search.queries) * len(search.points) <= _FEW_DISTANCES:
        propose = search.propose_from_blocks
    elif search.single_precision_is_enough:
        propose = search.propose_in_single_precision
    else:
        propose = search.propose_by_comparing
    return search.settle(*propose(), sign=1)


def farthest(
    queries: ArrayLike, points: ArrayLike, k: int, *, n_jobs: int | None = None
) -> tuple[FloatArray, IndexArray]:
    """Return the k farthest points of every query, exactly.

    Parameters
    ----------
    queries : array of shape (n, d)
    points : array of shape (m, d)
    k : int
    n_jobs : int or None
        Threads; None for all cores. The result does not depend on it.

    Returns
    -------
    sqdist : float64 array of shape (n, k)
        Squared distances, descending.
    index : int64 array of shape (n, k)
        Rows of ``points``; equal distances in the order of their rows.

    Examples
    --------
    >>> sqdist, index = farthest([[0.0], [2.9]], [[0.0], [1.0], [3.0]], k=1)
    >>> index
    array([[2],
           [0]])
    """
    search = _Search(queries, points, k, False, n_jobs)
    return search.settle(*search.propose_from_blocks(sign=-1), sign=-1)


class _Search:
    """Queries against points: proposals by fast searches, settled by exact distances.

    A proposal is some columns for every row, and the least (for `farthest`: the greatest) squared
    distance, as the fast search saw it, that a point left out can have.
    """

    def __init__(
        self,
        queries: ArrayLike,
        points: ArrayLike,
        k: int,
        exclude_self: bool,
        n_jobs: int | None,
    ) -> None:
        same = queries is points
        self.points = as_finite_matrix("points", points)
        self.queries = self.points if same else as_finite_matrix("queries", queries)
        self.exclude_self = exclude_self
        self.n_jobs = n_jobs
        count_threads(n_jobs)  # raises for a bad number before any work
        n, self.n_features = self.points.shape
        if self.queries.shape[1] != self.n_features:
            raise ValueError(
                f"queries must have as many features as points, {self.n_features}, but have "
                f"{self.queries.shape[1]}."
            )
        if exclude_self and len(self.queries) != n:
            raise ValueError(
                "queries must be points, row for row, for exclude_self=True, but there are "
                f"{len(self.queries)} and {n} rows."
            )
        available = n - exclude_self
        if not 1 <= k <= available:
            raise ValueError(
                f"k must lie in 1 to {available}, the number of points to choose from, "
                f"but it is {k}."
            )
        self.k = int(k)
        self.n_proposed = min(self.k + exclude_self + _SPARE, n)
        if self.queries.dtype != self.points.dtype:
            self.queries, self.points = (a.astype(np.float64) for a in (self.queries, self.points))
            same = False
        # Scaled by a power of two, which is exact: products can neither overflow nor vanish.
        centre = self.points.mean(axis=0, dtype=np.float64)
        centred = self.points - centre
        others = centred if same else self.queries - centre
        widest = max(np.abs(centred).max(initial=0.0), np.abs(others).max(initial=0.0))
        self.scale = 2.0 ** -np.clip(np.frexp(widest)[1], -500, 500) if widest > 0 else 1.0
        self.centred_points = centred * self.scale
        self.centred_queries = self.centred_points if same else others * self.scale
        self.point_norms = np.einsum("ij,ij->i", self.centred_points, self.centred_points)
        self.query_norms = np.einsum("ij,ij->i", self.centred_queries, self.centred_queries)
        # With u = 2^-53, ‖a‖² + ‖b‖² − 2ab is off by at most about (2d + 6) u (‖a‖² + ‖b‖²): each
        # of the three sums has d roundings, |ab| ≤ (‖a‖² + ‖b‖²)/2, two additions follow, and
        # centring moved each row by u of itself. A square root and its square add 3u, and sums
        # of squared differences, as trees take them, are off by less. Twice that is allowed.
        # Exact distances are not scaled: each of their d squares may underflow, by half of 2^-1074.
        underflow = self.n_features * 2.0**-1074 * self.scale * self.scale
        self.slack = (4 * self.n_features + 32) * 2.0**-53 * (
            self.query_norms + self.point_norms.max(initial=0.0)
        ) + (2.0**-1000 + underflow)

    def propose_by_tree(self) -> tuple[IndexArray, FloatArray]:
        """Propose nearest points by a tree."""
        from sklearn.neighbors import KDTree

        tree = KDTree(self.centred_points, leaf_size=_TREE_LEAF)
        index, left_out = self._empty_proposal()

        def block(start: int, stop: int) -> None:
            distances, index[start:stop] = tree.query(
                self.centred_queries[start:stop], self.n_proposed
            )
            left_out[start:stop] = distances[:, -1] ** 2

        run_blocks(block, len(index), _TREE_ROWS, self.n_jobs)
        return index, left_out

    def propose_by_comparing(self) -> tuple[IndexArray, FloatArray]:
        """Propose nearest points by comparing with each: scikit-learn's fused product and heap."""
        from sklearn.neighbors import NearestNeighbors

        index, left_out = self._empty_proposal()
        if len(index):
            finder = NearestNeighbors(n_neighbors=self.n_proposed, algorithm="brute")
            finder.fit(self.centred_points)
            with openmp_threads(None if self.n_jobs is None else count_threads(self.n_jobs)):
                for start in range(0, len(index), _COMPARED_ROWS):  # an interrupt waits for one
                    part = slice(start, start + _COMPARED_ROWS)
                    distances, index[part] = finder.kneighbors(self.centred_queries[part])
                    left_out[part] = distances[:, -1] ** 2
        return index, left_out

    @property
    def single_precision_is_enough(self) -> bool:
        """Whether proposals in single precision are mostly right, and faster."""
        enough = len(self.points) >= _MIN_GROUP_SIZE * self._n_groups()
        norms = self.point_norms
        return enough and bool(norms.max() <= _MAX_NORM_RATIO * np.median(norms))

    def propose_in_single_precision(self) -> tuple[IndexArray, FloatArray]:
        """Propose nearest points from products in float32, with the bound of their error.

        The score of point b for query a is ⟨a, b⟩ − ‖b‖²/2, one product of rows with one more
        feature, for a tile of points at a time. The best scores of disjoint groups of the points
        so far are those of as many points, so the w-th best of them is at most the w-th best of
        all, and few scores of the tile reach it.

        With u = 2^-24 and g(k) = ku/(1 − ku), rounding the rows and ‖b‖²/2 changes a score by at
        most (2u + u²)‖a‖‖b‖ + u‖b‖²/2, and the sum of d + 1 products by g(d + 2)(‖a‖‖b‖ + ‖b‖²/2):
        together, and doubled, at most g(d + 5)(‖a‖² + 2‖b‖²) in the squared distance.
        """
        index, left_out = self._empty_proposal()
        width, groups = self.n_proposed, self._n_groups()
        n_points, d = self.points.shape
        points = np.zeros((-(-n_points // groups) * groups, d + 1), dtype=np.float32)
        points[:n_points, :d] = self.centred_points
        points[:n_points, d] = self.point_norms / -2
        points[n_points:, d] = -1e30  # no point
        k = (d + 8) * 2.0**-24
        norms = self.query_norms + 2 * self.point_norms.max()
        error = k / (1 - k) * norms + d * 2.0**-100  # underflow
        columns = min(len(points), max(1, _SCORED_POINTS // groups) * groups)
        rows = int(
            np.clip(_SCORED_ROWS * _SCORED_POINTS // columns, _MIN_SCORED_ROWS, _SCORED_ROWS)
        )
        buffers = _ScoreBuffers(rows, columns, groups)

        def block(start: int, stop: int) -> None:
            n = stop - start
            queries = np.ones((n, d + 1), dtype=np.float32)
            queries[:, :d] = self.centred_queries[start:stop]
            best, best_in_tile = buffers.best[:n], buffers.best_in_tile[:n]
            best.fill(-np.inf)
            found = BestScores(n, width)
            for first in range(0, len(points), columns):
                tile = points[first : first + columns]
                score, near = buffers.tile(n, len(tile))
                np.matmul(queries, tile.T, out=score)
                np.maximum.reduce(score.reshape(n, -1, groups), axis=1, out=best_in_tile)
                np.maximum(best, best_in_tile, out=best)
                # Which groups are joined with which of the next tile does not matter.
                best.partition(groups - width, axis=1)
                found.add(score, first, best[:, groups - width], near)
            index[start:stop], value = found.best()
            last = value[:, -1].astype(np.float64)
            left_out[start:stop] = self.query_norms[start:stop] - 2 * last - error[start:stop]

        run_blocks(block, len(index), rows, self.n_jobs)
        return index, left_out

    def _n_groups(self) -> int:
        groups: int = max(_MIN_GROUPS, _GROUPS_PER_PROPOSED * self.n_proposed)
        return groups

    def propose_from_blocks(self, sign: int = 1) -> tuple[IndexArray, FloatArray]:
        """Propose nearest points, or farthest for a sign of -1, from blocks of all distances."""
        index, left_out = self._empty_proposal()
        last = self.n_proposed - 1

        def block(start: int, stop: int) -> None:
            distances = self._distances(np.arange(start, stop))
            near = np.argpartition(sign * distances, last, axis=1)[:, : last + 1]
            index[start:stop] = near
            left_out[start:stop] = distances[np.arange(stop - start), near[:, last]]

        run_blocks(block, len(index), self._block_rows(), self.n_jobs)
        return index, left_out

    def _empty_proposal(self) -> tuple[IndexArray, FloatArray]:
        n = len(self.queries)
        return np.empty((n, self.n_proposed), np.int64), np.empty(n)

    def settle(
        self, proposed: IndexArray, left_out: FloatArray, *, sign: int
    ) -> tuple[FloatArray, IndexArray]:
        """Rank proposals by exact distances, and search again where one may be missing."""
        n, width = proposed.shape
        rows = np.repeat(np.arange(n), width)
        sqdist = self._exact(rows, proposed.ravel()).reshape(n, width)
        if self.exclude_self:
            sqdist[proposed == np.arange(n)[:, None]] = np.inf
        order = np.lexsort((proposed, sign * sqdist), axis=1)[:, : self.k]
        best = np.take_along_axis(sqdist, order, axis=1)
        index = np.take_along_axis(proposed, order, axis=1)
        if width == len(self.points):
            return best, index
        bound = best[:, -1] * self.scale * self.scale
        open_rows = np.flatnonzero(~(sign * bound < sign * left_out - self.slack))

        def block(start: int, stop: int) -> None:
            part = open_rows[start:stop]
            distances = self._distances(part)
            distances *= sign
            near = distances <= (sign * bound[part] + self.slack[part])[:, None]
            del distances  # nearly all points may be near, which takes as much memory again
            if self.exclude_self:
                near[np.arange(len(part)), part] = False
            counts = np.count_nonzero(near, axis=1)
            cols = np.flatnonzero(near)
            cols %= len(self.points)
            exact = self._exact(np.repeat(part, counts), cols)
            first = np.append(0, np.cumsum(counts))
            chosen = _loops.smallest_of_groups(sign * exact, first, self.k)
            best[part], index[part] = exact[chosen], cols[chosen]

        run_blocks(block, len(open_rows), self._block_rows(), self.n_jobs)
        return best, index

    def _exact(self, rows: IndexArray, cols: IndexArray) -> FloatArray:
        return _loops.pair_sqdist(self.queries, rows, cols, points=self.points, n_jobs=self.n_jobs)

    def _distances(self, rows: IndexArray) -> FloatArray:
        """Return the squared distances of some queries to all points, up to the slack."""
        distances: FloatArray = self.centred_queries[rows] @ self.centred_points.T
        distances *= -2
        distances += self.query_norms[rows][:, None]
        distances += self.point_norms
        return distances

    def _block_rows(self) -> int:
        return max(1, min(_BLOCK_ROWS, _BLOCK_VALUES // len(self.points)))


class _ScoreBuffers(threading.local):
    """Arrays of a thread for a tile of scores: to allocate them for each could double its time."""

    def __init__(self, rows: int, columns: int, groups: int) -> None:
        self._score = np.empty(rows * columns, dtype=np.float32)
        self._near = np.empty(rows * columns, dtype=np.bool_)
        self.best, self.best_in_tile = np.empty((2, rows, groups), dtype=np.float32)

    def tile(self, n_rows: int, n_columns: int) -> tuple[FloatingArray, BoolArray]:
        """Return arrays for the scores of a tile, and for which of them are near the best."""
        shape, size = (n_rows, n_columns), n_rows * n_columns
        return self._score[:size].reshape(shape), self._near[:size].reshape(shape)
