"""A pass over pairs that updates the model only with those whose loss is large enough."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from likewise._loops.pairs.types import StepRule
from likewise._runtime.arrays import FloatArray
from likewise.online._pair_state import PairState, Projection, learn_differences

_MAX_STRETCH = 512  # pairs that are evaluated at a time, at most


class Differences(Protocol):
    """Differences of pairs, in coordinates that may change as the model is updated."""

    def __len__(self) -> int: ...

    def rows(self, start: int, stop: int) -> FloatArray:
        """Return some of them in the coordinates of the current model."""
        ...

    def row_for_update(self, k: int) -> FloatArray:
        """Return one of them in the coordinates that an update with it needs."""
        ...

    def updated(self, k: int) -> None:
        """Take note that the model was updated with pair k."""
        ...


class FixedDifferences:
    """Differences whose coordinates are the features of X."""

    def __init__(self, V: FloatArray) -> None:
        self._V = V

    def __len__(self) -> int:
        return len(self._V)

    def rows(self, start: int, stop: int) -> FloatArray:
        """Return rows `start` to `stop`."""
        return self._V[start:stop]

    def row_for_update(self, k: int) -> FloatArray:
        """Return row k."""
        return np.asarray(self._V[k])

    def updated(self, k: int) -> None:
        """Do nothing: the coordinates stay the same."""


def learn_large_losses(
    state: PairState,
    differences: Differences,
    sign: FloatArray,
    rule: StepRule,
    psd: Projection,
    min_loss: float,
) -> FloatArray:
    """Update `state` in place with pairs in order; return the hinge loss of each before its update.

    Losses up to `min_loss`, which is below 1, are counted and cause no update. A stretch of pairs
    is evaluated with one matrix product. The model is updated with the first pair of larger loss,
    and the next stretch begins after that pair, with the length that was used of this one.
    """
    losses = np.empty(len(differences))
    stretch, k = 1, 0
    while k < len(losses):
        stop = min(k + stretch, len(losses))
        q = _squared_distances(state, differences.rows(k, stop))
        signed = 1 - sign[k:stop] * (state.b - q)
        large = np.flatnonzero(signed > min_loss)
        passed = int(large[0]) if len(large) else len(signed)
        losses[k : k + passed] = _count_passed(state, signed[:passed])
        k += passed
        stretch = min(2 * stretch, _MAX_STRETCH)
        if len(large):
            updates = state.n_updates
            row = differences.row_for_update(k)[None]
            losses[k] = learn_differences(state, row, sign[k : k + 1], rule, psd)[0]
            if state.n_updates > updates:
                differences.updated(k)
            stretch = passed + 1
            k += 1
    return losses


def _squared_distances(state: PairState, V: FloatArray) -> FloatArray:
    """Return ``vᵀMv`` for each row."""
    if state.eigenbasis is None:
        return np.asarray(np.einsum("nd,nd->n", V @ state.dense(), V))
    metric = state.eigenbasis.low_rank
    rotated = V @ state.eigenbasis.vectors
    inner = rotated @ metric.rows[: metric.used].T
    return np.asarray(
        np.square(rotated) @ metric.values + np.square(inner) @ metric.weights[: metric.used]
    )


def _count_passed(state: PairState, signed: FloatArray) -> FloatArray:
    """Count events that cause no update, and return their hinge losses.

    None of them is a mistake: that would be a loss of 1 or more.
    """
    hinge = np.maximum(signed, 0)
    state.n_events += len(signed)
    state.cumulative_loss += float(hinge.sum())
    return hinge
