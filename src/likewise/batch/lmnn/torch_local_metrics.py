"""Nearest neighbours under one metric per cluster of training rows, for tensors."""

from __future__ import annotations

import numpy as np
import torch

from likewise import neighbors
from likewise._numerics.centring import centred
from likewise._numerics.torch_products import map_tensor
from likewise._runtime.tensors import Tensor
from likewise.batch.lmnn.local_metrics import LocalMetrics


def nearest(metrics: LocalMetrics, X: Tensor, n_neighbors: int) -> tuple[Tensor, Tensor]:
    """Do what `LocalMetrics.nearest` does, on the device of X."""
    rows = torch.as_tensor(metrics.rows, device=X.device)
    wider = torch.promote_types(X.dtype, rows.dtype)
    queries, rows = (centred(part.to(wider), metrics.centre) for part in (X, rows))
    sqdist_parts, index_parts = [], []
    for cluster, L in enumerate(metrics.components):
        numbers = np.flatnonzero(metrics.clusters == cluster)
        members = torch.as_tensor(numbers, device=X.device)
        if len(members):
            cluster_sqdist, cluster_index = neighbors.nearest(
                map_tensor(queries, L),
                map_tensor(rows[members], L),
                min(n_neighbors, len(members)),
            )
            sqdist_parts.append(cluster_sqdist)
            index_parts.append(members[cluster_index])
    # By distance, then by number: the last key first.
    index, order = torch.cat(index_parts, dim=1).sort(dim=1)
    sqdist, last = torch.cat(sqdist_parts, dim=1).gather(1, order).sort(dim=1, stable=True)
    return sqdist[:, :n_neighbors], index.gather(1, last)[:, :n_neighbors]
