"""The targets by name: for the command line, and one call for all of them."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from likewise._runtime.text import quote
from likewise._runtime.writing import write_atomically
from likewise.export.faiss_index import write_faiss
from likewise.export.numpy_file import write_numpy
from likewise.export.onnx_file import write_onnx
from likewise.export.pgvector import pgvector_sql
from likewise.export.sentence_transformers_folder import write_sentence_transformers


@dataclass(frozen=True)
class Target:
    """Where a model can go.

    Attributes
    ----------
    name : str
    output : str
        What is written.
    distance : str
        Which distance the target returns: squared or not.
    write : callable
        Takes the model, the path and further options.
    """

    name: str
    output: str
    distance: str
    write: Callable[..., None]


def _write_pgvector(model: Any, path: str | os.PathLike[str], **options: Any) -> None:
    write_atomically(path, pgvector_sql(model, **options).encode())


_VECTORS = "vectors; their Euclidean distance, not squared, is the learned distance"
TARGETS = {
    target.name: target
    for target in (
        Target("numpy", "a .npz file with W, mean and normalize", _VECTORS, write_numpy),
        Target("onnx", "an ONNX model with input x and output z", _VECTORS, write_onnx),
        Target("faiss", "an index that maps what it stores", "squared distances", write_faiss),
        Target("pgvector", "SQL for PostgreSQL", "distances, not squared", _write_pgvector),
        Target(
            "sentence-transformers",
            "a folder with the modules Dense and Normalize",
            _VECTORS,
            write_sentence_transformers,
        ),
    )
}


def export(model: Any, to: str, path: str | os.PathLike[str], **options: Any) -> None:
    """Write a model for one of the targets.

    Parameters
    ----------
    model : fitted linear metric or AffineMap
    to : {"numpy", "onnx", "faiss", "pgvector", "sentence-transformers"}
        The target.
    path : str or path
        The file or folder to write; it appears whole or not at all.
    **options
        Of the target: `vectors` of `write_faiss`, and those of `pgvector_sql`.

    Examples
    --------
    >>> import likewise as lw
    >>> from likewise.export import export
    >>> export(lw.Euclidean().fit([[0.0, 1.0]]), "numpy", "map.npz")
    """
    if to not in TARGETS:
        raise ValueError(f"to is {quote(to)}, but it must be one of {', '.join(TARGETS)}.")
    TARGETS[to].write(model, path, **options)
