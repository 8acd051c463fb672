"""The training data of LMNN: centred, scaled, and preconditioned for L-BFGS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh

from likewise import _loops, neighbors
from likewise._numerics.centring import robust_centre
from likewise._numerics.products import map_rows
from likewise._runtime.arrays import Array, IndexArray
from likewise._runtime.blocks.rows import BlockedRows
from likewise._runtime.tensors import is_tensor
from likewise.batch._feature_spreads import inverse_stds_of
from likewise.constraints import unit_sqdist
from likewise.objectives import GroupedPairs, LargeMargin

_RIDGE = 1e-6  # added to the eigenvalues of the pull, relative to their mean
# Where target neighbours do not differ, as in columns of categories, nothing but the length of
# steps limits the weight of a direction.
_RIDGE_WITHOUT_PULL = 1e-2
_UNCERTAIN = 1e-6  # smaller eigenvalues of the pull, relative to their mean, may be rounding errors
_DEPENDENT = 1e-10  # variance of a combination of standardised features that counts as constant
_CENTRED_ROWS = 1024  # centred at a time


@dataclass(frozen=True, eq=False)
class CentredData:
    """Centred and scaled training data, in the precision of X.

    Attributes
    ----------
    X : array of shape (n_samples, n_features)
        ``scale (X - centre)`` for the user's X.
    centre : array of shape (n_features,)
    scale : float
    """

    X: Array
    centre: Array
    scale: float

    @classmethod
    def from_rows(cls, X: Array) -> CentredData:
        """Centre X and divide it by a power of two such that its largest entry is about 1."""
        magnitude = power_of_two(_largest(X))
        centre = robust_centre(X).astype(np.float64)
        rows = centred_and_scaled(X, centre, 1 / magnitude)
        residual = power_of_two(_largest(rows))
        rows /= X.dtype.type(residual)
        return cls(rows, centre, 1 / magnitude / residual)

    @property
    def base(self) -> Array:
        """The rows that an initial metric is computed from."""
        return self.X

    def with_scale(self, scale: float) -> CentredData:
        """Return the same data at another scale."""
        return CentredData(self.X * self.X.dtype.type(scale / self.scale), self.centre, scale)

    def rescaled(
        self, scale: str | float, targets: GroupedPairs, L: Array, n_jobs: int | None
    ) -> CentredData:
        """Return the data at `scale`; "auto" makes the median squared distance of `targets` 1."""
        if isinstance(scale, str):
            scale = self._scale_for_unit_median(targets, L, n_jobs)
        return self.with_scale(float(scale))

    def _scale_for_unit_median(self, pairs: GroupedPairs, L: Array, n_jobs: int | None) -> float:
        Z = self.transform(L, n_jobs)
        sqdist = _loops.pair_sqdist(Z, pairs.rows, pairs.cols, n_jobs=n_jobs)
        return self.scale / float(np.sqrt(unit_sqdist(sqdist)))

    def centre_and_scale(self, X: Array) -> Array:
        """Return other rows with the same centre subtracted, at the same scale."""
        return centred_and_scaled(X, self.centre, self.scale)

    def transform(self, L: Array, n_jobs: int | None) -> Array:
        """Return ``X @ L.T``."""
        return map_rows(self.X, L, n_jobs)

    def scatter(self, L: Array, n_jobs: int | None) -> Array:
        """Return ``ZᵀZ`` for the transformed rows Z minus their mean."""
        Z = self.transform(L, n_jobs)
        Z -= Z.mean(axis=0)
        return np.asarray(Z.T @ Z)

    def nearest(self, queries: Array, L: Array, k: int, n_jobs: int | None) -> IndexArray:
        """Return the k nearest rows of each of the queries, which `centre_and_scale` returned."""
        across = L.T.astype(queries.dtype)
        return neighbors.nearest(queries @ across, self.X @ across, k, n_jobs=n_jobs)[1]


def centred_data(X: Any) -> CentredData:
    """Return training rows, centred and scaled, where they are: an array, a tensor or blocks."""
    if is_tensor(X):
        from likewise.batch.lmnn.torch_data import TensorData

        return TensorData.from_rows(X)  # type: ignore[return-value] # it has the same interface
    if isinstance(X, BlockedRows):
        from likewise.batch.lmnn.blocked import BlockedData

        return BlockedData.from_rows(X)  # type: ignore[return-value] # so has this
    return CentredData.from_rows(X)


def centred_and_scaled(X: Array, centre: Array, scale: float) -> Array:
    """Return ``scale (X - centre)``, computed in double precision, in that of X."""
    out = np.empty(X.shape, dtype=X.dtype)
    for start in range(0, len(X), _CENTRED_ROWS):  # in the cache: four times as fast as at once
        rows = X[start : start + _CENTRED_ROWS].astype(np.float64)
        rows -= centre
        rows *= scale
        out[start : start + _CENTRED_ROWS] = rows
    return out


def _largest(X: Array) -> float:
    """Return the largest absolute value, without a copy of X."""
    return float(max(X.max(initial=0.0), -X.min(initial=0.0)))


def power_of_two(value: float) -> float:
    """Return the least power of two above a positive value, 1 for 0."""
    return float(2.0 ** np.frexp(value)[1]) if value > 0 else 1.0


class Preconditioner(NamedTuple):
    """A linear change of variables in which the pull has the same curvature in all directions.

    L-BFGS needs many steps if the eigenvalues of the pull differ by orders of magnitude.

    Attributes
    ----------
    X : array of shape (n_samples, n_directions)
        The data after the change of variables.
    to_original, from_original : arrays of shape (n_directions, n_features) and transposed
        ``L = L_preconditioned @ to_original`` and ``L_preconditioned = L @ from_original``.
    """

    X: Array
    to_original: Array
    from_original: Array

    @classmethod
    def identity(cls, objective: LargeMargin) -> Preconditioner:
        """Change nothing."""
        identity = np.eye(objective.X.shape[1])
        return cls(objective.X, identity, identity)

    @classmethod
    def from_pull(cls, objective: LargeMargin) -> Preconditioner:
        """Whiten the gradient of the pull with respect to M.

        Directions in which the data hardly vary are left out: constant features, and combinations
        of standardised features that are constant up to rounding. An L with such columns could
        separate samples by the rounding errors of dependent features.
        """
        stds = objective.standard_deviations()
        inverse_stds = inverse_stds_of(stds, np.zeros_like(stds), stds)
        varying = np.flatnonzero(inverse_stds)
        inverse_stds = inverse_stds[varying]
        pull = objective.pull_gradient()[np.ix_(varying, varying)]
        if not pull.any():
            return cls.identity(objective)
        values, vectors = eigh(pull * inverse_stds * inverse_stds[:, None])
        values = np.maximum(values, 0)
        small = values <= _UNCERTAIN * values.mean()
        if small.any():
            axes = vectors[:, small] * inverse_stds[:, None]
            variances, rotation = eigh(objective.covariance(varying, axes.T))
            vectors[:, small] = vectors[:, small] @ rotation
            kept = ~small
            kept[small] = variances > _DEPENDENT
            values, vectors, small = values[kept], vectors[:, kept], small[kept]
        ridge = np.where(small, _RIDGE_WITHOUT_PULL, _RIDGE)
        factors = 1 / np.sqrt(values / values.mean() + ridge)
        n_features = objective.X.shape[1]
        to_original = np.zeros((len(values), n_features))
        from_original = np.zeros((n_features, len(values)))
        to_original[:, varying] = factors[:, None] * vectors.T * inverse_stds
        from_original[varying] = vectors / factors * stds[varying, None]
        return cls(objective.map_rows(to_original), to_original, from_original)
