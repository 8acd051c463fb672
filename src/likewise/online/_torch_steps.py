"""Online steps on differences that are tensors: matrix products there, the loop on the host.

What travels per block is ``vᵀMv`` of each pair and the Gram matrix of the block to the host, and
the step of each pair back. M stays where the differences are.
"""

from __future__ import annotations

import numpy as np
import torch

from likewise import _loops
from likewise._loops.pairs.types import StepRule, Steps
from likewise._numerics.torch_pairs import tensor_pair_sqdist
from likewise._runtime.arrays import FloatArray, IndexArray
from likewise._runtime.tensors import Tensor, tensor_like, to_numpy

# A block costs a round trip to the host whatever its size, and a pair of it the transfer of its row
# of the Gram matrix and half a pass over that row: at 512 pairs neither dominates.
_BLOCK_PAIRS = 512


def tensor_differences(X: Tensor, index: IndexArray, scale: float) -> tuple[Tensor, float]:
    """Do for tensors what the loop `pair_differences` does for arrays."""
    first, second = _sides(index, X)
    V = X[first].double() - X[second].double()
    V *= scale
    return V, float(torch.linalg.vecdot(V, V).max())


def tensor_squared_lengths(X: Tensor, index: IndexArray) -> FloatArray:
    """Return the squared length of the difference of each pair of rows."""
    return np.asarray(to_numpy(tensor_pair_sqdist(X, *_sides(index, X))))


def tensor_block_steps(
    M: Tensor, b: float, V: Tensor, sign: FloatArray, rule: StepRule, max_updates: int
) -> Steps:
    """Take the same steps as the loop `pair_steps`, block by block; M is updated in place.

    Parameters
    ----------
    M : float64 tensor of shape (d, d)
        Symmetric.
    V : float64 tensor of shape (n, d)
        Differences, on the device of M.
    b, sign, rule, max_updates
        As in `pair_steps`.

    Returns
    -------
    Steps
    """
    blocks = []
    taken = 0
    gram = _gram(V[:_BLOCK_PAIRS])
    while taken < len(V) and max_updates > 0:
        block = V[taken : taken + _BLOCK_PAIRS]
        signs = sign[taken : taken + _BLOCK_PAIRS]
        # The copy waits for all before it, and so for the Gram matrix.
        q = to_numpy(torch.linalg.vecdot(block @ M, block))
        inner = gram.numpy()
        # The Gram matrix of the next block is computed during the loop over this one.
        gram = _gram(V[taken + len(block) : taken + 2 * _BLOCK_PAIRS])
        done = _loops.pair_gram_steps(inner, q, b, signs, rule, max_updates)
        b = done.b
        updates = int(np.count_nonzero(done.steps))
        if updates:
            rows = block[: done.taken]
            weights = tensor_like(-done.steps * signs[: done.taken], V)
            M.addmm_((rows * weights[:, None]).T, rows)
        blocks.append(done)
        max_updates -= updates
        taken += done.taken
    M.copy_((M + M.T) / 2)  # products are symmetric only up to rounding
    losses = np.concatenate([done.losses for done in blocks])
    steps = np.concatenate([done.steps for done in blocks])
    return Steps(taken, b, losses, steps)


def _sides(index: IndexArray, X: Tensor) -> Tensor:
    """Return the row numbers of the first and of the second samples of pairs."""
    return torch.from_numpy(np.ascontiguousarray(index.T)).to(X.device)


def _gram(block: Tensor) -> Tensor:
    """Return ``V Vᵀ`` on the host, where it may be read once the device has come so far."""
    return (block @ block.T).to("cpu", non_blocking=True)
