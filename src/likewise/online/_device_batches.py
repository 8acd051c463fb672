"""Batches of pairs that an online metric learner takes on the device of a tensor."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from likewise._runtime.arrays import Array, FloatArray
from likewise._runtime.tensors import (
    Tensor,
    device_memory_errors,
    is_tensor,
    tensor_like,
    to_numpy,
)
from likewise.online._pair_state import PairState

# Features from which a batch is taken on the device. Counted, not measured: there a block of 512
# pairs costs a round trip to the host, 0.1 to 0.2 ms, and on the host 2d² operations per pair, from
# here on 7 ms or more.
MIN_DEVICE_FEATURES = 512


def wide_enough_for_device(X: Any) -> bool:
    """Return whether X is a table with enough features for the device."""
    shape: tuple[int, ...] = getattr(X, "shape", ())
    return len(shape) == 2 and shape[1] >= MIN_DEVICE_FEATURES


def to_device_of(X: Tensor, matrix: FloatArray) -> Tensor:
    """Return a float64 matrix on the device of a tensor."""
    import torch

    return torch.from_numpy(matrix).to(X.device)


@contextmanager
def matrix_on_device(state: PairState, X: Array | Tensor, owner: str) -> Iterator[None]:
    """Keep M of `state` where the samples X are if those are a tensor; an array comes back."""
    if not is_tensor(X):
        yield
        return
    with device_memory_errors(owner):
        state.matrix = to_device_of(X, state.dense())
        yield
    state.matrix = np.ascontiguousarray(to_numpy(state.matrix))


def concatenate(recent: Array, samples: Array | Tensor) -> Array | Tensor:
    """Return the recent samples followed by new ones, of the type of the new ones."""
    if not is_tensor(samples):
        return np.concatenate([recent, samples]).astype(samples.dtype, copy=False)
    import torch

    return torch.cat([tensor_like(recent, samples), samples])
