"""The model (M, b) of an online metric learner, and its update by the differences of pairs.

`learn_differences` takes many pairs, `learn_one_pair` a single one with little overhead. Both take
the same steps. The arithmetic of a step is in the compiled loops: `StepRule` has the formulas.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.linalg import blas

from likewise import _files, _loops
from likewise._loops.pairs.types import MAX_PAIR_SQNORM, StepRule, Steps
from likewise._runtime.arrays import FloatArray
from likewise._runtime.invariants import require, require_array, require_count, require_number
from likewise._runtime.tensors import Tensor, is_tensor, to_numpy
from likewise.metric import nearest_psd
from likewise.online._eigenbasis_matrix import EigenbasisMatrix

Projection = Literal["each", "end"] | int
"""When M is projected: after each update, never while learning, or after every n updates."""

# Measured crossovers; both sides take the same steps.
_LOOP_FEATURES = 144  # features up to which one compiled loop beats blocks of matrix products
_LOOP_FEATURES_PSD = 40  # the same where every update is projected
_BLOCK_PAIRS = 128  # pairs in a block of matrix products
_MIN_BLOCK_PAIRS = 8  # fewer pairs are not worth a block

# A margin of 1 on both sides of b should be as wide as the middle half of the squared distances.
# If they vary much less, nearly all of a step goes into b; if much more, nearly nothing.
_MARGIN_WIDTH = 2.0
_MIN_LENGTH, _MAX_LENGTH = 1.0, 4.0  # of the median difference
_N_SCALE_PAIRS = 64  # pairs of a stream that determine its scale

HISTORY_COLUMNS = ("n_events", "predictive_error", "effective_dimension")


@_files.record
@dataclass
class PairState:
    """The model (M, b) of an online metric learner, and its counters.

    M is stored in `matrix`, or in `eigenbasis` where every update is projected and there are many
    features. It is a metric of differences times `scale`. In a stream with ``scale="auto"``,
    `first_sqdists` are the squared lengths of the differences that the scale is computed from; it
    is None when the scale is fixed. While a batch is learned on a device, `matrix` is a tensor.
    """

    b: float
    matrix: FloatArray | None
    eigenbasis: EigenbasisMatrix | None = None
    n_events: int = 0
    n_updates: int = 0
    mistakes: int = 0
    cumulative_loss: float = 0.0
    since_projection: int = 0
    scale: float = 1.0
    first_sqdists: FloatArray | None = None

    @classmethod
    def start(cls, matrix: FloatArray, b: float, psd: Projection) -> PairState:
        """Return the state before the first event, with M projected to the PSD matrices."""
        if psd == "each" and len(matrix) > _LOOP_FEATURES_PSD:
            return cls(b, None, EigenbasisMatrix.of(nearest_psd(matrix)))
        return cls(b, np.array(nearest_psd(matrix), order="C"))

    @property
    def n_coordinates(self) -> int:
        """Rows and columns of M."""
        if self.eigenbasis is not None:
            return len(self.eigenbasis.values)
        assert self.matrix is not None
        return len(self.matrix)

    def check(self) -> None:
        """Raise a ValueError if the fields are not valid."""
        require_number(self.b)
        require_number(self.cumulative_loss)
        for count in (self.n_events, self.n_updates, self.mistakes, self.since_projection):
            require_count(count)
        if self.eigenbasis is not None:
            require(self.matrix is None and isinstance(self.eigenbasis, EigenbasisMatrix))
        else:
            require_array(self.matrix, None, None)
            require(self.matrix is not None and 0 < len(self.matrix) == self.matrix.shape[1])
        require_number(self.scale)
        require(self.scale > 0)
        if self.first_sqdists is not None:
            require_array(self.first_sqdists, None)
            require(
                len(self.first_sqdists) < _N_SCALE_PAIRS and bool((self.first_sqdists > 0).all())
            )

    def adapt_scale(self, sqdist: float) -> None:
        """Include the squared length of a difference in the scale of a stream.

        M changes with the scale, so that the metric remains the same.
        """
        assert self.first_sqdists is not None
        if not 1 / MAX_PAIR_SQNORM < sqdist < MAX_PAIR_SQNORM:
            return  # no scale makes such a pair an ordinary one
        sqdists = np.append(self.first_sqdists, sqdist)
        lower, median, upper = np.quantile(sqdists, [0.25, 0.5, 0.75])
        narrowest, widest = _MARGIN_WIDTH * median / np.square([_MAX_LENGTH, _MIN_LENGTH])
        scale = float(_MARGIN_WIDTH / np.clip(upper - lower, narrowest, widest)) ** 0.5
        factor = (self.scale / scale) ** 2
        if self.eigenbasis is not None:
            self.eigenbasis.multiply(factor)
        if self.matrix is not None:
            self.matrix *= factor
        self.scale = scale
        self.first_sqdists = sqdists if len(sqdists) < _N_SCALE_PAIRS else None

    def history_entry(self) -> tuple[float, ...]:
        """Return the values of `HISTORY_COLUMNS`.

        The predictive error is the share of pairs predicted wrongly before their update, the
        effective dimension the number of eigenvalues of M above a millionth of the largest.
        """
        values = np.linalg.eigvalsh(to_numpy(self.dense()))
        dimension = np.count_nonzero(values > max(values[-1], 0) * 1e-6)
        return self.n_events, self.mistakes / self.n_events, float(dimension)

    def dense(self) -> FloatArray:
        """Return M as it is, before any constraint is applied."""
        if self.eigenbasis is not None:
            return self.eigenbasis.dense()
        assert self.matrix is not None
        return self.matrix


class GramCache:
    """Gram matrices of blocks of differences, shared by learners that take the same pairs."""

    def __init__(self) -> None:
        self._grams: dict[int, FloatArray] = {}

    def get(self, start: int, block: FloatArray) -> FloatArray:
        """Return the Gram matrix of the block that begins with pair `start`."""
        if start not in self._grams:
            self._grams[start] = _upper_gram(block)
        return self._grams[start]


def learn_differences(
    state: PairState,
    V: FloatArray | Tensor,
    sign: FloatArray,
    rule: StepRule,
    psd: Projection,
    grams: GramCache | None = None,
) -> FloatArray:
    """Update `state` in place with pairs in order; return the hinge loss of each before its update.

    Parameters
    ----------
    state : PairState
        Is updated.
    V : float64 array of shape (n_pairs, n_features), C-contiguous
        Differences of the pairs; a tensor if M is one, and then `psd` is not "each".
    sign : float64 array of shape (n_pairs,)
        +1 for similar pairs, -1 for dissimilar ones.
    rule : StepRule
        The step size.
    psd : "each", "end" or int
        When the constraints are applied: after every update, not here, or after every n updates.
    grams : GramCache, optional
        Shared by several learners of the same pairs.
    """
    signed = np.empty(len(V))
    taken = 0
    while taken < len(V):
        shared = grams if taken == 0 else None
        done = _take_steps(state, V[taken:], sign[taken:], rule, psd, shared)
        state.b = done.b
        _count_updates(state, int(np.count_nonzero(done.steps)), psd)
        signed[taken : taken + done.taken] = done.losses
        taken += done.taken
    hinge = np.maximum(signed, 0)
    state.n_events += len(V)
    state.cumulative_loss += float(hinge.sum())
    # The prediction is the sign of y(b - vᵀMv) = 1 - p. Zero predicts "same": a mistake on a
    # dissimilar pair.
    state.mistakes += int(np.count_nonzero(np.where(sign > 0, signed > 1, signed >= 1)))
    return hinge


def learn_one_pair(
    state: PairState,
    first: FloatArray,
    second: FloatArray,
    sign: float,
    rule: StepRule,
    psd: Projection,
) -> float:
    """Do what `learn_differences` does for a single pair of samples, without its overhead.

    Returns
    -------
    float
        The hinge loss; NaN, and `state` is unchanged, if the difference is out of range.
    """
    if state.matrix is None or psd == "each":
        difference = state.scale * (first - second)
        if not differences_in_range(difference[None]):
            return np.nan
        return learn_one_difference(state, difference, sign, rule, psd)
    signed, size, b = _loops.pair_step(
        state.matrix, state.b, first, second, state.scale, sign, rule
    )
    if signed != signed:
        return signed
    return _count_event(state, signed, size, b, sign, psd)


def learn_one_difference(
    state: PairState, v: FloatArray, sign: float, rule: StepRule, psd: Projection
) -> float:
    """Do what `learn_differences` does for a single difference, without its overhead."""
    V, signs = v[None], np.array([sign])
    done = _take_steps(state, V, signs, rule, psd)
    while not done.taken:
        done = _take_steps(state, V, signs, rule, psd)
    return _count_event(state, float(done.losses[0]), done.steps[0], done.b, sign, psd)


def differences_in_range(V: FloatArray) -> bool:
    """Return whether all differences are finite, and the fourth powers of their lengths too."""
    return bool(np.einsum("nd,nd->n", V, V).max(initial=0.0) <= MAX_PAIR_SQNORM)


def _count_event(
    state: PairState, signed: float, size: float, b: float, sign: float, psd: Projection
) -> float:
    """Count one event with its signed loss and step size; return its hinge loss."""
    state.b = b
    state.n_events += 1
    if size:
        _count_updates(state, 1, psd)
    if signed <= 0:
        return 0.0
    state.cumulative_loss += signed
    if signed >= 1 and (signed > 1 or sign < 0):
        state.mistakes += 1
    return signed


def _count_updates(state: PairState, updates: int, psd: Projection) -> None:
    """Count updates, and apply the constraints if they are due."""
    state.n_updates += updates
    if isinstance(psd, int):
        state.since_projection += updates
        if state.since_projection >= psd:
            state.matrix = nearest_psd(state.dense())
            state.b = max(1.0, state.b)
            state.since_projection = 0


def _take_steps(
    state: PairState,
    V: FloatArray | Tensor,
    sign: FloatArray,
    rule: StepRule,
    psd: Projection,
    grams: GramCache | None = None,
) -> Steps:
    """Update M with the first pairs, until a projection or a refresh of the eigenbasis is due.

    The caller stores the new b, counts, projects, and calls again for the remaining pairs.
    """
    if state.eigenbasis is not None:
        return _steps_in_eigenbasis(state.eigenbasis, state.b, V, sign, rule)
    M = state.dense()
    if psd == "each":
        return _loops.pair_psd_steps(M, state.b, V, sign, rule)
    max_updates = psd - state.since_projection if isinstance(psd, int) else len(V)
    if is_tensor(V):
        from likewise.online._torch_steps import tensor_block_steps

        return tensor_block_steps(M, state.b, V, sign, rule, max_updates)
    if len(V) < _MIN_BLOCK_PAIRS or V.shape[1] <= _LOOP_FEATURES:
        return _loops.pair_steps(M, state.b, V, sign, rule, max_updates)
    return _steps_in_blocks(M, state.b, V, sign, rule, max_updates, grams)


def _steps_in_eigenbasis(
    M: EigenbasisMatrix, b: float, V: FloatArray, sign: FloatArray, rule: StepRule
) -> Steps:
    batch = len(M.rows)
    done, M.count = _loops.low_rank_psd_steps(
        M.low_rank, b, V[:batch] @ M.vectors, sign[:batch], rule
    )
    if done.taken < min(batch, len(V)):
        M.refresh()
    return done


def _steps_in_blocks(
    M: FloatArray,
    b: float,
    V: FloatArray,
    sign: FloatArray,
    rule: StepRule,
    max_updates: int,
    grams: GramCache | None,
) -> Steps:
    """Take steps block by block: two matrix products per block, and the same steps.

    In between only the lower triangle of M (in Fortran order, as BLAS reads it) is up to date.
    """
    blocks = []
    taken = 0
    by_columns = M.T
    with_gram: bool | None = None
    while taken < len(V) and max_updates > 0:
        block = V[taken : taken + _BLOCK_PAIRS]
        # The lower triangle is enough for vᵀMv, at half the cost of a full product.
        half = blas.dtrmm(1.0, by_columns, block.T, lower=1)
        q = _loops.triangle_quadratics(block, half.T, M.diagonal().copy())
        signs = sign[taken : taken + _BLOCK_PAIRS]
        if with_gram is None:
            with_gram = rule.variant == "PALS" or _gram_pays(int(np.sum(signs * (b - q) < 1)))
        if with_gram or grams is not None:
            gram = _upper_gram(block) if grams is None else grams.get(taken, block)
            done = _loops.pair_gram_steps(gram, q, b, signs, rule, max_updates)
        else:
            done = _loops.pair_block_steps(block, q, b, signs, rule, max_updates)
        b = done.b
        weights = -done.steps * signs[: done.taken]
        added, removed = _loops.signed_rows(block[: done.taken], weights)
        for direction, rows in ((1.0, added), (-1.0, removed)):
            if len(rows):
                blas.dsyrk(direction, rows.T, beta=1.0, c=by_columns, lower=1, overwrite_c=1)
        blocks.append(done)
        updates = int(np.count_nonzero(done.steps))
        with_gram = _gram_pays(updates)
        max_updates -= updates
        taken += done.taken
    _mirror_lower(by_columns)
    losses = np.concatenate([done.losses for done in blocks])
    steps = np.concatenate([done.steps for done in blocks])
    return Steps(taken, b, losses, steps)


def _gram_pays(updates: int) -> bool:
    """Return whether the Gram matrix speeds up a block with this many updates (measured)."""
    return updates > _BLOCK_PAIRS // 4


def _upper_gram(V: FloatArray) -> FloatArray:
    """Return the upper triangle of ``V @ V.T``, and zeros below."""
    return np.asarray(blas.dsyrk(1.0, V.T, trans=1, lower=1).T)


_TILE = 64
_ABOVE = ~np.tri(_TILE, dtype=bool)


def _mirror_lower(M: FloatArray) -> None:
    """Copy the lower triangle to the upper one."""
    for start in range(0, len(M), _TILE):
        stop = start + _TILE
        M[start:stop, stop:] = M[stop:, start:stop].T
        corner = M[start:stop, start:stop]
        size = len(corner)
        np.copyto(corner, corner.T, where=_ABOVE[:size, :size])
