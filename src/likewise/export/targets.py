"""The targets by name: for the command line, and one call for all of them."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
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
    options : tuple of str
        Names of the further options.
    required : tuple of str
        Those that must be given.
    """

    name: str
    output: str
    distance: str
    write: Callable[..., None]
    options: tuple[str, ...] = ()
    required: tuple[str, ...] = ()


def _write_pgvector(model: Any, path: str | os.PathLike[str], **options: Any) -> None:
    write_atomically(path, pgvector_sql(model, **options).encode())


_VECTORS = "vectors; their Euclidean distance, not squared, is the learned distance"
TARGETS = {
    target.name: target
    for target in (
        Target("numpy", "a .npz file with W, mean and normalize", _VECTORS, write_numpy),
        Target("onnx", "an ONNX model with input x and output z", _VECTORS, write_onnx),
        Target(
            "faiss",
            "an index that maps what it stores",
            "squared distances",
            write_faiss,
            options=("vectors",),
        ),
        Target(
            "pgvector",
            "SQL for PostgreSQL",
            "distances, not squared",
            _write_pgvector,
            options=tuple(name for name in signature(pgvector_sql).parameters if name != "model"),
            required=("table",),
        ),
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
    target = TARGETS[to]
    for name in options:
        if name not in target.options:
            allowed = ", ".join(target.options) or "none"
            raise TypeError(
                f"export to {to} has no option {quote(name)}; its options are: {allowed}."
            )
    for name in target.required:
        if name not in options:
            raise TypeError(f"export to {to} needs the option {name}, but it is not given.")
    target.write(model, path, **options)
