"""Which pair is asked about next."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

import numpy as np

from likewise._runtime.arrays import Array, IndexArray
from likewise._runtime.threads import single_threaded_blas
from likewise.live.scan import scan_rows
from likewise.live.view import ModelView

__all__ = ["AuditDraws", "Chooser"]

RowPair = tuple[int, int]
_ANCHORS = 200
_NEIGHBOURS = 10
_BATCH = 10  # pairs chosen by one model
_TRIES = 200
_MAX_ENUMERATED = 200_000


class Chooser:
    """Pairs near the threshold of the model, different from each other.

    The candidates are rows of a neighbour graph: of 200 random items, the 10 nearest and the 10
    whose distance is closest to the threshold, found by a scan of all items (`refresh`). Of them,
    those closest to the threshold of the latest model are queued, with every item at most once
    (`rank`). Both run in the background; `take` only reads the queue.

    Parameters
    ----------
    X : float32 array of shape (n_items, n_features)
    is_free : callable
        Whether a pair of rows may be asked about: it was not, in either order, and is not pending.
    seed : int
    """

    refreshed_at: int
    ranked_at: int

    def __init__(self, X: Array, is_free: Callable[[int, int], bool], seed: int) -> None:
        self._X, self._is_free = X, is_free
        self._random = np.random.default_rng(seed)
        self._lock = threading.Lock()
        self._pool: IndexArray = np.empty((0, 2), dtype=np.int64)
        self._queue: deque[RowPair] = deque()
        self.refreshed_at = self.ranked_at = -1  # positions of the models

    def __len__(self) -> int:
        """Return how many pairs are ready."""
        return len(self._queue)

    def refresh(self, view: ModelView, n_anchors: int = _ANCHORS) -> None:
        """Replace the candidates by those of other items, under the metric of `view`."""
        n_items = len(self._X)
        with self._lock:
            anchors = np.sort(self._random.choice(n_items, min(n_anchors, n_items), replace=False))
        with single_threaded_blas():
            rows = scan_rows(self._X, view.components, anchors, _NEIGHBOURS, view.threshold)
        partners = np.hstack([rows.nearest, rows.at_threshold])
        pairs = np.stack([np.repeat(anchors, partners.shape[1]), partners.ravel()], axis=1)
        pairs = np.unique(np.sort(pairs, axis=1), axis=0)
        self._pool, self.refreshed_at = pairs, view.position

    def rank(self, view: ModelView, wanted: int = _BATCH) -> None:
        """Queue the candidates closest to the threshold of `view`, with every item at most once."""
        pool = self._pool
        with single_threaded_blas():
            distances = view.distances(self._X, pool)
        order = np.argsort(np.abs(distances**2 - view.threshold**2), kind="stable")
        chosen: deque[RowPair] = deque()
        used: set[int] = set()
        for left, right in pool[order].tolist():
            if left not in used and right not in used and self._is_free(left, right):
                used.update((left, right))
                chosen.append((left, right))
                if len(chosen) == wanted:
                    break
        self._queue, self.ranked_at = chosen, view.position

    def take(self) -> RowPair | None:
        """Return the next pair, in random order, or None if all were asked about."""
        while self._queue:
            try:
                pair = self._queue.popleft()
            except IndexError:  # another thread took the last one
                break
            if self._is_free(*pair):
                return self._in_random_order(pair)
        return self._from_pool() or self.take_random()

    def take_random(self) -> RowPair | None:
        """Return a pair of all that may be asked about, each as likely."""
        n_items = len(self._X)
        for _ in range(_TRIES):
            with self._lock:
                left, right = self._random.integers(n_items, size=2).tolist()
            if left != right and self._is_free(left, right):
                return left, right
        if n_items * (n_items - 1) // 2 > _MAX_ENUMERATED:
            return None
        rows = np.stack(np.triu_indices(n_items, 1), axis=1).tolist()
        free = [(left, right) for left, right in rows if self._is_free(left, right)]
        if not free:
            return None
        with self._lock:
            pair = free[int(self._random.integers(len(free)))]
        return self._in_random_order(pair)

    def _from_pool(self) -> RowPair | None:
        """Return some candidate, while the queue is being filled."""
        pool = self._pool
        if not len(pool):
            return None
        with self._lock:
            tries = self._random.integers(len(pool), size=min(_TRIES, 4 * len(pool)))
        for left, right in pool[tries].tolist():
            if self._is_free(left, right):
                return self._in_random_order((left, right))
        return None

    def _in_random_order(self, pair: RowPair) -> RowPair:
        with self._lock:
            return pair if self._random.random() < 0.5 else pair[::-1]


class AuditDraws:
    """Random pairs for the audit stream, drawn from a population that no judgement changes.

    An item is drawn at random and, with probability 1/2 if `nearby`, one of its 10 nearest
    neighbours by the vectors as given; otherwise any other item. Without the neighbours, hardly
    any pair of a large collection would be *same*.
    """

    def __init__(
        self, X: Array, is_free: Callable[[int, int], bool], nearby: bool, seed: int
    ) -> None:
        self._X, self._is_free, self._nearby = X, is_free, nearby
        self._random = np.random.default_rng(seed)
        self._ready: deque[RowPair] = deque()

    def __len__(self) -> int:
        """Return how many pairs are ready."""
        return len(self._ready)

    def fill(self, n_pairs: int = 64) -> None:
        """Draw pairs; this scans all items, in the background."""
        n_items = len(self._X)
        anchors = self._random.integers(n_items, size=n_pairs)
        others = (anchors + self._random.integers(1, n_items, size=n_pairs)) % n_items
        if self._nearby:
            close = self._random.random(n_pairs) < 0.5
            different, position = np.unique(anchors[close], return_inverse=True)
            if len(different):
                with single_threaded_blas():
                    nearest = scan_rows(self._X, None, different, _NEIGHBOURS).nearest
                picked = self._random.integers(nearest.shape[1], size=len(position))
                others[close] = nearest[position, picked]
        swap = self._random.random(n_pairs) < 0.5
        left, right = np.where(swap, others, anchors), np.where(swap, anchors, others)
        self._ready.extend(zip(left.tolist(), right.tolist(), strict=True))

    def take(self) -> RowPair | None:
        """Return the next pair, or None if none is ready."""
        while self._ready:
            try:
                pair = self._ready.popleft()
            except IndexError:
                return None
            if self._is_free(*pair):
                return pair
        return None
