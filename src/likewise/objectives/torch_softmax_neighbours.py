"""Stochastic neighbours on tensors: what NCA needs of `SoftmaxNeighbours`, on a device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch

from likewise._numerics.torch_products import map_tensor, product_over_tensor_rows
from likewise._runtime.arrays import Array, IndexArray
from likewise._runtime.kernel_check import has_kernels
from likewise._runtime.tensors import (
    Tensor,
    require_memory_on,
    tensor_like,
    tile_elements,
    to_numpy,
)

_TILE_COPIES = 4  # distances, probabilities, the mask of the class and temporaries


@dataclass(frozen=True, eq=False)
class TorchSoftmaxNeighbours:
    """Labelled samples that choose a neighbour, as in `SoftmaxNeighbours`, on their device.

    A tile is some anchors against all samples: there is never an array of all by all. Tiles are
    added in order, so that the same device gives the same bits every time.

    Parameters
    ----------
    X : float64 tensor of shape (n_samples, n_features)
        Centred samples, sorted by class; `of` makes them.
    classes : int64 tensor of shape (n_samples,)
        The class of each sample.
    single : bool
        Whether products may be those of single precision: the given rows were.
    """

    X: Tensor
    classes: Tensor
    single: bool = False

    @classmethod
    def of(cls, X: Tensor, codes: IndexArray, *, scale: float = 1.0) -> Self:
        """Sort samples by their class codes 0…c-1, centre them and divide them by `scale`."""
        n_samples, n_features = X.shape
        tile = min(tile_elements(X.device), n_samples**2)
        require_memory_on(
            X.device,
            8.0 * (4 * n_samples * n_features + _TILE_COPIES * max(tile, n_samples)),
            f"Comparing {n_samples} samples of {n_features} features with each other",
            "take fewer rows",
        )
        order = tensor_like(np.argsort(codes, kind="stable"), X, torch.int64)
        samples = X.double() - X.mean(dim=0, dtype=torch.float64)
        samples /= scale
        single = X.dtype == torch.float32
        return cls(samples[order], tensor_like(codes, X, torch.int64)[order], single)

    @property
    def n_samples(self) -> int:
        """The number of samples."""
        return len(self.X)

    def scatter(self) -> Array:
        """Return ``XᵀX``."""
        return product_over_tensor_rows(self.X, self.X)

    def same_class_probability(
        self, L: Array, anchors: IndexArray | None = None
    ) -> tuple[Array, Array]:
        """Return ``p_i = Σ_{j in the class of i} p_ij`` and the gradient of ``-Σ_i p_i`` in L.

        Parameters
        ----------
        L : array of shape (n_components, n_features)
        anchors : int array of shape (n_anchors,), optional
            The samples i; None takes all.

        Returns
        -------
        probability : array of shape (n_anchors,)
        gradient : array of the shape of L
        """
        # With w_ij = p_ij ([y_i = y_j] - p_i), which sum to 0 over j, the gradient is
        # 2 Σ_j (Σ_i w_ij (z_j - z_i)) x_jᵀ - 2 Σ_i (Σ_j w_ij z_j) x_iᵀ.
        Z = map_tensor(self.X, L)
        if anchors is None:
            probability, product = self._fastest_sums(Z)
            gradient = product_over_tensor_rows(product, self.X)
        else:
            chosen = tensor_like(anchors, Z, torch.int64)
            probability, of_samples, of_anchors = self._sums_over(Z, chosen)
            gradient = product_over_tensor_rows(of_samples, self.X)
            gradient += product_over_tensor_rows(of_anchors, self.X[chosen])
        return np.asarray(to_numpy(probability)), 2 * gradient

    def _fastest_sums(self, Z: Tensor) -> tuple[Tensor, Tensor]:
        """Return what `sums_in_tiles` does, by kernels of Triton where they are accurate enough."""
        if self.single and has_kernels(Z.device):
            from likewise.objectives import triton_neighbours

            if triton_neighbours.fits(Z) and triton_neighbours.CHECK.passes(
                Z.device, *triton_neighbours.depths(Z.shape[1])
            ):
                return triton_neighbours.probability_and_product(Z, self.classes)
        return self.sums_in_tiles(Z)

    def sums_in_tiles(self, Z: Tensor) -> tuple[Tensor, Tensor]:
        """Return ``p_i`` and the rows ``Σ_j (w_ij + w_ji)(z_i - z_j)`` for mapped samples z."""
        everything = torch.arange(len(Z), device=Z.device)
        probability, of_samples, of_anchors = self._sums_over(Z, everything)
        return probability, of_samples.add_(of_anchors)

    def _sums_over(self, Z: Tensor, anchors: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return ``p_i`` of anchors, the rows ``Σ_i w_ij (z_j - z_i)`` and ``-Σ_j w_ij z_j``."""
        sqnorms = Z.square().sum(dim=1)
        # A last column of ones: the product with it is Σ_i w_ij.
        extended = torch.cat([Z, torch.ones_like(Z[:, :1])], dim=1)
        sums = torch.zeros_like(extended)
        of_anchors = torch.empty((len(anchors), Z.shape[1]), dtype=Z.dtype, device=Z.device)
        probability = torch.empty(len(anchors), dtype=Z.dtype, device=Z.device)
        weigh = _fastest_softmax(Z)
        n_rows = max(1, tile_elements(Z.device) // (_TILE_COPIES * len(Z)))
        for start in range(0, len(anchors), n_rows):
            part = slice(start, start + n_rows)
            rows = anchors[part]
            products = Z[rows] @ Z.T
            weights, probability[part] = weigh(products, sqnorms, rows, self.classes)
            del products
            sums.addmm_(weights.T, extended[rows])
            of_anchors[part] = -(weights @ Z)
            del weights
        return probability, sums[:, -1:] * Z - sums[:, :-1], of_anchors


def softmax_weights(
    products: Tensor, sqnorms: Tensor, anchors: Tensor, classes: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the weights ``w_ij = p_ij ([y_i = y_j] - p_i)`` and the probabilities ``p_i``.

    Parameters
    ----------
    products : float64 tensor of shape (n_anchors, n_samples)
        ``z_i z_j``; it is overwritten.
    sqnorms : float64 tensor of shape (n_samples,)
        ``‖z_j‖²``.
    anchors : int64 tensor of shape (n_anchors,)
        The samples i, which do not choose themselves.
    classes : int64 tensor of shape (n_samples,)

    Returns
    -------
    weights : tensor of the shape of `products`
    probability : tensor of shape (n_anchors,)
    """
    exponents = products.mul_(2).sub_(sqnorms)  # -‖z_i - z_j‖², up to a constant of the anchor
    exponents[torch.arange(len(anchors), device=anchors.device), anchors] = -torch.inf
    weights = torch.softmax(exponents, dim=1)
    same = classes[anchors, None] == classes
    own = torch.where(same, weights, 0.0)
    probability = own.sum(dim=1)
    return own.sub_(weights.mul_(probability[:, None])), probability


def _fastest_softmax(Z: Tensor) -> Callable[..., tuple[Tensor, Tensor]]:
    """Return a kernel of Triton where one works, else `softmax_weights`."""
    if has_kernels(Z.device):
        from likewise.objectives import triton_softmax

        if triton_softmax.CHECK.passes(Z.device, triton_softmax.block_size(len(Z))):
            return triton_softmax.softmax_weights
    return softmax_weights
