"""The model as a fold of judgements: replaying them gives the same bits."""

from __future__ import annotations

import copy
import hashlib
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from likewise._runtime.arrays import Array
from likewise._runtime.threads import single_threaded_blas
from likewise.live.events import Event

__all__ = ["Fold", "sequence_digest"]

_SNAPSHOT_EVERY = 256
_DENSE_SNAPSHOTS = 8  # of the latest; of older ones, every other is dropped again and again


class Fold:
    """A learner that has learned from a sequence of judgements, one after the other.

    The model is a function of the starting model and the sequence: whatever was undone in between,
    and from whatever snapshot it was computed, it has the same bits. Snapshots are kept every 256
    judgements, fewer and fewer of the older ones.

    Parameters
    ----------
    start : online metric learner
        The model before the first judgement; it is not changed.
    X : array of shape (n_items, n_features)
        Vectors of the items.
    row_of : callable
        From the id of an item to its row.
    """

    learner: Any
    position: int

    def __init__(self, start: Any, X: Array, row_of: Callable[[str], int]) -> None:
        self._X, self._row_of = X, row_of
        self.learner = copy.deepcopy(start)
        self.position = 0
        self._snapshots: dict[int, Any] = {0: copy.deepcopy(start)}
        self.checkpoints: dict[int, Any] = {0: copy.deepcopy(start)}

    def follow(self, learned: Sequence[Event], unchanged: int, *, skipped: int = 0) -> None:
        """Make the model that of `learned`, of which the first `unchanged` are as before.

        The first `skipped` of the sequence, up to `continues_from(unchanged)`, may be left out.
        """
        self._rewind(self.continues_from(unchanged))
        with single_threaded_blas():  # a threaded decomposition is not reproducible
            for event in learned[self.position - skipped :]:
                self._learn(event)

    def continues_from(self, unchanged: int) -> int:
        """Return the position that learning goes on from, if only `unchanged` are as before."""
        if unchanged >= self.position:
            return self.position
        kept = self.snapshots()
        return kept[bisect_right(kept, unchanged) - 1]

    def snapshots(self) -> list[int]:
        """Return the positions that can be returned to."""
        return sorted(self._snapshots)

    def resume(self, position: int, learner: Any) -> None:
        """Go on from a stored model, which has learned the first `position` judgements."""
        self.learner, self.position = learner, position
        self._snapshots[position] = copy.deepcopy(learner)
        self.checkpoints[position] = self._snapshots[position]

    def _learn(self, event: Event) -> None:
        first, second = self._X[self._row_of(event.left)], self._X[self._row_of(event.right)]
        self.learner.learn_pair(first, second, event.answer == "same")
        self.position += 1
        if self.position % _SNAPSHOT_EVERY == 0:
            self._snapshots[self.position] = copy.deepcopy(self.learner)
            self._thin()
        if is_checkpoint(self.position):
            self.checkpoints[self.position] = copy.deepcopy(self.learner)

    def _rewind(self, position: int) -> None:
        if position == self.position:
            return
        for later in [at for at in self._snapshots if at > position]:
            del self._snapshots[later]
        for later in [at for at in self.checkpoints if at > position]:
            del self.checkpoints[later]
        self.learner, self.position = copy.deepcopy(self._snapshots[position]), position

    def _thin(self) -> None:
        """Keep the first and the latest snapshots, and of the others about log₂ as many."""
        positions = self.snapshots()
        for position in positions[1:-_DENSE_SNAPSHOTS]:
            age = (self.position - position) // (_SNAPSHOT_EVERY * _DENSE_SNAPSHOTS)
            if position % (_SNAPSHOT_EVERY << age.bit_length()):
                del self._snapshots[position]


def is_checkpoint(position: int) -> bool:
    """Return whether the learning curve has a point here: every 50, then about every 10 %."""
    step = 50
    while position > 20 * step:
        step *= 2
    return position % step == 0


def sequence_digest(learned: Sequence[Event]) -> str:
    """Return the identity of a sequence of judgements."""
    numbers = np.array([event.number for event in learned], dtype="<i8")
    return hashlib.sha256(numbers.tobytes()).hexdigest()
