"""Random pairs for the audit stream."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

import numpy as np

from likewise._runtime.arrays import Array, IndexArray
from likewise._runtime.threads import single_threaded_blas
from likewise.live.free_pairs import RowPair, random_free_pair
from likewise.live.reserve import AuditReserve
from likewise.live.scan import scan_rows

__all__ = ["AuditDraws"]

_NEIGHBOURS = 10


class AuditDraws:
    """Draws the pairs of the audit stream from those that are reserved for it.

    By default each reserved pair is as likely as any other. With `nearby`, half of the pairs are
    an item with one of its 10 nearest neighbours by the vectors as given: this sample is weighted,
    but has *same* pairs also in a large collection, where hardly any random pair is one. In both
    cases no judgement and no model changes what is drawn, but that no pair is drawn twice.

    Parameters
    ----------
    X : float32 array of shape (n_items, n_features)
    reserve : AuditReserve
    is_free : callable
        Whether a pair of rows is neither judged nor pending.
    nearby : bool
    seed : int
    """

    def __init__(
        self,
        X: Array,
        reserve: AuditReserve,
        is_free: Callable[[int, int], bool],
        nearby: bool,
        seed: int,
    ) -> None:
        self._X, self._reserve, self._is_free, self._nearby = X, reserve, is_free, nearby
        self._random = np.random.default_rng(seed)
        self._lock = threading.Lock()
        self._ready: deque[RowPair] = deque()

    def fill(self, n_ready: int = 16, n_anchors: int = 64) -> None:
        """Have pairs ready where neighbours are needed: a scan of all items, in the background."""
        if not self._nearby or not self._reserve.share or len(self._ready) >= n_ready:
            return
        n_items = len(self._X)
        with self._lock:
            anchors = self._random.choice(n_items, min(n_anchors, n_items), replace=False)
        with single_threaded_blas():
            nearest = scan_rows(self._X, None, anchors, _NEIGHBOURS).nearest
        with self._lock:
            for anchor, others in zip(anchors, self._random.permuted(nearest, axis=1), strict=True):
                pairs: IndexArray = np.stack([np.full(len(others), anchor), others], axis=1)
                reserved = pairs[self._reserve.contains(pairs)][:1]
                near = [
                    (int(one), int(other)) for one, other in self._random.permuted(reserved, axis=1)
                ]
                self._ready.extend(near)
                self._ready.extend(filter(None, (self._any() for _ in near)))

    def take(self) -> RowPair | None:
        """Return the next pair, or None if none is ready."""
        if not self._nearby:
            return self.take_any()
        with self._lock:
            while self._ready:
                pair = self._ready.popleft()
                if self._is_free(*pair):
                    return pair
        return None

    def take_any(self) -> RowPair | None:
        """Return a reserved pair, each as likely as any other, or None if there is none left."""
        with self._lock:
            return self._any()

    def _any(self) -> RowPair | None:
        if not self._reserve.share:
            return None
        return random_free_pair(len(self._X), self._reserve.contains, self._is_free, self._random)
