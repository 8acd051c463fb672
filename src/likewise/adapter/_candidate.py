"""A map that may be chosen, and the similarity of rows under it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from scipy.linalg import eigh

from likewise._runtime.arrays import FloatArray
from likewise._runtime.tensors import is_tensor, to_numpy
from likewise._runtime.threads import single_threaded_blas
from likewise.adapter._lengths import unit_rows
from likewise.base import AffineMap

Side: TypeAlias = Literal["both", "query"]
IDENTITY = "identity"


@dataclass(frozen=True, eq=False)
class Candidate:
    r"""The metric :math:`M = I / s + w F^\top F` of rows less their mean.

    Both parts are scaled to one unit: over the rows that the map was learned from, the mean of
    :math:`\|x\|^2 / s` is 1, and so is that of :math:`\|Fx\|^2`. The weight w is therefore how much
    the directions count, relative to the embedding as it is.

    Attributes
    ----------
    family : str
        How the directions were learned.
    weight : float
        w.
    mean : array of shape (n_features,)
        Subtracted from rows first.
    scale : float
        s.
    directions : array of shape (n_directions, n_features)
        F.
    """

    family: str
    weight: float
    mean: FloatArray
    scale: float
    directions: FloatArray

    @classmethod
    def identity(cls, n_features: int) -> Self:
        """Return the map that leaves rows as they are."""
        return cls(IDENTITY, 0.0, np.zeros(n_features), 1.0, np.empty((0, n_features)))

    @property
    def is_identity(self) -> bool:
        """Whether rows are left as they are."""
        return self.family == IDENTITY

    def matrix(self) -> FloatArray:
        """Return M."""
        M = self.weight * self.directions.T @ self.directions
        M[np.diag_indices(len(M))] += 1 / self.scale
        return np.asarray(M)

    def images(self, X: Any, side: Side) -> Any:
        """Return vectors whose products are those of the rows under M; for queries, see `side`.

        With ``side="query"`` they are ``M(x - mean)``, whose products with rows that are left as
        they are order these rows by ``(x - mean)ᵀ M r``.
        """
        if self.is_identity:
            return X
        if is_tensor(X):
            from likewise.adapter._torch_similarity import tensor_images

            numbers = (self.mean, self.scale, self.weight, self.directions)
            return tensor_images(X, *numbers, query=side == "query")
        centred = X - self.mean.astype(X.dtype)
        F = self.directions.astype(X.dtype)
        mapped = centred @ F.T
        if side == "query":
            return np.asarray(centred / self.scale + self.weight * (mapped @ F))
        # As long as the rows are wide, but without the root of M.
        return np.hstack([centred / np.sqrt(self.scale), np.sqrt(self.weight) * mapped])

    def affine_map(self, side: Side, normalize: bool) -> AffineMap:
        """Return the map of rows (of queries, with ``side="query"``) as one square matrix."""
        if self.is_identity:
            return AffineMap(np.eye(len(self.mean)), self.mean, normalize)
        W = self.matrix()
        if side == "both":
            with single_threaded_blas():
                values, vectors = eigh(W)
            W = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
        return AffineMap(W, self.mean, normalize)


@dataclass(frozen=True)
class Similarity:
    """How alike rows are after a map: by cosine, or less the squared Euclidean distance.

    Attributes
    ----------
    normalize : bool
        Whether images are scaled to length 1, so that products are cosines.
    side : {"both", "query"}
        Whether all rows are mapped, or only the queries.
    """

    normalize: bool
    side: Side

    def of_all(self, candidate: Candidate, queries: Any, *corpora: Any) -> list[Any]:
        """Return the similarities of all queries to all rows of each corpus."""
        Q = self._scaled(candidate.images(queries, self.side))
        found = []
        for corpus in corpora:
            C = self._corpus(candidate, corpus)
            products = _products(Q, C)
            if not self.normalize:
                products = 2 * products - _squares(Q)[:, None] - _squares(C)
            found.append(products)
        return found

    def of_pairs(self, candidate: Candidate, first: Any, second: Any) -> FloatArray:
        """Return the similarity of each row of `first` to the same row of `second`, as an array."""
        Q = self._scaled(candidate.images(first, self.side))
        C = self._corpus(candidate, second)
        products = product_of_each(Q, C)
        if not self.normalize:
            products = 2 * products - _squares(Q) - _squares(C)
        return np.asarray(to_numpy(products))

    def _corpus(self, candidate: Candidate, rows: Any) -> Any:
        return self._scaled(rows if self.side == "query" else candidate.images(rows, self.side))

    def _scaled(self, images: Any) -> Any:
        return unit_rows(images) if self.normalize else images


def product_of_each(A: Any, B: Any) -> Any:
    """Return the product of each row of A and the same row of B, in float64."""
    if is_tensor(A):
        from likewise.adapter import _torch_similarity

        return _torch_similarity.product_of_each(A, B)
    return np.einsum("ij,ij->i", A, B, dtype=np.float64)


def _products(queries: Any, corpus: Any) -> Any:
    """Return the products of all queries and all rows of a corpus."""
    if is_tensor(queries):
        from likewise._numerics.torch_products import map_tensor

        return map_tensor(queries, corpus)
    return queries @ corpus.T


def _squares(rows: Any) -> Any:
    return product_of_each(rows, rows)
