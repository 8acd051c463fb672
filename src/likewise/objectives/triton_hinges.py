"""The loss of LMNN and its derivatives in the squared distances, by a kernel of Triton.

`torch_large_margin` defines the results, and uses this where it was checked.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from likewise._runtime.kernel_check import KernelCheck
from likewise._runtime.tensors import Tensor

_IMPOSTORS_AT_ONCE = 64
MAX_TARGETS = 64  # of one group


def group_losses(
    targets: Tensor,
    target_starts: Tensor,
    impostors: Tensor,
    impostor_starts: Tensor,
    weights: Tensor,
    n_targets: int,
    pull: float,
    push: float,
    margin: float,
    smoothing: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the loss of each group, and its derivatives in the distances of both kinds of pairs.

    Parameters
    ----------
    targets, impostors : float64 tensors of shape (n_targets_of_all,) and (n_impostors,)
        Squared distances, group after group.
    target_starts, impostor_starts : int64 tensors of shape (n_groups + 1,)
        The first pair of each group, and the end.
    weights : float64 tensor of shape (n_groups,)
    n_targets : int
        The most targets of a group, at most `MAX_TARGETS`.
    pull, push, margin, smoothing : float
    """
    losses = torch.empty_like(weights)
    of_targets, of_impostors = torch.empty_like(targets), torch.empty_like(impostors)
    # Numbers would be passed in single precision.
    numbers = torch.tensor([pull, push, margin, smoothing], dtype=torch.float64).to(
        targets.device, non_blocking=True
    )
    if len(weights):
        with torch.cuda.device_of(targets):
            _losses_kernel[(len(weights),)](
                targets, target_starts, impostors, impostor_starts, weights, numbers,
                losses, of_targets, of_impostors,
                TARGETS=triton.next_power_of_2(max(1, n_targets)), AT_ONCE=_IMPOSTORS_AT_ONCE,
                SMOOTHED=smoothing > 0, num_warps=1,
            )  # fmt: skip
    return losses, of_targets, of_impostors


@triton.jit
def _losses_kernel(
    targets_ptr, target_starts_ptr, impostors_ptr, impostor_starts_ptr, weights_ptr, numbers_ptr,
    losses_ptr, of_targets_ptr, of_impostors_ptr,
    TARGETS: tl.constexpr, AT_ONCE: tl.constexpr, SMOOTHED: tl.constexpr,
):  # fmt: skip
    """All hinges of one group: each of its impostors against each of its targets."""
    group = tl.program_id(0).to(tl.int64)
    pull, push = tl.load(numbers_ptr), tl.load(numbers_ptr + 1)
    margin, smoothing = tl.load(numbers_ptr + 2), tl.load(numbers_ptr + 3)
    weight = tl.load(weights_ptr + group)
    place = tl.load(target_starts_ptr + group) + tl.arange(0, TARGETS)
    is_target = place < tl.load(target_starts_ptr + group + 1)
    target = tl.load(targets_ptr + place, mask=is_target, other=0.0)
    reach = tl.where(is_target, margin + target, float("-inf"))
    active = tl.zeros((AT_ONCE, TARGETS), dtype=tl.float64)
    loss = tl.zeros((AT_ONCE, TARGETS), dtype=tl.float64)
    entry = tl.load(impostor_starts_ptr + group)
    stop = tl.load(impostor_starts_ptr + group + 1)
    while entry < stop:
        entries = entry + tl.arange(0, AT_ONCE)
        exists = entries < stop
        impostor = tl.load(impostors_ptr + entries, mask=exists, other=float("inf"))
        violation = tl.maximum(reach[None, :] - impostor[:, None], 0.0)
        if SMOOTHED:
            derivative = tl.minimum(violation / smoothing, 1.0)
            loss += derivative * (violation - derivative * (smoothing / 2))
        else:
            derivative = tl.where(violation > 0, 1.0, 0.0).to(tl.float64)
            loss += violation
        active += derivative
        of_impostor = -(weight * push) * tl.sum(derivative, axis=1)
        tl.store(of_impostors_ptr + entries, of_impostor, mask=exists)
        entry += AT_ONCE
    of_target = weight * (pull + push * tl.sum(active, axis=0))
    tl.store(of_targets_ptr + place, of_target, mask=is_target)
    hinges = tl.sum(tl.sum(loss, axis=1), axis=0)
    tl.store(losses_ptr + group, weight * (pull * tl.sum(target, axis=0) + push * hinges))


def _agrees(device: torch.device, n_targets: int) -> bool:
    from likewise.objectives.torch_large_margin import TensorPairs, TorchLargeMargin

    generator = torch.Generator().manual_seed(0)

    def pairs(most: int) -> TensorPairs:
        lengths = torch.randint(0, most + 1, (40,), generator=generator)
        lengths[7] = most
        starts = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
        nothing = lengths.new_zeros(int(starts[-1]))
        return TensorPairs(*(part.to(device) for part in (nothing, nothing, starts)))

    targets, impostors = pairs(n_targets), pairs(3 * _IMPOSTORS_AT_ONCE)
    weights = torch.rand(40, generator=generator, dtype=torch.float64).to(device)
    sqdist = [torch.rand(len(part), generator=generator).double() for part in (targets, impostors)]
    for smoothing in (0.0, 0.1):
        objective = TorchLargeMargin(
            weights[:, None], targets, impostors, weights, 0.4, 0.9, smoothing
        )
        near, far = (2 * part.to(device) for part in sqdist)
        ours = objective.losses_by_kernel(near, far, 0.7)
        for found, expected in zip(ours, objective.losses(near, far, 0.7), strict=True):
            if not torch.allclose(found, expected, rtol=1e-12, atol=1e-14):
                return False
    return True


CHECK = KernelCheck("losses of hinges", _agrees)
