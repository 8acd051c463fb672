"""Shortlist and rerank: a search with the vectors as they are, ordered again by the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise._runtime.arrays import Array, FloatArray, IndexArray
from likewise._runtime.row_numbers import as_integers
from likewise._runtime.validation import TableLike, at_least, check_parameters, one_of
from likewise.base import AffineMap
from likewise.evaluation import RetrievalScore, recall_at_k
from likewise.neighbors import nearest


@dataclass(frozen=True)
class ShortlistRecall:
    """How many of the nearest vectors a shortlist contains.

    Attributes
    ----------
    k : int
        Nearest vectors under the model that are looked for.
    sizes : tuple of int
        Lengths of the shortlist.
    scores : tuple of RetrievalScore
        The recall with each length, with its interval.
    """

    k: int
    sizes: tuple[int, ...]
    scores: tuple[RetrievalScore, ...]

    def __str__(self) -> str:
        lines = [f"recall of the {self.k} nearest, with {self.scores[0].confidence:.0%} intervals"]
        for size, score in zip(self.sizes, self.scores, strict=True):
            low, high = score.interval
            lines.append(f"shortlist of {size:<6} {score.value:.3f}  [{low:.3f}, {high:.3f}]")
        return "\n".join(lines)

    __repr__ = __str__


def rerank(
    model: Any, queries: TableLike, vectors: TableLike, candidates: Any, k: int
) -> tuple[FloatArray, IndexArray]:
    """Order the results of a search again, by the learned distance.

    Parameters
    ----------
    model : fitted metric
        Linear, or local (`MultiMetricLMNN`, `PLML`), whose vectors are its training rows.
    queries : array-like of shape (n_queries, n_features)
    vectors : array-like of shape (n_vectors, n_features)
        The stored vectors.
    candidates : array-like of int of shape (n_queries, n_candidates)
        Row numbers of vectors that an index has returned.
    k : int
        How many to keep.

    Returns
    -------
    distances, index : arrays of shape (n_queries, k)
        Nearest first, distances not squared; equal ones by row number.

    Examples
    --------
    >>> import likewise as lw
    >>> from likewise.export import rerank
    >>> X = [[0.0, 0.0], [1.0, 0.0], [0.0, 3.0]]
    >>> rerank(lw.Whitening().fit(X), [[0.1, 0.8]], X, [[1, 2, 0]], k=2)[1]
    array([[0, 2]])
    """
    vectors = _vectors(model, vectors)
    index = as_integers(candidates, "candidates")
    n_vectors = len(vectors)
    if index.ndim != 2 or len(index) != len(np.asarray(queries)):
        raise ValueError(
            f"candidates has shape {index.shape}, but one row for each of the "
            f"{len(np.asarray(queries))} queries is needed."
        )
    check_parameters("rerank", {"k": k}, {"k": at_least(1)})
    if k > index.shape[1]:
        raise ValueError(f"k is {k}, but there are {index.shape[1]} candidates per query.")
    outside = index[(index < 0) | (index >= n_vectors)]
    if len(outside):
        raise ValueError(
            f"candidates holds row number {outside[0]}, but there are vectors 0 to {n_vectors - 1}."
        )
    if is_local(model):
        distances = np.asarray(model.distances_to(queries, index), dtype=np.float64)
    else:
        distances = _distances(AffineMap.from_model(model), queries, vectors, index)
    order = np.lexsort((index, distances), axis=1)[:, :k]
    return np.take_along_axis(distances, order, axis=1), np.take_along_axis(index, order, axis=1)


def shortlist_recall(
    model: Any,
    queries: TableLike,
    vectors: TableLike,
    *,
    k: int = 10,
    sizes: Sequence[int] = (20, 50, 100, 200),
    distance: str = "cosine",
    confidence: float = 0.95,
) -> ShortlistRecall:
    """Measure which share of the k nearest vectors under the model a shortlist contains.

    The shortlist is exact, as from an index that compares with every vector.

    Parameters
    ----------
    model : fitted metric
        Linear, or local (`MultiMetricLMNN`, `PLML`), whose vectors are its training rows.
    queries : array-like of shape (n_queries, n_features)
        Not among the vectors.
    vectors : array-like of shape (n_vectors, n_features)
        The stored vectors.
    k : int, default=10
        Nearest vectors that are looked for.
    sizes : sequence of int, default=(20, 50, 100, 200)
        Lengths of the shortlist; those beyond the number of vectors are left out.
    distance : {"cosine", "euclidean"}, default="cosine"
        The distance of your index.
    confidence : float, default=0.95
        Of the intervals.

    Returns
    -------
    ShortlistRecall

    Examples
    --------
    >>> import likewise as lw
    >>> from likewise.export import shortlist_recall
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> metric = lw.RCA().fit(X[::2], y[::2])
    >>> shortlist_recall(metric, X[1::2], X[::2], k=5, sizes=[10, 40])
    recall of the 5 nearest, with 95% intervals
    shortlist of 10     0.837  [0.761, 0.914]
    shortlist of 40     0.997  [0.985, 1.000]
    """
    check_parameters(
        "shortlist_recall",
        {"k": k, "distance": distance},
        {"k": at_least(1), "distance": one_of("cosine", "euclidean")},
    )
    corpus = _vectors(model, vectors)
    if is_local(model):
        truth = model.kneighbors(queries, k)[1]
    else:
        affine = AffineMap.from_model(model)
        images = affine.stored_map.transform(corpus)
        truth = nearest(affine.transform(queries).astype(images.dtype), images, k)[1]
    kept = tuple(int(size) for size in sizes if size <= len(corpus))
    if not kept:
        raise ValueError(f"sizes has none of at most {len(corpus)}, the number of vectors.")
    scores = tuple(
        recall_at_k(
            queries,
            k=size,
            corpus=corpus,
            relevant=list(truth),
            distance=distance,  # type: ignore[arg-type]
            confidence=confidence,
        )
        for size in kept
    )
    return ShortlistRecall(k, kept, scores)


def is_local(model: Any) -> bool:
    """Return whether a model has several metrics, and distances to its training rows only."""
    return hasattr(model, "distances_to")


def _vectors(model: Any, vectors: TableLike) -> Array:
    """Return the stored vectors, which are the training rows of a local model."""
    if not is_local(model):
        return AffineMap.from_model(model).check_vectors(vectors, "vectors")
    rows = np.asarray(vectors)
    if rows.shape != (len(model._codes), model.n_features_in_):
        raise ValueError(
            f"vectors has shape {rows.shape}, but {type(model).__name__} needs the rows that it "
            f"was fitted on, of shape ({len(model._codes)}, {model.n_features_in_})."
        )
    return rows


def _distances(
    affine: AffineMap, queries: TableLike, vectors: Array, index: IndexArray
) -> FloatArray:
    """Return the distances of each query to its candidates; one query at a time is in memory."""
    images = affine.transform(queries).astype(np.float64)
    distances = np.empty(index.shape)
    for i, rows in enumerate(index):
        found = affine.stored_map.transform(vectors[rows]).astype(np.float64)
        distances[i] = np.linalg.norm(found - images[i], axis=1)
    return distances
