"""One pass over pairs, learning only from those whose loss is large enough."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from likewise._loops import StepRule
from likewise._runtime.arrays import FloatArray
from likewise.online._pair_state import PairState, advance

_LONGEST_STRETCH = 512


class Rows(Protocol):
    """Differences of pairs, in coordinates that may follow what is learned."""

    def __len__(self) -> int: ...

    def rows(self, start: int, stop: int) -> FloatArray:
        """Return some of them as the model sees them now."""
        ...

    def offer(self, k: int) -> FloatArray:
        """Return one of them as it would be learned."""
        ...

    def keep(self, k: int) -> None:
        """Note that it was learned."""
        ...


class Differences:
    """Rows that stay as they are."""

    def __init__(self, V: FloatArray) -> None:
        self._V = V

    def __len__(self) -> int:
        return len(self._V)

    def rows(self, start: int, stop: int) -> FloatArray:
        """Return rows `start` to `stop`."""
        return self._V[start:stop]

    def offer(self, k: int) -> FloatArray:
        """Return row k."""
        return np.asarray(self._V[k])

    def keep(self, k: int) -> None:
        """Do nothing: there is no basis that could grow."""


def sweep(
    state: PairState, differences: Rows, sign: FloatArray, rule: StepRule, least_loss: float
) -> FloatArray:
    """Take pairs in order, in place, and return the hinge loss of each before its update.

    Losses up to `least_loss`, which is below 1, are counted and change nothing. A stretch of
    pairs is judged with one matrix product; the model changes at its first pair with a larger
    loss, and the stretch after it begins anew, as long as the last one got.
    """
    losses = np.empty(len(differences))
    stretch, k = 1, 0
    while k < len(losses):
        stop = min(k + stretch, len(losses))
        signed = 1 - sign[k:stop] * (state.b - _squared_distances(state, differences.rows(k, stop)))
        large = np.flatnonzero(signed > least_loss)
        passed = int(large[0]) if len(large) else len(signed)
        losses[k : k + passed] = _count(state, signed[:passed])
        k += passed
        stretch = min(2 * stretch, _LONGEST_STRETCH)
        if len(large):
            updates = state.n_updates
            row = differences.offer(k)[None]
            losses[k] = advance(state, row, sign[k : k + 1], rule, "each")[0]
            if state.n_updates > updates:
                differences.keep(k)
            stretch = passed + 1
            k += 1
    return losses


def _squared_distances(state: PairState, V: FloatArray) -> FloatArray:
    """Return ``vᵀMv`` for each row."""
    if state.form is None:
        return np.asarray(np.einsum("nd,nd->n", V @ state.dense(), V))
    metric = state.form.low_rank
    turned = V @ state.form.vectors
    inner = turned @ metric.rows[: metric.used].T
    return np.asarray(
        np.square(turned) @ metric.values + np.square(inner) @ metric.weights[: metric.used]
    )


def _count(state: PairState, signed: FloatArray) -> FloatArray:
    """Count events that change nothing, and return their hinge losses.

    None of them is a mistake: that would be a loss of 1 or more.
    """
    hinge = np.maximum(signed, 0)
    state.n_events += len(signed)
    state.cumulative_loss += float(hinge.sum())
    return hinge
