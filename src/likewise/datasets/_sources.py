"""Where a table comes from: a file, or a stream such as stdin; and which format it has."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeAlias

from likewise._runtime.reading import check_readable
from likewise._runtime.text import quote, quote_path

Readable: TypeAlias = str | os.PathLike[str] | BinaryIO
"""A path, or a binary stream such as ``sys.stdin.buffer``."""

TABLE_FORMATS = ("csv", "tsv", "parquet", "npz", "npy")
_MAGIC = {b"PAR1": "parquet", b"PK\x03\x04": "npz", b"\x93NUM": "npy"}


@dataclass(frozen=True)
class Source:
    """An open table.

    Attributes
    ----------
    stream : binary file
        At its beginning; it can be read again.
    format : str
        One of `TABLE_FORMATS`.
    where : str
        What errors call it.
    n_bytes : int
    """

    stream: BinaryIO
    format: str
    where: str
    n_bytes: int


@contextmanager
def open_source(
    source: Readable, format: str | None, formats: Sequence[str] = TABLE_FORMATS
) -> Iterator[Source]:
    """Open a table.

    The format is the one given, or else that of the suffix of a path, or that which the first bytes
    of a stream show; a stream of text is a CSV table, whatever its separator.
    """
    if format is not None and format not in formats:
        raise ValueError(f"format is {quote(format)}, but it must be one of {', '.join(formats)}")
    if not isinstance(source, str | os.PathLike):
        content = source.read()
        if not content:
            raise ValueError("the input is empty")
        format = format or _MAGIC.get(content[:4], "csv")
        yield Source(io.BytesIO(content), format, "the input", len(content))
        return
    path = Path(source)
    suffix = path.suffix.lower().removeprefix(".")
    if format is None and suffix not in formats and not os.path.isdir(path):
        found = quote(path.suffix) if path.suffix else "no suffix"
        known = ", ".join(f".{known}" for known in formats)
        raise ValueError(
            f"{quote_path(path)} must end in {known}, found {found}; or say (--format) what it is"
        )
    check_readable(path, "a table")
    if path.is_file() and path.stat().st_size == 0:
        raise ValueError(f"{quote_path(path)} is empty")
    with path.open("rb") as stream:
        yield Source(stream, format or suffix, quote_path(path), path.stat().st_size)
