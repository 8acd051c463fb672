"""Rows of an adapter on the device of a tensor."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import torch

from likewise._runtime.arrays import IndexArray
from likewise._runtime.tensors import Tensor, numpy_dtype, tensor_like
from likewise.adapter._sources import ArraySource


class TensorSource(ArraySource):
    """Rows in the memory of a device, where everything over rows is computed.

    Parameters
    ----------
    rows : tensor of shape (n_rows, n_features)
    given : array or tensor, optional
        What the rows are a copy of; by default themselves.
    """

    def __init__(self, rows: Tensor, given: Any = None) -> None:
        super().__init__(rows, given)
        self.shape = (len(rows), rows.shape[1])
        self.dtype = numpy_dtype(rows)

    def take(self, numbers: IndexArray) -> Tensor:
        """Return rows by their numbers, on the device."""
        return self.rows[tensor_like(numbers, self.rows, torch.int64)]

    def empty(self, n: int) -> Tensor:
        """Return a tensor for n rows, whose values are arbitrary."""
        return self.rows.new_empty((n, self.shape[1]))

    def astype(self, dtype: Any) -> Self:
        """Return the rows in another precision."""
        return type(self)(self.rows.to(getattr(torch, np.dtype(dtype).name)), self.given)
