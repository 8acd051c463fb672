"""Tables that pandas reads: CSV, TSV and Parquet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise._runtime.arrays import Array
from likewise._runtime.text import quote, reason
from likewise._runtime.validation import pluralize
from likewise.datasets._sources import Source
from likewise.datasets._text_tables import read_cells, read_text

if TYPE_CHECKING:
    import pandas as pd


def read_frame(source: Source, *, keep_na: bool = False) -> pd.DataFrame:
    """Return a table with text as names of columns; see `read_columns` for `keep_na`."""
    try:
        import pandas as pd

        if source.format == "parquet":
            import pyarrow  # noqa: F401 - to distinguish its absence from a bad file
    except ImportError as error:
        raise ImportError(
            f'reading .{source.format} files needs what comes with pip install "likewise[tables]"'
        ) from error
    try:
        is_text = source.format != "parquet"
        frame = read_text(source, keep_na=keep_na) if is_text else pd.read_parquet(source.stream)
    except pd.errors.EmptyDataError as error:
        raise ValueError(f"{source.where} is empty") from error
    except (ValueError, OSError) as error:
        raise ValueError(
            f"{source.where} cannot be read as {source.format}: {reason(error)}"
        ) from error
    frame.columns = frame.columns.map(str)
    return frame


def as_written(source: Source, frame: pd.DataFrame, names: Sequence[str]) -> dict[str, Any]:
    """Return columns of a table with the cells of a text file as they are written: 007 is not 7.

    An empty cell is an empty text. Other files have types, and their columns are those of `frame`.
    """
    if source.format == "parquet":
        return {name: frame[name] for name in names}
    columns = frame.columns.tolist()
    order = sorted(names, key=columns.index)
    cells = read_cells(source, [columns.index(name) for name in order])
    found = {name: cells.iloc[:, i] for i, name in enumerate(order)}
    return {name: found[name] for name in names}


def column_without_gaps(column: pd.Series[Any], what: str, where: str) -> Array:
    """Return a column of labels or groups, or raise an error for empty cells."""
    if (missing := column.isna().to_numpy()).any():
        raise ValueError(
            f"{what} column {quote(column.name)} of {where} has "
            f"{pluralize(int(missing.sum()), 'empty cell')}, the first in row "
            f"{missing.argmax() + 1}; cells with NA, None or null count as empty unless they are "
            "words (--keep-na)"
        )
    return column.to_numpy()


def check_no_row_numbers(frame: pd.DataFrame, where: str) -> None:
    """Rows are often sorted by class, and then their numbers would be the best of features."""
    first = frame.columns[0] if len(frame.columns) else ""
    if first.startswith("Unnamed") and len(frame) > 1:
        numbers = frame[first].to_numpy()
        if numbers.dtype.kind in "iu" and (np.diff(numbers) == 1).all():
            raise ValueError(
                f"{where} begins with a column without a name that only numbers its rows; remove "
                "it (pandas writes none with index=False)"
            )


def frame_column(column: pd.Series[Any]) -> Array:
    """Return a column as numbers, or as objects where pandas has no type of numbers for it."""
    import pandas as pd

    if pd.api.types.is_numeric_dtype(column.dtype):
        single = str(column.dtype).lower() == "float32"
        return column.to_numpy(dtype=np.float32 if single else np.float64, na_value=np.nan)
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        column = column.astype(str).where(column.notna())
    return np.asarray(column, dtype=object)
