"""Exact search for the impostors of several metrics, on tensors."""

from __future__ import annotations

import numpy as np
import torch

from likewise import neighbors
from likewise._runtime.arrays import BoolArray, IndexArray
from likewise._runtime.tensors import Tensor, tensor_like
from likewise.batch.lmnn.torch_data import TensorImpostorSearch
from likewise.objectives.torch_large_margin import TensorPairs


class TensorClusteredImpostorSearch(TensorImpostorSearch):
    """`ClusteredImpostorSearch` on the device of the transformed rows.

    Parameters
    ----------
    clusters : int array of shape (n_samples,)
    codes, targets, active, margin
        As in `TensorImpostorSearch`.
    """

    def __init__(
        self,
        clusters: IndexArray,
        codes: IndexArray,
        targets: TensorPairs,
        active: BoolArray,
        margin: float,
    ) -> None:
        super().__init__(codes, targets, active, margin)
        self.clusters = tensor_like(clusters, targets.rows)
        self._parts = np.unique(np.stack([clusters, codes]), axis=1).T.tolist()

    def _search(self, Z: Tensor, sqradius: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        parts, remaining = [], self.max_pairs
        # Rows of one cluster and class against all other classes: together every pair once.
        for cluster, code in self._parts:
            inside = (self.clusters == cluster) & (self.codes == code)
            members = torch.nonzero(inside | (self.codes != code))[:, 0]
            rows, cols, sqdist = neighbors.within_radius_of_other_class(
                Z[cluster][members],
                inside[members].long(),
                torch.where(inside, 0.0, sqradius)[members],
                max_pairs=remaining,
            )
            parts.append((members[rows], members[cols], sqdist))
            remaining = None if remaining is None else remaining - len(rows)
        rows, cols, sqdist = (torch.cat(part) for part in zip(*parts, strict=True))
        order = torch.argsort(rows * len(self.codes) + cols)
        return rows[order], cols[order], sqdist[order]
