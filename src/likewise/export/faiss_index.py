"""The map in front of a faiss index."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from likewise._runtime.validation import TableLike
from likewise._runtime.writing import write_atomically
from likewise.base import AffineMap
from likewise.export._extras import require


def faiss_index(model: Any, vectors: TableLike | None = None, *, index: Any = None) -> Any:
    """Return a faiss index that maps vectors and queries before it stores and searches them.

    Like all L2 indexes of faiss it returns *squared* distances.

    Parameters
    ----------
    model : fitted linear metric or AffineMap
    vectors : array-like of shape (n_vectors, n_features), optional
        Added to the index, as they are: the index maps them. A model that maps queries only
        (``side="query"``) leaves them, scaled to length 1: add later ones, so scaled, to the
        attribute `index` of the result, whose own `add` maps as it maps queries.
    index : faiss.Index, optional
        An index of mapped vectors; by default an exact one, `IndexFlatL2`.

    Returns
    -------
    faiss.IndexPreTransform
        A `LinearTransform`, a `NormalizationTransform` if the model normalises, and the index. It
        holds references to its parts, which faiss does not own.
    """
    affine = AffineMap.from_model(model)
    faiss = require("faiss", "faiss")
    if index is None:
        index = faiss.IndexFlatL2(affine.n_components)
    if index.d != affine.n_components:
        raise ValueError(
            f"index holds vectors of {index.d} numbers, but the model maps to "
            f"{affine.n_components}."
        )
    rows = None if vectors is None else affine.check_vectors(vectors, "vectors")
    linear = faiss.LinearTransform(affine.n_features_in, affine.n_components, True)
    faiss.copy_array_to_vector(affine.W.astype(np.float32).ravel(), linear.A)
    faiss.copy_array_to_vector(affine.bias.astype(np.float32), linear.b)
    linear.is_trained = True
    linear.set_is_orthonormal()
    parts = [linear]
    if affine.normalize:
        parts.append(faiss.NormalizationTransform(affine.n_components))
    if rows is not None and affine.side == "query":
        index.add(np.ascontiguousarray(affine.stored_map.transform(rows), dtype=np.float32))
        rows = None
    chain = faiss.IndexPreTransform(index)
    for part in reversed(parts):
        chain.prepend_transform(part)
    # faiss has plain pointers to these: without references Python would free them. Its own
    # wrappers keep some in this attribute, depending on the release.
    chain.referenced_objects = [*parts, index]
    if rows is not None:
        chain.add(np.ascontiguousarray(rows, dtype=np.float32))
    return chain


def write_faiss(model: Any, path: str | os.PathLike[str], vectors: TableLike | None = None) -> None:
    """Write the index of `faiss_index` to a file that `faiss.read_index` reads.

    Parameters
    ----------
    model : fitted linear metric or AffineMap
    path : str or path
        The file; it appears whole or not at all.
    vectors : array-like of shape (n_vectors, n_features), optional
        Added to the index; without them it is empty.
    """
    made = faiss_index(model, vectors)
    content = require("faiss", "faiss").serialize_index(made)
    write_atomically(path, content.tobytes())
