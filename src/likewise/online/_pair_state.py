"""What a learner of pairs knows, and how a stream of pairs changes it.

`step` is a pure function: the same events from the same state give the same state, so that a
stored stream can be replayed. `advance` is the same in place.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.linalg import blas, eigh, lapack

from likewise import _files, _loops
from likewise._loops import LowRankMetric, StepRule, Steps
from likewise._loops.stream_common import LONGEST2
from likewise._runtime.arrays import FloatArray
from likewise.metric import nearest_psd

Projection = Literal["each", "end"] | int

# Measured crossovers; both sides give the same steps.
_SMALL = 144  # features up to which one compiled loop beats blocks of matrix products
_SMALL_PSD = 40  # the same where every update is projected
_BLOCK = 128  # pairs in a block of matrix products
_FEW = 8  # pairs that are not worth a block


@_files.record
@dataclass
class EigenForm:
    """A PSD matrix as ``U (diag(values) + Σ weights[j] rows[j] rows[j]ᵀ) Uᵀ`` with few rows."""

    vectors: FloatArray
    values: FloatArray
    rows: FloatArray
    weights: FloatArray
    count: int = 0

    @classmethod
    def of(cls, matrix: FloatArray) -> EigenForm:
        """Return the eigenform of a PSD matrix."""
        values, vectors = eigh(matrix)
        n_features = len(matrix)
        # The more rows, the dearer a step and the rarer a refresh (measured).
        capacity = round(4 * n_features**0.5)
        return cls(
            vectors,
            np.maximum(values, 0),
            np.zeros((capacity, n_features)),
            np.zeros(capacity),
        )

    @property
    def low_rank(self) -> LowRankMetric:
        """The metric in the eigenbasis."""
        return LowRankMetric(self.values, self.rows, self.weights, self.count)

    def refresh(self) -> None:
        """Take in the low-rank part: a new basis, and no rows."""
        # The routine itself: where features are few, what `eigh` does around it shows.
        values, turn, failed = lapack.dsyevd(self.low_rank.dense().T, lower=0, overwrite_a=1)
        if failed:
            raise np.linalg.LinAlgError("The eigenvalues of the metric did not converge.")
        self.values, self.vectors = np.maximum(values, 0), self.vectors @ turn
        self.count = 0

    def dense(self) -> FloatArray:
        """Return the matrix, exactly symmetric."""
        matrix = self.vectors @ self.low_rank.dense() @ self.vectors.T
        return np.asarray((matrix + matrix.T) / 2)


@_files.record
@dataclass
class PairState:
    """The model (M, b) of a learner of pairs, and what it has been through.

    M is kept as `matrix`, or as `form` where every update is projected and features are many.
    """

    b: float
    matrix: FloatArray | None
    form: EigenForm | None = None
    n_events: int = 0
    n_updates: int = 0
    mistakes: int = 0
    cumulative_loss: float = 0.0
    since_projection: int = 0

    @classmethod
    def start(cls, matrix: FloatArray, b: float, psd: Projection) -> PairState:
        """Return the state before the first event; M is projected if it has to be."""
        if psd == "each" and len(matrix) > _SMALL_PSD:
            return cls(b, None, EigenForm.of(nearest_psd(matrix)))
        return cls(b, np.array(nearest_psd(matrix), order="C"))

    def dense(self) -> FloatArray:
        """Return M as it is, before any constraint is applied."""
        if self.form is not None:
            return self.form.dense()
        assert self.matrix is not None
        return self.matrix


class Grams:
    """Inner products of blocks of events, kept for other learners that take the same events."""

    def __init__(self) -> None:
        self._known: dict[int, FloatArray] = {}

    def of(self, start: int, block: FloatArray) -> FloatArray:
        """Return those of the block that begins with event `start`."""
        if start not in self._known:
            self._known[start] = _upper_gram(block)
        return self._known[start]


def step(
    state: PairState, V: FloatArray, sign: FloatArray, rule: StepRule, psd: Projection
) -> tuple[PairState, FloatArray]:
    """Return the state after the events, and the hinge loss of each before its update."""
    after = deepcopy(state)
    return after, advance(after, V, sign, rule, psd)


def advance(
    state: PairState,
    V: FloatArray,
    sign: FloatArray,
    rule: StepRule,
    psd: Projection,
    grams: Grams | None = None,
) -> FloatArray:
    """Take events in place and return the hinge loss of each before its update.

    Parameters
    ----------
    state : PairState
        Changes.
    V : float64 array of shape (n, d), C-contiguous
        Differences of the pairs.
    sign : float64 array of shape (n,)
        +1 same, -1 different.
    rule : StepRule
        The size of a step.
    psd : "each", "end" or int
        When the constraints are applied: after every update, not here, or every so many updates.
    grams : Grams, optional
        Shared by several learners of the same events.
    """
    signed = np.empty(len(V))
    taken = 0
    while taken < len(V):
        shared = grams if taken == 0 else None
        done = _take(state, V[taken:], sign[taken:], rule, psd, shared)
        state.b = done.b
        _note_updates(state, int(np.count_nonzero(done.steps)), psd)
        signed[taken : taken + done.taken] = done.losses
        taken += done.taken
    hinge = np.maximum(signed, 0)
    state.n_events += len(V)
    state.cumulative_loss += float(hinge.sum())
    # y(b - q) = 1 - p decides; zero says "same", which is a mistake if the pair is different.
    state.mistakes += int(np.count_nonzero(np.where(sign > 0, signed > 1, signed >= 1)))
    return hinge


def learnable(V: FloatArray) -> bool:
    """Return whether all differences are finite and short enough for their fourth power."""
    return bool(np.einsum("nd,nd->n", V, V).max(initial=0.0) <= LONGEST2)


def advance_by_one(
    state: PairState, v: FloatArray, sign: float, rule: StepRule, psd: Projection
) -> float:
    """Do what `advance` does for a single event, without some of its overhead."""
    V, signs = v[None], np.array([sign])
    done = _take(state, V, signs, rule, psd)
    while not done.taken:
        done = _take(state, V, signs, rule, psd)
    return _note_event(state, float(done.losses[0]), done.steps[0], done.b, sign, psd)


def advance_by_pair(
    state: PairState,
    first: FloatArray,
    second: FloatArray,
    scale: float,
    sign: float,
    rule: StepRule,
    psd: Projection,
) -> float:
    """Do what `advance` does for a single pair given by its sides, without its overhead.

    Returns
    -------
    float
        The hinge loss; NaN, and nothing changed, if the difference cannot be learned from.
    """
    if state.matrix is None or psd == "each":
        difference = scale * (first - second)
        if not learnable(difference[None]):
            return np.nan
        return advance_by_one(state, difference, sign, rule, psd)
    signed, size, b = _loops.pair_step(state.matrix, state.b, first, second, scale, sign, rule)
    if signed != signed:
        return signed
    return _note_event(state, signed, size, b, sign, psd)


def _note_event(
    state: PairState, signed: float, size: float, b: float, sign: float, psd: Projection
) -> float:
    state.b = b
    state.n_events += 1
    if size:
        _note_updates(state, 1, psd)
    if signed <= 0:
        return 0.0
    state.cumulative_loss += signed
    if signed >= 1 and (signed > 1 or sign < 0):
        state.mistakes += 1
    return signed


def _note_updates(state: PairState, updates: int, psd: Projection) -> None:
    """Count updates, and apply the constraints if they are due."""
    state.n_updates += updates
    if isinstance(psd, int):
        state.since_projection += updates
        if state.since_projection >= psd:
            state.matrix = nearest_psd(state.dense())
            state.b = max(1.0, state.b)
            state.since_projection = 0


def _take(
    state: PairState,
    V: FloatArray,
    sign: FloatArray,
    rule: StepRule,
    psd: Projection,
    grams: Grams | None = None,
) -> Steps:
    """Take some of the events, at least one, as far as no projection or refresh is due."""
    if state.form is not None:
        return _take_in_eigenbasis(state.form, state.b, V, sign, rule)
    M = state.dense()
    if psd == "each":
        return _loops.pair_psd_steps(M, state.b, V, sign, rule)
    room = psd - state.since_projection if isinstance(psd, int) else len(V)
    if len(V) < _FEW or V.shape[1] <= _SMALL:
        return _loops.pair_steps(M, state.b, V, sign, rule, room)
    return _take_in_blocks(M, state.b, V, sign, rule, room, grams)


def _take_in_eigenbasis(
    form: EigenForm, b: float, V: FloatArray, sign: FloatArray, rule: StepRule
) -> Steps:
    batch = len(form.rows)
    done, form.count = _loops.low_rank_psd_steps(
        form.low_rank, b, V[:batch] @ form.vectors, sign[:batch], rule
    )
    if done.taken < min(batch, len(V)):
        form.refresh()
    return done


def _take_in_blocks(
    M: FloatArray,
    b: float,
    V: FloatArray,
    sign: FloatArray,
    rule: StepRule,
    room: int,
    grams: Grams | None,
) -> Steps:
    """Take events block by block: two matrix products a block, and the same steps.

    Only the lower triangle of M (as BLAS counts, by columns) is kept up to date in between.
    """
    blocks = []
    taken = 0
    by_columns = M.T
    many_update: bool | None = None
    while taken < len(V) and room > 0:
        block = V[taken : taken + _BLOCK]
        # The lower part is enough for vᵀMv, and half the work of a full product.
        half = blas.dtrmm(1.0, by_columns, block.T, lower=1)
        q = _loops.triangle_quadratics(block, half.T, M.diagonal().copy())
        answers = sign[taken : taken + _BLOCK]
        if many_update is None:
            many_update = rule.variant == "PALS" or _many(int(np.sum(answers * (b - q) < 1)))
        if many_update or grams is not None:
            gram = _upper_gram(block) if grams is None else grams.of(taken, block)
            done = _loops.pair_gram_steps(gram, q, b, answers, rule, room)
        else:
            done = _loops.pair_block_steps(block, q, b, answers, rule, room)
        b = done.b
        weights = -done.steps * answers[: done.taken]
        added, removed = _loops.signed_rows(block[: done.taken], weights)
        for direction, rows in ((1.0, added), (-1.0, removed)):
            if len(rows):
                blas.dsyrk(direction, rows.T, beta=1.0, c=by_columns, lower=1, overwrite_c=1)
        blocks.append(done)
        updates = int(np.count_nonzero(done.steps))
        many_update = _many(updates)
        room -= updates
        taken += done.taken
    _mirror(by_columns)
    losses = np.concatenate([done.losses for done in blocks])
    steps = np.concatenate([done.steps for done in blocks])
    return Steps(taken, b, losses, steps)


def _many(updates: int) -> bool:
    """Say whether so many in a block make it worth knowing all its inner products (measured)."""
    return updates > _BLOCK // 4


def _upper_gram(V: FloatArray) -> FloatArray:
    """Return the upper triangle of ``V @ V.T``, and zeros below."""
    return np.asarray(blas.dsyrk(1.0, V.T, trans=1, lower=1).T)


_TILE = 64
_ABOVE = ~np.tri(_TILE, dtype=bool)


def _mirror(M: FloatArray) -> None:
    """Copy the lower triangle to the upper one."""
    for start in range(0, len(M), _TILE):
        stop = start + _TILE
        M[start:stop, stop:] = M[stop:, start:stop].T
        corner = M[start:stop, start:stop]
        size = len(corner)
        np.copyto(corner, corner.T, where=_ABOVE[:size, :size])
