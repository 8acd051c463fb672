"""Labels of rows in a file of their own."""

from __future__ import annotations

import csv
import io

import numpy as np

from likewise._runtime.arrays import Array
from likewise._runtime.text import list_some, reason
from likewise._runtime.validation import pluralize
from likewise.datasets._arrays import arrays_of_npz, read_array
from likewise.datasets._columns import none_where_empty
from likewise.datasets._frames import read_frame
from likewise.datasets._sources import TABLE_FORMATS, Readable, Source, open_source
from likewise.datasets._tables import choose_label
from likewise.datasets._text_tables import decoded, detect_separator

_FORMATS = (*TABLE_FORMATS, "txt")


def read_labels(
    path: Readable, n_rows: int, label: str | None = None, *, format: str | None = None
) -> Array:
    """Read one label for each row; an empty one means that the row is unlabelled.

    Parameters
    ----------
    path : str, path or binary stream
        A text file (.txt) with one label in each line, a NumPy array, or a table whose first line
        holds the names of the columns. A blank line, an empty cell and NaN are empty labels; no
        other value is.
    n_rows : int
        Number of rows, which must be that of the labels.
    label : str, optional
        The column (in an NPZ file the array) with the labels; by default the only one, or the one
        called label, class, target or y.
    format : {"csv", "tsv", "parquet", "npz", "npy", "txt"}, optional
        How it is read, whatever its suffix.

    Returns
    -------
    array of shape (n_rows,)
        An object array with None for empty labels if there are any.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from likewise.datasets import read_labels
    >>> path = Path(tempfile.mkdtemp()) / "labels.csv"
    >>> _ = path.write_text("topic\\nsport\\n\\nmusic\\n")
    >>> read_labels(path, 3)
    array(['sport', None, 'music'], dtype=object)
    """
    with open_source(path, format, _FORMATS) as source:
        where = source.where
        match source.format:
            case "npy":
                labels = read_array(source.stream, source.n_bytes, where)
            case "npz":
                labels = _column(arrays_of_npz(source.stream, where), label, where)
            case "txt":
                lines = io.StringIO(_text(source), newline=None)
                labels = np.array([line.strip() for line in lines], dtype=object)
            case "parquet":
                frame = read_frame(source)
                labels = _column(
                    {name: frame[name].to_numpy() for name in frame.columns}, label, where
                )
            case _:
                labels = _column(_cells(source), label, where)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise ValueError(
            f"{where} has an array of shape {labels.shape}, but one label for each row is needed."
        )
    found = none_where_empty(labels)
    while len(found) > n_rows and found[-1] is None:  # blank lines at the end of a text
        found = found[:-1]
    if len(found) != n_rows:
        header = source.format in ("csv", "tsv") and len(found) == n_rows - 1
        hint = "; its first line must hold the name of the column" if header else ""
        raise ValueError(
            f"{where} has {pluralize(len(found), 'label')}, but there are "
            f"{pluralize(n_rows, 'row')}{hint}."
        )
    return found


def _text(source: Source) -> str:
    text = decoded(source)
    if text is None:
        raise ValueError(f"{source.where} is not text in UTF-8, UTF-16 or Windows-1252.")
    if not text.strip():
        raise ValueError(f"{source.where} is empty.")
    return text


def _cells(source: Source) -> dict[str, Array]:
    """Return the columns of a text table as words; in one of one column, blank lines count."""
    text = _text(source)
    separator = "\t" if source.format == "tsv" else detect_separator(text)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        names = next(rows)
        cells = list(rows)
    except csv.Error as error:
        raise ValueError(
            f"{source.where} cannot be read as {source.format}: line {rows.line_num}: "
            f"{reason(error)}"
        ) from None
    blank = [[""]] if len(names) == 1 else []
    cells = [filled for row in cells for filled in ([row] if row else blank)]
    for number, row in enumerate(cells, 1):
        if len(row) != len(names):
            raise ValueError(
                f"row {number} of {source.where} has {pluralize(len(row), 'cell')}, but there are "
                f"{pluralize(len(names), 'column')}."
            )
    by_row = np.array(cells, dtype=object).reshape(len(cells), len(names))
    return {name.strip(): by_row[:, i] for i, name in enumerate(names)}


def _column(columns: dict[str, Array], label: str | None, where: str) -> Array:
    names = list(columns)
    if not names:
        raise ValueError(f"{where} has no column of labels: {list_some(names) or 'it is empty'}.")
    if label is None and len(names) == 1:
        return columns[names[0]]
    return columns[choose_label(names, label, where)]
