"""What `record_every` writes into `history_` of an online metric learner."""

from __future__ import annotations

import numpy as np

from likewise._runtime.arrays import FloatArray
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


def extended_history(
    history: dict[str, FloatArray] | None, entries: list[tuple[float, ...]]
) -> dict[str, FloatArray]:
    """Return a history with further entries."""
    known = history or {name: np.empty(0) for name in _COLUMNS}
    columns = np.array(entries, dtype=np.float64).reshape(-1, len(_COLUMNS)).T
    return {
        name: np.concatenate([known[name], column])
        for name, column in zip(_COLUMNS, columns, strict=True)
    }
