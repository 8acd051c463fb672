"""Rows on a device that are assigned to classes or clusters, by cosine under a metric."""

from __future__ import annotations

from functools import cached_property
from typing import Self

import numpy as np
import torch

from likewise._numerics.torch_products import map_tensor, product_dtype, product_over_tensor_rows
from likewise._runtime.arrays import FloatArray, IndexArray
from likewise._runtime.tensors import Tensor, tensor_like, to_numpy
from likewise.adapter._grouped_rows import ASSIGNMENT_WEIGHT
from likewise.adapter._lengths import blocks, lengths_of
from likewise.metric import or_one

_SUMMED_ROWS = 1 << 14
_MEMBERS = 1 << 24  # elements of the matrix that sums the rows of each class, at a time


class RowsOnDevice:
    """Centred rows, of which the first may be labelled, as `RowsInMemory`.

    Sums over the rows of each class are products: their order is fixed, and only they leave the
    device.

    Parameters
    ----------
    rows : tensor of shape (n_rows, n_features)
    labelled : int array, optional
        The classes of the first rows, 0…c-1; by default no row has one.
    """

    def __init__(self, rows: Tensor, labelled: IndexArray | None = None) -> None:
        self.rows = rows
        codes = np.empty(0, dtype=np.int64) if labelled is None else labelled
        self.labelled = tensor_like(codes, rows, torch.int64)

    @classmethod
    def centred(
        cls, rows: Tensor, labelled: IndexArray | None
    ) -> tuple[Self, FloatArray, FloatArray]:
        """Subtract the mean from rows, in place; return them, the mean and the covariance."""
        total = torch.zeros(rows.shape[1], dtype=torch.float64, device=rows.device)
        for block in blocks(rows):
            total += block.double().sum(dim=0)
        mean = total / len(rows)
        rows -= mean.to(rows.dtype)
        covariance = product_over_tensor_rows(rows, rows) / len(rows)
        return cls(rows, labelled), np.asarray(to_numpy(mean)), covariance

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, numbers: IndexArray) -> Tensor:
        """Return rows by their numbers."""
        return self.rows[tensor_like(numbers, self.rows, torch.int64)]

    def space(self, F: FloatArray, scale: float) -> SpaceOnDevice:
        """Return the rows under the metric of the directions F."""
        return SpaceOnDevice(self.rows, F, scale, self.labelled)

    def class_means(self, assigned: Tensor, n_classes: int) -> tuple[FloatArray, IndexArray]:
        """Return the mean and the number of the rows that are assigned to each class."""
        sums = _class_sums(self.rows, assigned, n_classes)
        return _means(sums, assigned, n_classes)

    def class_scatter(self, n_classes: int) -> tuple[FloatArray, IndexArray, FloatArray]:
        """Return means and numbers of labelled rows, in float64, and the scatter about them."""
        rows, codes = self.rows[: len(self.labelled)], self.labelled
        sums = _class_sums(rows, codes, n_classes, precision=torch.float64)
        means, counts = _means(sums, codes, n_classes)
        centres = tensor_like(means, rows, torch.float64)
        scatter = torch.zeros(
            (rows.shape[1], rows.shape[1]), dtype=torch.float64, device=rows.device
        )
        for start in range(0, len(rows), _SUMMED_ROWS):
            part = slice(start, start + _SUMMED_ROWS)
            deviations = rows[part].double() - centres[codes[part]]
            scatter += deviations.T @ deviations
        return means, counts, np.asarray(to_numpy(scatter))


class SpaceOnDevice:
    """Rows under the metric ``M = I / s + 2 FᵀF``, compared by cosine, as `SpaceInMemory`.

    Parameters
    ----------
    rows : tensor of shape (n_rows, n_features)
    F : array of shape (n_directions, n_features)
    scale : float
        s.
    labelled : int tensor
        The classes of the first rows, which they keep.
    """

    def __init__(self, rows: Tensor, F: FloatArray, scale: float, labelled: Tensor) -> None:
        self.rows, self.F, self.scale = rows, tensor_like(F, rows), scale
        self.labelled = labelled

    @cached_property
    def inverse_lengths(self) -> Tensor:
        """1 / √(xᵀMx) of each row; 1 for rows of length 0."""
        return 1 / or_one(self._lengths(self.rows))

    def means(self, assigned: Tensor, n_classes: int) -> Tensor:
        """Return the sums of the first rows, scaled to length 1, of each class; -1 is none."""
        n_used = len(assigned)
        weights = self.inverse_lengths[:n_used]
        return _class_sums(self.rows[:n_used], assigned, n_classes, weights).to(self.rows.dtype)

    def assign(self, centres: Tensor) -> Tensor:
        """Return the centre of largest cosine for each row; labelled rows keep their class."""
        # Mc, so that images of all rows need not be in memory.
        mapped = centres / self.scale
        mapped += ASSIGNMENT_WEIGHT * map_tensor(map_tensor(centres, self.F), self.F.T)
        mapped /= or_one(self._lengths(centres))[:, None]
        found = torch.cat([map_tensor(rows, mapped).argmax(dim=1) for rows in blocks(self.rows)])
        found[: len(self.labelled)] = self.labelled
        return found

    def _lengths(self, rows: Tensor) -> Tensor:
        """Return √(xᵀMx) of each row."""
        of_images = torch.cat([lengths_of(map_tensor(block, self.F)) for block in blocks(rows)])
        squares = lengths_of(rows) ** 2 / self.scale + ASSIGNMENT_WEIGHT * of_images**2
        return squares.sqrt()


def _class_sums(
    rows: Tensor,
    codes: Tensor,
    n_classes: int,
    weights: Tensor | None = None,
    precision: torch.dtype | None = None,
) -> Tensor:
    """Return the weighted sum of the rows of each class, in float64; -1 is no class.

    Blocks are multiplied in the precision of the rows, or in another one, and added in order.
    """
    precise = precision or product_dtype(rows.dtype)
    classes = torch.arange(n_classes, device=rows.device)[:, None]
    total = torch.zeros((n_classes, rows.shape[1]), dtype=torch.float64, device=rows.device)
    n_rows = max(1, min(_SUMMED_ROWS, _MEMBERS // n_classes))
    for start in range(0, len(rows), n_rows):
        part = slice(start, start + n_rows)
        members = (codes[part] == classes).to(precise)
        if weights is not None:
            members *= weights[part].to(precise)
        total += members @ rows[part].to(precise)
    return total


def _means(sums: Tensor, codes: Tensor, n_classes: int) -> tuple[FloatArray, IndexArray]:
    """Return the mean and the number of the rows of each class."""
    used = to_numpy(codes)
    counts = np.bincount(used[used >= 0], minlength=n_classes)
    return np.asarray(to_numpy(sums) / np.maximum(counts, 1)[:, None]), counts
