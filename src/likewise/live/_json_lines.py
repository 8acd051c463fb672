"""Reading a table from JSON lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from likewise._runtime.text import quote, quote_path, reason

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["read_json_lines"]


def read_json_lines(path: Path) -> pd.DataFrame:
    """Return a table with a row per line, or raise a ValueError that names the line."""
    import pandas as pd

    rows = []
    with open(path, "rb") as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                rows.append(_row(line, f"line {number} of {quote_path(path)}"))
    return pd.DataFrame(rows)


def _row(line: bytes, where: str) -> dict[str, Any]:
    try:
        row = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError:
        raise ValueError(f"{where} is not UTF-8, but JSON lines must be.") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{where} is not JSON ({reason(error)}).") from None
    if not isinstance(row, dict):
        raise ValueError(f"{where} must be an object, found {quote(row)}.")
    if b"\\u" in line:  # only an escape can stand for half of a character
        try:
            json.dumps(row, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            half = quote(error.object[error.start : error.end])
            raise ValueError(
                f"{where} has half of a character, {half}, but text of whole ones is needed."
            ) from None
    return row
