"""The LMNN objective on tensors: `LargeMargin` where rows, pairs and distances are on a device.

Only L, its gradient and matrices of n_features × n_features are NumPy's, on the host. Sums have a
fixed order, so that the same device gives the same bits every time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch

from likewise._numerics.torch_pairs import Incidence, sum_segments, tensor_pair_sqdist
from likewise._numerics.torch_products import (
    map_tensor,
    product_over_tensor_rows,
    tensor_standard_deviations,
)
from likewise._runtime.arrays import Array, IndexArray
from likewise._runtime.kernel_check import has_kernels
from likewise._runtime.tensors import Tensor, tensor_like, to_numpy
from likewise.objectives.large_margin import PairLoss
from likewise.objectives.large_margin_bound import LargeMarginBound, LowerBound, QuadraticPenalty


@dataclass(frozen=True, eq=False)
class TensorPairs:
    """`GroupedPairs` whose rows, columns and group starts are tensors on one device.

    Attributes
    ----------
    rows, cols : int64 tensors of shape (n_pairs,)
    indptr : int64 tensor of shape (n_groups + 1,)
    """

    rows: Tensor
    cols: Tensor
    indptr: Tensor

    @classmethod
    def from_sorted(cls, groups: Tensor, n_groups: int, rows: Tensor, cols: Tensor) -> TensorPairs:
        """Build it from pairs that are sorted by `groups`, the group of each pair."""
        ends = torch.arange(n_groups + 1, device=rows.device)
        return cls(rows, cols, torch.searchsorted(groups.contiguous(), ends))

    @property
    def lengths(self) -> Tensor:
        """The number of pairs of each group."""
        return self.indptr[1:] - self.indptr[:-1]

    @cached_property
    def longest(self) -> int:
        """The most pairs of a group, at least 1."""
        return max(1, int(self.lengths.max())) if len(self.lengths) else 1

    @cached_property
    def groups(self) -> Tensor:
        """The group of each pair."""
        numbers = torch.arange(len(self.lengths), device=self.rows.device)
        return torch.repeat_interleave(numbers, self.lengths, output_size=len(self.rows))

    def incidence(self, n_rows: int) -> Incidence:
        """Return both ends of the pairs sorted by row: once for all evaluations with them."""
        if n_rows not in self._incidences:
            self._incidences[n_rows] = Incidence.of(self.rows, self.cols, n_rows)
        return self._incidences[n_rows]

    @cached_property
    def _incidences(self) -> dict[int, Incidence]:
        return {}

    def select(self, mask: Tensor) -> TensorPairs:
        """Return the pairs in `mask`, in the same groups."""
        return TensorPairs.from_sorted(
            self.groups[mask], len(self.lengths), self.rows[mask], self.cols[mask]
        )

    def without_pairs(self) -> TensorPairs:
        """Return the same groups, with no pairs."""
        return TensorPairs(self.rows[:0], self.cols[:0], torch.zeros_like(self.indptr))

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, eq=False)
class TorchLargeMargin:
    """What `LargeMargin` is, for tensors; its attributes have the same meaning.

    Parameters
    ----------
    X : tensor of shape (n_samples, n_features)
    targets, impostors : TensorPairs
    weights : float64 tensor of shape (n_groups,)
    push, margin, smoothing : float
    n_jobs : int or None
        Not used: the device decides.
    """

    X: Tensor
    targets: TensorPairs
    impostors: TensorPairs
    weights: Tensor
    push: float = 0.5
    margin: float = 1.0
    smoothing: float = 0.0
    n_jobs: int | None = None

    def value_and_gradient(self, L: Array) -> tuple[float, Array]:
        """Return the objective at L and its gradient with respect to L."""
        Z = self.transform(L)
        loss = self.loss(self.sqdist(Z, self.targets), self.sqdist(Z, self.impostors))
        product = self.laplacian_product(Z, loss)
        return loss.value, 2 * product_over_tensor_rows(product, self.X)

    def transform(self, L: Array) -> Tensor:
        """Return the rows transformed by the variable L."""
        return self.map_rows(L)

    def map_rows(self, L: Array) -> Tensor:
        """Return ``X @ L.T``."""
        return map_tensor(self.X, L)

    def sqdist(self, Z: Tensor, pairs: TensorPairs) -> Tensor:
        """Return the squared distances of pairs of transformed rows Z."""
        return self.pair_sqdist(Z, pairs.rows, pairs.cols)

    def pair_sqdist(self, Z: Tensor, rows: Tensor, cols: Tensor) -> Tensor:
        """Return the squared distances of pairs of rows of Z."""
        return tensor_pair_sqdist(Z, rows, cols)

    def scaled(self, Z: Tensor, square: float) -> Tensor:
        """Return rows whose squared distances are `square` times those of Z."""
        return Z * float(np.sqrt(square))

    def median(self, sqdist: Tensor) -> float:
        """Return the median of squared distances."""
        return float(np.median(to_numpy(sqdist)))

    def mean_square(self) -> float:
        """Return the mean of ‖x‖² over the rows of X."""
        return float(self.X.double().square().sum()) / max(1, len(self.X))

    def standard_deviations(self) -> Array:
        """Return those of the features, 0 where they are within the rounding error."""
        return tensor_standard_deviations(self.X)

    def covariance(self, features: IndexArray, axes: Array) -> Array:
        """Return the covariance of ``X[:, features] @ axes.T``."""
        rows = map_tensor(self.X[:, tensor_like(features, self.X, torch.int64)], axes).double()
        rows = rows - rows.mean(dim=0)
        return product_over_tensor_rows(rows, rows) / len(rows)

    def loss(self, targets: Tensor, impostors: Tensor, *, pull: float | None = None) -> PairLoss:
        """Return the loss for squared distances of the pairs; `pull` replaces ``1 - push``."""
        pull = 1 - self.push if pull is None else pull
        compute = self.losses_by_kernel if self._has_kernel(targets.device) else self.losses
        losses, of_targets, of_impostors = compute(targets, impostors, pull)
        return PairLoss(float(losses.sum()), of_targets, of_impostors)

    def _has_kernel(self, device: Any) -> bool:
        if not has_kernels(device):
            return False
        from likewise.objectives import triton_hinges

        width = self.targets.longest
        return width <= triton_hinges.MAX_TARGETS and triton_hinges.CHECK.passes(device, width)

    def losses_by_kernel(
        self, targets: Tensor, impostors: Tensor, pull: float
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Do what `losses` does, by a kernel of Triton."""
        from likewise.objectives import triton_hinges

        starts = self.targets.indptr, self.impostors.indptr
        return triton_hinges.group_losses(
            targets, starts[0], impostors, starts[1], self.weights,
            self.targets.longest, pull, self.push, self.margin, self.smoothing,
        )  # fmt: skip

    def losses(
        self, targets: Tensor, impostors: Tensor, pull: float
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return the loss of each group, and its derivatives in the distances of its pairs."""
        hinges, target_derivatives, impostor_derivatives = self._hinges(targets, impostors)
        groups = self.targets.groups
        pulls = sum_segments(targets[:, None], self.targets.indptr)[:, 0]
        return (
            self.weights * (pull * pulls + self.push * hinges),
            self.weights[groups] * (pull + self.push * target_derivatives),
            self.weights[self.impostors.groups] * (-self.push * impostor_derivatives),
        )

    def _hinges(self, targets: Tensor, impostors: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the losses of groups and the derivatives of the hinges, before all weights."""
        n_groups = len(self.weights)
        if not len(impostors):
            return targets.new_zeros(n_groups), torch.zeros_like(targets), impostors
        # One column per target of a group; −∞ where a group has fewer has no hinge.
        padded = targets.new_full((n_groups, self._places[1]), -torch.inf)
        padded.view(-1)[self._places[0]] = targets
        groups = self.impostors.groups
        violation = (self.margin + padded[groups] - impostors[:, None]).clamp_(min=0)
        if self.smoothing:
            derivative = (violation / self.smoothing).clamp_(max=1)
            loss = derivative * (violation - derivative * (self.smoothing / 2))
        else:
            derivative, loss = (violation > 0).to(violation.dtype), violation
        offsets = self.impostors.indptr
        hinges = sum_segments(loss.sum(dim=1)[:, None], offsets)[:, 0]
        of_targets = sum_segments(derivative, offsets)
        return hinges, of_targets.reshape(-1)[self._places[0]], derivative.sum(dim=1)

    @cached_property
    def _places(self) -> tuple[Tensor, int]:
        """Where each target stands in a matrix of one row per group, and its columns."""
        pairs = self.targets
        width = pairs.longest
        numbers = torch.arange(len(pairs), device=pairs.rows.device)
        return pairs.groups * width + numbers - pairs.indptr[pairs.groups], width

    def lagrangian(self, loss: PairLoss, targets: Tensor, impostors: Tensor) -> float:
        """Return ``margin Σλ + ⟨P + Q, M⟩`` for the derivatives λ of the hinges."""
        value = float(loss.targets @ targets) + float(loss.impostors @ impostors)
        return value - self.margin * float(loss.impostors.sum())

    def laplacian_product(self, Z: Tensor, loss: PairLoss) -> Tensor:
        """Return ``ΛZ``, half the gradient in Z, in float64."""
        product = self.targets.incidence(len(Z)).product(Z, loss.targets)
        if len(self.impostors):
            product += self.impostors.incidence(len(Z)).product(Z, loss.impostors)
        return product

    def lower_bound(self, penalty: QuadraticPenalty | None = None) -> LowerBound:
        """Return the function that bounds this objective, plus a `penalty`, over all metrics."""
        return LargeMarginBound(self, self.pull_gradient(), penalty)

    def pull_gradient(self) -> Array:
        """Return the gradient of the pull with respect to M, which is the same for every M."""
        targets = self.weights[self.targets.groups] * (1 - self.push)
        nothing = targets.new_zeros(len(self.impostors))
        return self.gradient_in_matrix(PairLoss(0.0, targets, nothing))

    def gradient_in_matrix(self, loss: PairLoss) -> Array:
        """Return the gradient in M: ``Σ derivative (x_a - x_b)(x_a - x_b)ᵀ`` over the pairs."""
        gradient = product_over_tensor_rows(self.laplacian_product(self.X, loss), self.X)
        return np.asarray((gradient + gradient.T) / 2)
