"""What `record_every` keeps for `history_` of an online learner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from likewise import _files
from likewise._runtime.arrays import FloatArray
from likewise._runtime.invariants import require_array, require_count


@_files.record
@dataclass(frozen=True)
class History:
    """The first `count` rows of `entries`, which has room for more."""

    entries: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    count: int = 0

    def extended(self, new: Sequence[Sequence[float]]) -> History:
        """Return a history with further entries, in time proportional to their number.

        Both share `entries`: the new ones are in rows that do not belong to this history.
        """
        if not new:
            return self
        count = self.count + len(new)
        entries = self.entries
        if count > len(entries):
            entries = np.zeros((2 * count, len(new[0])))
            entries[: self.count] = self.recorded(entries.shape[1])
        entries[self.count : count] = new
        return History(entries, count)

    def check(self) -> None:
        """Raise a ValueError if the fields are not valid."""
        require_array(self.entries, None, None)
        require_count(self.count, most=len(self.entries))

    def fits(self, width: int) -> bool:
        """Return whether there are no entries, or entries of `width` values."""
        return not self.count or self.entries.shape[1] == width

    def recorded(self, width: int) -> FloatArray:
        """Return the entries, of `width` values each."""
        return self.entries[: self.count].reshape(-1, width).copy()
