"""The training data of LMNN, its targets and the search for impostors, on tensors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from likewise import neighbors
from likewise._numerics.centring import robust_centre
from likewise._numerics.torch_pairs import tensor_pair_sqdist
from likewise._numerics.torch_products import (
    map_tensor,
    product_over_tensor_rows,
)
from likewise._runtime.arrays import Array, BoolArray, FloatArray, IndexArray
from likewise._runtime.tensors import Tensor, tensor_like, to_numpy
from likewise.batch.lmnn.impostors import ImpostorLimit
from likewise.constraints import unit_sqdist
from likewise.objectives.torch_large_margin import TensorPairs


@dataclass(frozen=True, eq=False)
class TensorData:
    """`CentredData` on the device of a tensor; its attributes have the same meaning.

    Attributes
    ----------
    X : tensor of shape (n_samples, n_features)
    centre : array of shape (n_features,)
    scale : float
    """

    X: Tensor
    centre: Array
    scale: float

    @classmethod
    def from_rows(cls, X: Tensor) -> TensorData:
        """Centre X and divide it by a power of two such that its largest entry is about 1."""
        magnitude = _power_of_two(X)
        centre = robust_centre(X).astype(np.float64)
        rows = _centred_and_scaled(X, centre, 1 / magnitude)
        residual = _power_of_two(rows)
        return cls(rows / residual, centre, 1 / magnitude / residual)

    @property
    def base(self) -> Tensor:
        """The rows that an initial metric is computed from."""
        return self.X

    def with_scale(self, scale: float) -> TensorData:
        """Return the same data at another scale."""
        return TensorData(self.X * (scale / self.scale), self.centre, scale)

    def rescaled(
        self, scale: str | float, targets: TensorPairs, L: Array, n_jobs: int | None
    ) -> TensorData:
        """Return the data at `scale`; "auto" makes the median squared distance of `targets` 1."""
        if isinstance(scale, str):
            sqdist = tensor_pair_sqdist(self.transform(L, n_jobs), targets.rows, targets.cols)
            scale = self.scale / float(np.sqrt(unit_sqdist(to_numpy(sqdist))))
        return self.with_scale(float(scale))

    def centre_and_scale(self, X: Tensor) -> Tensor:
        """Return other rows with the same centre subtracted, at the same scale."""
        return _centred_and_scaled(X, self.centre, self.scale)

    def transform(self, L: Array, n_jobs: int | None) -> Tensor:
        """Return ``X @ L.T``."""
        return map_tensor(self.X, L)

    def scatter(self, L: Array, n_jobs: int | None) -> Array:
        """Return ``ZᵀZ`` for the transformed rows Z minus their mean."""
        Z = self.transform(L, n_jobs).double()
        Z -= Z.mean(dim=0)
        return product_over_tensor_rows(Z, Z)

    def nearest(self, queries: Tensor, L: Array, k: int, n_jobs: int | None) -> IndexArray:
        """Return the k nearest rows of each of the queries, which `centre_and_scale` returned."""
        _, index = neighbors.nearest(map_tensor(queries, L), map_tensor(self.X, L), k)
        return np.asarray(to_numpy(index))


class TensorImpostorSearch(ImpostorLimit):
    """`LabelledImpostorSearch` on the device of the transformed rows.

    Parameters
    ----------
    codes : int array of shape (n_samples,)
    targets : TensorPairs
    active : bool array of shape (n_samples,)
    margin : float
    """

    def __init__(
        self, codes: IndexArray, targets: TensorPairs, active: BoolArray, margin: float
    ) -> None:
        super().__init__(len(codes))
        self.codes = tensor_like(codes, targets.rows)
        self.targets, self.margin = targets, margin
        with_targets = targets.lengths > 0
        self._asking = with_targets & tensor_like(active, targets.rows, torch.bool)

    def __call__(
        self, Z: Tensor, target_sqdist: Tensor, slack: float
    ) -> tuple[TensorPairs, Tensor]:
        """Search the rows of other classes within the radius of the farthest target."""
        farthest = torch.segment_reduce(
            target_sqdist, "max", offsets=self.targets.indptr, unsafe=True, initial=-torch.inf
        )
        sqradius = (self.margin + farthest) * (1 + slack)
        sqradius = torch.where(self._asking, sqradius, 0.0)
        with self.said_for_pairs():
            rows, cols, sqdist = self._search(Z, sqradius)
        self.accept(len(rows))
        return TensorPairs.from_sorted(rows, len(self.codes), rows, cols), sqdist

    def _search(self, Z: Tensor, sqradius: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return pairs of different classes within the radius of the first row, sorted."""
        found: tuple[Tensor, Tensor, Tensor] = neighbors.within_radius_of_other_class(
            Z, self.codes, sqradius, max_pairs=self.max_pairs
        )
        return found


def tensor_targets(pairs: IndexArray, n_groups: int, Z: Tensor) -> TensorPairs:
    """Return target pairs, sorted by row, as tensors on the device of Z."""
    rows, cols = (tensor_like(part, Z, torch.int64) for part in np.ascontiguousarray(pairs.T))
    return TensorPairs.from_sorted(rows, n_groups, rows, cols)


def tensor_weights(weights: FloatArray, Z: Tensor) -> Tensor:
    """Return the weights of groups as a tensor on the device of Z."""
    return tensor_like(weights, Z, torch.float64)


def _centred_and_scaled(X: Tensor, centre: Array, scale: float) -> Tensor:
    return ((X.double() - tensor_like(centre, X, torch.float64)) * scale).to(X.dtype)


def _power_of_two(X: Tensor) -> float:
    largest = float(X.abs().max()) if X.numel() else 0.0
    return float(2.0 ** np.frexp(largest)[1]) if largest > 0 else 1.0
