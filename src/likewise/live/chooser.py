"""Which pair is asked about next."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

import numpy as np

from likewise._runtime.arrays import Array, BoolArray, IndexArray
from likewise._runtime.threads import single_threaded_blas
from likewise.live.free_pairs import RowPair, random_free_pair
from likewise.live.scan import scan_rows
from likewise.live.view import ModelView

__all__ = ["Chooser"]

_ANCHORS = 200
_NEIGHBOURS = 10
_BATCH = 10  # pairs chosen by one model
_TRIES = 200


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
        Whether a pair of rows may be asked about: it is neither judged, in either order, nor
        pending.
    seed : int
    excluded : callable, optional
        Which pairs, an array of shape (n_pairs, 2), are never asked about.
    """

    refreshed_at: int
    ranked_at: int

    def __init__(
        self,
        X: Array,
        is_free: Callable[[int, int], bool],
        seed: int,
        excluded: Callable[[IndexArray], BoolArray] | None = None,
    ) -> None:
        self._X, self._is_free, self._excluded = X, is_free, excluded
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
        self._pool, self.refreshed_at = pairs[self._allowed(pairs)], view.position

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
        """Return the next pair, in random order, or None if none is left."""
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
        with self._lock:
            return random_free_pair(len(self._X), self._allowed, self._is_free, self._random)

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

    def _allowed(self, pairs: IndexArray) -> BoolArray:
        return (
            np.ones(len(pairs), dtype=np.bool_)
            if self._excluded is None
            else ~self._excluded(pairs)
        )
