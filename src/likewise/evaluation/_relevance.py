"""Which points of a corpus are relevant to which query: by labels or by lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from likewise._runtime.arrays import Array, IndexArray
from likewise._runtime.row_numbers import as_integers
from likewise._runtime.sparse import check_sparse_structure
from likewise._runtime.text import quote


class Relevance(Protocol):
    """Relevance of all points to some queries."""

    def gains(self, queries: IndexArray) -> Array:
        """Return an array of shape (n_queries, n_points): 0 where a point is not relevant."""
        ...


@dataclass(frozen=True, eq=False)
class SameLabel:
    """Points are relevant if they have the label of the query."""

    of_queries: Array
    of_points: Array

    def gains(self, queries: IndexArray) -> Array:
        """Return True for points with the label of the query."""
        return np.asarray(self.of_queries[queries][:, None] == self.of_points)


@dataclass(frozen=True, eq=False)
class Listed:
    """Relevant points are the entries of a sparse matrix; its values are their gains."""

    matrix: Any

    def gains(self, queries: IndexArray) -> Array:
        """Return the gains of all points."""
        return np.asarray(self.matrix[queries].toarray())


def same_label(y: Any, corpus_y: Any, n_queries: int, n_points: int) -> SameLabel:
    """Return the relevance by labels; `corpus_y` is None where the queries are the corpus."""
    of_queries = _labels(y, "y", n_queries)
    if corpus_y is None:
        return SameLabel(of_queries, of_queries)
    of_points = _labels(corpus_y, "corpus_y", n_points)
    if (of_queries.dtype.kind in "US") != (of_points.dtype.kind in "US"):
        raise ValueError(
            f"y holds labels such as {quote(of_queries[0])} and corpus_y such as "
            f"{quote(of_points[0])}, but text is never equal to a number."
        )
    return SameLabel(of_queries, of_points)


def listed(relevant: Any, n_queries: int, n_points: int) -> Listed:
    """Return the relevance by lists of row numbers, or by a sparse matrix of gains."""
    if sp.issparse(relevant):
        return Listed(_gain_matrix(relevant, n_queries, n_points))
    if not isinstance(relevant, Sequence | np.ndarray) or isinstance(relevant, str):
        raise ValueError(
            f"relevant is a {type(relevant).__name__}, but a list of row numbers per query, or a "
            "sparse matrix, is needed."
        )
    if len(relevant) != n_queries:
        raise ValueError(f"relevant has {len(relevant)} lists, but there are {n_queries} queries.")
    rows = [as_integers(one, f"relevant[{i}]").ravel() for i, one in enumerate(relevant)]
    for i, one in enumerate(rows):
        outside = one[(one < 0) | (one >= n_points)]
        if len(outside):
            raise ValueError(
                f"relevant[{i}] holds row number {outside[0]}, but the corpus has rows 0 to "
                f"{n_points - 1}."
            )
        if len(np.unique(one)) != len(one):
            raise ValueError(f"relevant[{i}] holds a row number twice, but each counts once.")
    ends = np.cumsum([0, *map(len, rows)])
    columns = np.concatenate([np.empty(0, np.int64), *rows])
    return Listed(sp.csr_array((np.ones(len(columns)), columns, ends), (n_queries, n_points)))


def _gain_matrix(relevant: Any, n_queries: int, n_points: int) -> Any:
    check_sparse_structure(relevant, "relevant")
    if relevant.shape != (n_queries, n_points):
        raise ValueError(
            f"relevant has shape {relevant.shape}, but {n_queries} queries and a corpus of "
            f"{n_points} rows need shape ({n_queries}, {n_points})."
        )
    matrix = sp.csr_array(relevant, dtype=np.float64)
    matrix.sum_duplicates()
    if not np.isfinite(matrix.data).all() or (matrix.data < 0).any():
        raise ValueError("relevant must hold finite gains of at least 0, but it does not.")
    return matrix


def _labels(given: Any, name: str, n_rows: int) -> Array:
    labels = np.asarray(given)
    if labels.shape != (n_rows,):
        raise ValueError(
            f"{name} has shape {labels.shape}, but {n_rows} rows need shape ({n_rows},)."
        )
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise ValueError(f"{name} contains NaN, but every row needs a label.")
    return labels
