"""Which rows each of several metrics measures, on tensors."""

from __future__ import annotations

from typing import NamedTuple

import torch

from likewise._runtime.tensors import Tensor, to_numpy
from likewise.objectives.torch_large_margin import TensorPairs


class MeasuredRows(NamedTuple):
    """The rows that occur in pairs of each metric, one metric after the other.

    A row occurs once for each metric that measures it. Pairs are numbered within these rows, in the
    same order and the same groups, so that distances and sums of all metrics are those of one.

    Attributes
    ----------
    rows : int64 tensor of shape (n_measured,)
        The row of X of each.
    sizes : list of int
        How many rows each metric measures.
    targets, impostors : TensorPairs
        The pairs, numbered within `rows`.
    """

    rows: Tensor
    sizes: list[int]
    targets: TensorPairs
    impostors: TensorPairs

    @classmethod
    def of(
        cls, targets: TensorPairs, impostors: TensorPairs, clusters: Tensor, n_clusters: int
    ) -> MeasuredRows:
        """Number the rows of pairs, each of which is measured by its second row's metric."""
        n = len(clusters)
        ends = []
        for pairs in (targets, impostors):
            first = clusters[pairs.cols] * n
            ends.append((first + pairs.rows, first + pairs.cols))
        occurs = torch.zeros(n_clusters * n, dtype=torch.bool, device=clusters.device)
        for numbers in (*ends[0], *ends[1]):
            occurs[numbers] = True
        places = occurs.cumsum(0) - 1
        rows = torch.nonzero(occurs)[:, 0] % n
        sizes = to_numpy(occurs.view(n_clusters, n).sum(dim=1)).tolist()
        numbered = [
            TensorPairs(places[first], places[second], pairs.indptr)
            for (first, second), pairs in zip(ends, (targets, impostors), strict=True)
        ]
        return cls(rows, sizes, *numbered)


class LastMeasuredRows:
    """Keeps the `MeasuredRows` of the last pairs, as many evaluations are with the same pairs."""

    def __init__(self) -> None:
        self._last: tuple[TensorPairs, TensorPairs, MeasuredRows] | None = None

    def of(
        self, targets: TensorPairs, impostors: TensorPairs, clusters: Tensor, n_clusters: int
    ) -> MeasuredRows:
        """Return those of these pairs."""
        if self._last is not None:
            last_targets, last_impostors, measured = self._last
            if last_targets is targets and last_impostors is impostors:
                return measured
            self._last = None  # its memory is free for the next
        measured = MeasuredRows.of(targets, impostors, clusters, n_clusters)
        self._last = targets, impostors, measured
        return measured
