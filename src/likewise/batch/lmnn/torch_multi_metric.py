"""The LMNN objective of several metrics on tensors: `MultiMetricLargeMargin` on a device."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import torch

from likewise._numerics.torch_products import map_tensor, product_over_tensor_rows
from likewise._runtime.arrays import Array
from likewise._runtime.tensors import Tensor, tensor_like
from likewise.batch.lmnn.multi_metric_objective import MultiMetricLargeMarginBound
from likewise.batch.lmnn.torch_measured_rows import LastMeasuredRows, MeasuredRows
from likewise.objectives.large_margin import PairLoss
from likewise.objectives.large_margin_bound import LowerBound, QuadraticPenalty
from likewise.objectives.torch_large_margin import TensorPairs, TorchLargeMargin


@dataclass(frozen=True, eq=False)
class TorchMultiMetricLargeMargin(TorchLargeMargin):
    """What `MultiMetricLargeMargin` is, for tensors; its attributes have the same meaning.

    Parameters
    ----------
    clusters : int64 tensor of shape (n_samples,)
    n_clusters : int
    last : LastMeasuredRows
        Shared by the objectives that differ in X or smoothing only.
    """

    clusters: Tensor = field(default_factory=lambda: torch.empty(0, dtype=torch.int64))
    n_clusters: int = 1
    last: LastMeasuredRows = field(default_factory=LastMeasuredRows)

    def transform(self, L: Array) -> Tensor:
        """Return the data transformed by each of the metrics."""
        return torch.stack([self.map_rows(one) for one in L])

    def sqdist(self, Z: Tensor, pairs: TensorPairs) -> Tensor:
        """Return the squared distance of each pair under the metric of its second row."""
        first = self.clusters[pairs.cols] * len(self.X)
        return self.pair_sqdist(Z.flatten(0, 1), first + pairs.rows, first + pairs.cols)

    def value_and_gradient(self, L: Array) -> tuple[float, Array]:
        """Return the objective and its gradient with respect to the L of every cluster."""
        measured = self._measured
        Z = torch.cat([map_tensor(*both) for both in zip(self._rows, L, strict=True)])
        targets, impostors = (
            self.pair_sqdist(Z, pairs.rows, pairs.cols)
            for pairs in (measured.targets, measured.impostors)
        )
        loss = self.loss(targets, impostors)
        return loss.value, 2 * self._products(Z, loss)

    def lower_bound(self, penalty: QuadraticPenalty | None = None) -> LowerBound:
        """Return the function that bounds this objective over all metrics of the clusters."""
        return MultiMetricLargeMarginBound(self, penalty)

    def gradients_in_matrices(self, loss: PairLoss) -> Array:
        """Return the gradient with respect to the M of every cluster."""
        gradients = self._products(torch.cat(self._rows), loss)
        return np.asarray((gradients + np.swapaxes(gradients, -1, -2)) / 2)

    def pull_gradients(self) -> Array:
        """Return the gradient of the pull with respect to the M of every cluster."""
        pull = replace(self, impostors=self.impostors.without_pairs(), last=LastMeasuredRows())
        targets = self.weights[self.targets.groups] * (1 - self.push)
        return pull.gradients_in_matrices(PairLoss(0.0, targets, targets[:0]))

    def impostors_where(self, test: Callable[[int, Tensor, Tensor], Tensor]) -> Tensor:
        """Return the result of a test of the rows and columns of each cluster's impostors."""
        pairs = self.impostors
        mask = torch.empty(len(pairs), dtype=torch.bool, device=pairs.rows.device)
        for cluster, part in self._impostors_by_cluster():
            passed = test(cluster, pairs.rows[part], pairs.cols[part])
            mask[part] = tensor_like(passed, mask)
        return mask

    def _impostors_by_cluster(self) -> Iterator[tuple[int, Tensor]]:
        """Yield each cluster that has impostors, and their numbers among all of them."""
        of_pairs = self.clusters[self.impostors.cols]
        for cluster in range(self.n_clusters):
            part = torch.nonzero(of_pairs == cluster)[:, 0]
            if len(part):
                yield cluster, part

    def _products(self, Z: Tensor, loss: PairLoss) -> Array:
        """Return ``(ΛZ)ᵀX`` for the rows of every cluster that its metric transforms to Z."""
        measured = self._measured
        pairs = TorchLargeMargin(Z, measured.targets, measured.impostors, self.weights)
        products = pairs.laplacian_product(Z, loss).split(measured.sizes)
        return np.stack(
            [product_over_tensor_rows(*both) for both in zip(products, self._rows, strict=True)]
        )

    @cached_property
    def _rows(self) -> tuple[Tensor, ...]:
        """The rows of X that each metric measures."""
        return tuple(self.X[self._measured.rows].split(self._measured.sizes))

    @cached_property
    def _measured(self) -> MeasuredRows:
        return self.last.of(self.targets, self.impostors, self.clusters, self.n_clusters)
