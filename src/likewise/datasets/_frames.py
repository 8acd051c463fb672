"""Tables that pandas reads: CSV, TSV and Parquet."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise._runtime.arrays import Array, FloatingArray
from likewise._runtime.text import quote, quote_path, reason
from likewise._runtime.validation import pluralize

if TYPE_CHECKING:
    import pandas as pd

_MAX_HEADER_BYTES = 2**20


def read_frame(path: Path) -> pd.DataFrame:
    """Return the table in a file, with text as names of columns."""
    suffix = path.suffix.lower()
    try:
        import pandas as pd

        if suffix == ".parquet":
            import pyarrow  # noqa: F401 - to distinguish its absence from a bad file
    except ImportError as error:
        raise ImportError(
            f'reading {path.suffix} files needs what comes with pip install "likewise[tables]"'
        ) from error
    shown = quote_path(path)
    try:
        frame = pd.read_parquet(path) if suffix == ".parquet" else _read_text(path)
    except pd.errors.EmptyDataError as error:
        raise ValueError(f"{shown} is empty") from error
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{shown} is not UTF-8 text, which alone is read: save it with that encoding"
        ) from error
    except (ValueError, OSError) as error:
        raise ValueError(f"{shown} cannot be read as {suffix[1:]}: {reason(error)}") from error
    frame.columns = frame.columns.map(str)
    return frame


def _read_text(path: Path) -> pd.DataFrame:
    import pandas as pd

    separator = "\t" if path.suffix.lower() == ".tsv" else _separator(path)
    # Where semicolons separate cells, the comma is the decimal sign; points are understood as well.
    decimal = "," if separator == ";" else "."
    # Types of whole columns: in parts, some labels would be numbers and others text.
    return pd.read_csv(path, sep=separator, decimal=decimal, low_memory=False)


def _separator(path: Path) -> str:
    """Return what separates most names in the first line: a comma, a semicolon or a tab."""
    with path.open(encoding="utf-8-sig", newline="\n") as stream:
        header = stream.readline(_MAX_HEADER_BYTES)
    return max(",;\t", key=re.sub('"[^"]*"', "", header).count)


def column_without_gaps(column: pd.Series[Any], what: str, where: str) -> Array:
    """Return a column of labels or groups, or raise an error for empty cells."""
    if (missing := column.isna().to_numpy()).any():
        raise ValueError(
            f"{what} column {quote(column.name)} of {where} has "
            f"{pluralize(int(missing.sum()), 'empty cell')}, the first in row "
            f"{missing.argmax() + 1}; cells with NA, None or null count as empty"
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


def column_of_numbers(column: pd.Series[Any], where: str) -> FloatingArray:
    """Return a column as numbers, or raise an error that shows the first cell that is none."""
    import pandas as pd

    single = str(column.dtype).lower() == "float32"
    if pd.api.types.is_numeric_dtype(column.dtype):
        return column.to_numpy(dtype=np.float32 if single else np.float64, na_value=np.nan)
    # Text that reads as a number is a number: a stray empty cell must not condemn a column.
    numbers = pd.to_numeric(column.astype(str).where(column.notna()), errors="coerce")
    unreadable = (numbers.isna() & column.notna()).to_numpy()
    if unreadable.any():
        row = int(unreadable.argmax())
        raise ValueError(
            f"column {quote(column.name)} of {where} must hold numbers, found "
            f"{quote(column.iloc[row])} in row {row + 1}; drop the column (--drop), turn it into "
            "numbers (an empty cell is a missing one), or make it the label"
        )
    return numbers.to_numpy(dtype=np.float64, na_value=np.nan)
