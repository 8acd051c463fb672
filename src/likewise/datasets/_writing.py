"""Writing tables: the counterpart of reading them."""

from __future__ import annotations

import csv
import io
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

import numpy as np

from likewise._runtime.arrays import Array
from likewise._runtime.text import quote, quote_path
from likewise._runtime.writing import write_atomically
from likewise.datasets._sources import TABLE_FORMATS

_ROWS = 10_000  # written at a time


def write_table(
    path: str | os.PathLike[str] | BinaryIO,
    columns: Mapping[str, Array],
    *,
    format: str | None = None,
) -> None:
    """Write a table to a CSV, TSV, Parquet, NPZ or NPY file; it appears whole or not at all.

    Parameters
    ----------
    path : str, path or binary stream
        The suffix decides how it is written; a stream gets CSV.
    columns : mapping of str to array
        Columns of one length, by name. An NPY file holds numbers only, without names, and an NPZ
        file one array for each column.
    format : {"csv", "tsv", "parquet", "npz", "npy"}, optional
        How it is written, whatever its suffix.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.datasets import read_table, write_table
    >>> write_table("small.csv", {"a": np.array([1.5, 2.0]), "y": np.array(["p", "q"])})
    >>> read_table("small.csv").X.tolist()
    [[1.5], [2.0]]
    """
    if not isinstance(path, str | os.PathLike):
        write_content(path, columns, format or "csv")
        return
    write = check_table_format(Path(path), format)
    content = io.BytesIO()
    write_content(content, columns, write)
    write_atomically(path, content.getvalue())


def check_table_format(path: Path, format: str | None = None) -> str:
    """Return the format of a file to be written, or raise an error that names those known."""
    found = format or path.suffix.lower().removeprefix(".")
    if found not in TABLE_FORMATS:
        known = ", ".join(f".{name}" for name in TABLE_FORMATS)
        raise ValueError(f"{quote_path(path)} must end in {known}, found {quote(path.suffix)}")
    return found


def write_content(stream: BinaryIO, columns: Mapping[str, Array], format: str) -> None:
    """Write a table to a stream in a format."""
    match format:
        case "npz":
            _write_npz(stream, columns)
        case "npy":
            if words := [name for name, values in columns.items() if values.dtype.kind in "OU"]:
                raise ValueError(
                    f"column {quote(words[0])} holds text, but an NPY file holds numbers only: "
                    "write a CSV, Parquet or NPZ file."
                )
            np.save(stream, np.column_stack(list(columns.values())))
        case "parquet":
            _write_parquet(stream, columns)
        case _:
            _write_text(stream, columns, "\t" if format == "tsv" else ",")


def _write_text(stream: BinaryIO, columns: Mapping[str, Array], separator: str) -> None:
    """Write rows in blocks; numbers are written so that they are read back exactly."""
    text = io.TextIOWrapper(stream, encoding="utf-8", newline="", write_through=True)
    try:
        rows = csv.writer(text, delimiter=separator, lineterminator="\n")
        rows.writerow(columns)
        values = list(columns.values())
        for start in range(0, len(values[0]), _ROWS):
            rows.writerows(
                zip(*(part[start : start + _ROWS].tolist() for part in values), strict=True)
            )
    finally:
        text.detach()


def _write_parquet(stream: BinaryIO, columns: Mapping[str, Array]) -> None:
    try:
        import pandas as pd
        import pyarrow  # noqa: F401 - which pandas needs
    except ImportError as error:
        raise ImportError(
            'writing Parquet files needs what comes with pip install "likewise[tables]"'
        ) from error
    content = io.BytesIO()  # pandas closes what it writes to
    content.close = lambda: None  # type: ignore[method-assign]
    pd.DataFrame(dict(columns)).to_parquet(content, index=False)
    stream.write(content.getvalue())


def _write_npz(stream: BinaryIO, columns: Mapping[str, Array]) -> None:
    """Write arrays of any name: `numpy.savez` has an argument called file."""
    with zipfile.ZipFile(stream, "w") as archive:
        for name, values in columns.items():
            plain = values.astype(str) if values.dtype.kind == "O" else values
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.ascontiguousarray(plain), allow_pickle=False)
