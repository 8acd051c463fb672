"""The softmax of stochastic neighbours in one pass over a tile, by a kernel of Triton.

`torch_softmax_neighbours` defines the result, and uses this where it was checked.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from likewise._runtime.kernel_check import KernelCheck
from likewise._runtime.tensors import Tensor

_BLOCK = 2048


def softmax_weights(
    products: Tensor, sqnorms: Tensor, anchors: Tensor, classes: Tensor
) -> tuple[Tensor, Tensor]:
    """Do what `torch_softmax_neighbours.softmax_weights` does, in place of `products`."""
    n_rows, n_samples = products.shape
    probability = torch.empty(n_rows, dtype=products.dtype, device=products.device)
    block = block_size(n_samples)
    with torch.cuda.device_of(products):
        _softmax_kernel[(n_rows,)](
            products, sqnorms, anchors, classes, probability, n_samples, BLOCK=block, num_warps=8
        )
    return products, probability


def block_size(n_samples: int) -> int:
    """Return the number of samples that a program reads at once."""
    return min(_BLOCK, int(triton.next_power_of_2(n_samples)))


@triton.jit(do_not_specialize=["n_samples"])
def _softmax_kernel(
    products_ptr, sqnorms_ptr, anchors_ptr, classes_ptr, probability_ptr, n_samples,
    BLOCK: tl.constexpr,
):  # fmt: skip
    """Replace the products of one anchor by weights: read twice, written once.

    Each column of the block keeps its maximum, and its sums relative to that, until the end. No
    maximum is below `lowest`, so that differences are never those of two infinities.
    """
    row = tl.program_id(0).to(tl.int64)
    lowest = -1.0e300
    anchor = tl.load(anchors_ptr + row)
    own_class = tl.load(classes_ptr + anchor)
    products_ptr += row * n_samples
    largest = tl.full((BLOCK,), lowest, dtype=tl.float64)
    total = tl.zeros((BLOCK,), dtype=tl.float64)
    same = tl.zeros((BLOCK,), dtype=tl.float64)
    start = 0
    while start < n_samples:
        sample = start + tl.arange(0, BLOCK)
        exists = (sample < n_samples) & (sample != anchor)
        product = tl.load(products_ptr + sample, mask=exists, other=0.0)
        sqnorm = tl.load(sqnorms_ptr + sample, mask=exists, other=float("inf"))
        exponent = 2 * product - sqnorm
        higher = tl.maximum(largest, exponent)
        shrink = tl.exp(largest - higher)
        weight = tl.exp(exponent - higher)
        own = tl.load(classes_ptr + sample, mask=exists, other=0) == own_class
        total = total * shrink + weight
        same = same * shrink + tl.where(own, weight, 0.0)
        largest = higher
        start += BLOCK
    top = tl.max(largest, axis=0)
    shrink = tl.exp(largest - top)
    inverse = 1.0 / tl.sum(total * shrink, axis=0)
    probability = tl.sum(same * shrink, axis=0) * inverse
    tl.store(probability_ptr + row, probability)
    start = 0
    while start < n_samples:
        sample = start + tl.arange(0, BLOCK)
        inside = sample < n_samples
        exists = inside & (sample != anchor)
        product = tl.load(products_ptr + sample, mask=exists, other=0.0)
        sqnorm = tl.load(sqnorms_ptr + sample, mask=exists, other=float("inf"))
        exponent = 2 * product - sqnorm
        own = tl.load(classes_ptr + sample, mask=exists, other=0) == own_class
        weight = tl.exp(exponent - top) * inverse
        weight *= tl.where(own, 1.0, 0.0) - probability
        tl.store(products_ptr + sample, weight, mask=inside)
        start += BLOCK


def _agrees(device: torch.device, block: int) -> bool:
    from likewise.objectives import torch_softmax_neighbours

    generator = torch.Generator().manual_seed(0)
    full = block if block < _BLOCK else 2 * block + 1
    for n_samples, scale in ((block // 2 + 1, 1.0), (full, 1.0), (full, 1e4)):
        products = torch.randn((5, n_samples), generator=generator, dtype=torch.float64) * scale
        sqnorms = torch.rand(n_samples, generator=generator, dtype=torch.float64).to(device) * scale
        classes = torch.randint(0, 3, (n_samples,), generator=generator).to(device)
        anchors = torch.randint(0, n_samples, (5,), generator=generator).to(device)
        products = products.to(device)
        given = (sqnorms, anchors, classes)
        expected = torch_softmax_neighbours.softmax_weights(products.clone(), *given)
        found = softmax_weights(products, *given)
        for ours, theirs in zip(found, expected, strict=True):
            if not torch.allclose(ours, theirs, rtol=1e-10, atol=1e-14):
                return False
    return True


CHECK = KernelCheck("the softmax over neighbours", _agrees)
