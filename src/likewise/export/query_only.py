"""Exact search under a learned metric among vectors that stay as they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise._runtime.arrays import Array, Float32Array, FloatArray
from likewise._runtime.validation import TableLike
from likewise.base import AffineMap
from likewise.metric import row_norms

_BLOCK = 4096  # rows mapped at a time, in float64


class QueryOnly:
    r"""The query-only plan: a search by inner product that has the order of the learned distance.

    With z = W(x - mean), stored vectors x and a query q,

    .. math:: \|z_q - z_x\|^2 = \text{const}_q - 2\,(W^\top z_q) \cdot x + \|z_x\|^2,

    so one more number per vector, :math:`\|z_x\|^2`, suffices. If the model normalises, the cosine
    of the images is :math:`(W^\top z_q) \cdot x/s + (z_q \cdot b)/s` with
    :math:`s = \|W(x - \text{mean})\|`: x/s and 1/s are stored. Either way the largest inner product
    of `query` with the rows of `stored` is the nearest vector, up to ties in float32.

    A model that maps queries only (``side="query"``) needs no further number: `stored` are the
    vectors, scaled to length 1, and `query` the images.

    Parameters
    ----------
    model : fitted linear metric or AffineMap

    Examples
    --------
    >>> import likewise as lw
    >>> from likewise.export import QueryOnly
    >>> X = [[0.0, 0.0], [1.0, 0.0], [0.0, 3.0]]
    >>> plan = QueryOnly(lw.Whitening().fit(X))
    >>> products = plan.query([[0.2, 0.1]]) @ plan.stored(X).T
    >>> (-products).argsort(axis=1)
    array([[0, 1, 2]])
    """

    map: AffineMap

    def __init__(self, model: Any) -> None:
        self.map = AffineMap.from_model(model)
        stored = self.map.stored_map
        self._unnormalized = AffineMap(stored.W, stored.mean, normalize=False)

    def number(self, vectors: TableLike) -> FloatArray:
        """Return the one number per vector: the squared length of its image, or 1/s.

        Parameters
        ----------
        vectors : array-like of shape (n_vectors, n_features)

        Returns
        -------
        array of shape (n_vectors,)
        """
        return self._numbers(self.map.check_vectors(vectors, "vectors"))

    def stored(self, vectors: TableLike) -> Float32Array:
        """Return what an inner-product index stores: vectors with one more number.

        Parameters
        ----------
        vectors : array-like of shape (n_vectors, n_features)

        Returns
        -------
        array of shape (n_vectors, n_features + 1), float32
            (x, ‖W(x - mean)‖²), or (x/s, 1/s) if the model normalises; x/‖x‖ alone if it maps
            queries only.
        """
        rows = self.map.check_vectors(vectors, "vectors")
        numbers = self._numbers(rows)
        kept = rows * numbers[:, None] if self.map.normalize else rows
        if self.map.side == "query":
            return kept.astype(np.float32)
        return np.column_stack([kept, numbers]).astype(np.float32)

    def query(self, queries: TableLike) -> Float32Array:
        """Return the vectors to search with.

        Parameters
        ----------
        queries : array-like of shape (n_queries, n_features)

        Returns
        -------
        array of shape (n_queries, n_features + 1), float32
        """
        images = self._images(queries)
        if self.map.side == "query":
            return images.astype(np.float32)
        last = images @ self.map.bias if self.map.normalize else np.full(len(images), -0.5)
        return np.column_stack([images @ self.map.W, last]).astype(np.float32)

    def distance(self, queries: TableLike, products: Any) -> FloatArray:
        """Return learned distances, not squared, from inner products.

        Parameters
        ----------
        queries : array-like of shape (n_queries, n_features)
        products : array-like of shape (n_queries, k)
            Inner products of `query` with rows of `stored`, as an index returns them.

        Returns
        -------
        array of shape (n_queries, k)
        """
        images = self._images(queries)
        constant = np.full(len(images), 2.0)
        if not self.map.normalize:
            constant = np.square(images).sum(axis=1) - 2 * images @ self.map.bias
        squares = constant[:, None] - 2 * np.asarray(products, dtype=np.float64)
        return np.sqrt(np.maximum(squares, 0))

    def _images(self, queries: TableLike) -> FloatArray:
        rows = self.map.check_vectors(queries, "queries").astype(np.float64)
        images = self.map.transform(rows)
        if self.map.normalize:
            check_lengths(images, "queries")
        return images

    def _numbers(self, rows: Array) -> FloatArray:
        lengths = np.empty(len(rows))
        for start in range(0, len(rows), _BLOCK):
            block = rows[start : start + _BLOCK].astype(np.float64)
            lengths[start : start + _BLOCK] = row_norms(self._unnormalized.transform(block))
        if not self.map.normalize:
            return np.square(lengths)
        check_lengths(lengths[:, None], "vectors")
        return 1 / lengths


def check_lengths(images: Array, name: str) -> None:
    """Raise if an image is zero: it has no direction, but the model normalises."""
    zero = ~images.any(axis=1)
    if zero.any():
        raise ValueError(
            f"row {int(zero.argmax())} of {name} is mapped to zero and has no direction, but the "
            "model normalises: leave it out."
        )
