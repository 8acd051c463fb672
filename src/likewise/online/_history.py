"""What `record_every` writes into `history_` of an online metric learner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from likewise import _files
from likewise._runtime.arrays import FloatArray
from likewise._runtime.invariants import require_array, require_count
from likewise.online._pair_state import PairState

_COLUMNS = ("n_events", "predictive_error", "effective_dimension")


def history_entry(state: PairState) -> tuple[float, ...]:
    """Return the columns of one entry.

    The predictive error is the share of pairs predicted wrongly before their update, the effective
    dimension the number of eigenvalues of M above a millionth of the largest.
    """
    values = np.linalg.eigvalsh(state.dense())
    dimension = np.count_nonzero(values > max(values[-1], 0) * 1e-6)
    return state.n_events, state.mistakes / state.n_events, float(dimension)


@_files.record
@dataclass(frozen=True)
class History:
    """The first `count` rows of `entries`, which has room for more."""

    entries: FloatArray = field(default_factory=lambda: np.zeros((0, len(_COLUMNS))))
    count: int = 0

    def extended(self, new: Sequence[tuple[float, ...]]) -> History:
        """Return a history with further entries, in time proportional to their number.

        Both share `entries`: the new ones are in rows that do not belong to this history.
        """
        count = self.count + len(new)
        entries = self.entries
        if count > len(entries):
            entries = np.zeros((2 * count, len(_COLUMNS)))
            entries[: self.count] = self.entries[: self.count]
        if new:
            entries[self.count : count] = new
        return History(entries, count)

    def check(self) -> None:
        """Raise a ValueError if the fields are not valid."""
        require_array(self.entries, None, len(_COLUMNS))
        require_count(self.count, most=len(self.entries))

    def columns(self) -> dict[str, FloatArray]:
        """Return one array per column."""
        return dict(zip(_COLUMNS, self.entries[: self.count].T.copy(), strict=True))
