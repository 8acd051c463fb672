"""Text of users in messages: labels, cells, names and paths, short and without control characters.

A label or a file name may hold anything: escape sequences that rewrite a terminal, characters that
reverse the direction of writing, or a whole book. Every message shows it by these functions.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np

MAX_QUOTED, MAX_REASON, MAX_PATH = 80, 200, 300


def quote(value: Any, most: int = MAX_QUOTED) -> str:
    """Quote a value as the user wrote it, 3 and not np.int64(3); beyond `most` characters, in part.

    Text is quoted as Python does, with characters that cannot be seen escaped.
    """
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, str | bytes) and len(value) > most:
        begin, end = value[: most // 2], value[len(value) - most // 4 :]
        return f"{begin!r}…{end!r} ({len(value)} characters)"
    if isinstance(value, str | bytes):
        return repr(value)
    return printable(" ".join(repr(value).split()), most)


def quote_path(path: str | bytes | os.PathLike[str]) -> str:
    """Quote a path."""
    return quote(os.fsdecode(path), MAX_PATH)


def printable(text: str, most: int | None = None) -> str:
    r"""Return text with every character that cannot be seen escaped, such as ``\x1b``.

    Text longer than `most` characters is cut in the middle.
    """
    if most is not None and len(text) > most:
        text = f"{text[: most // 2]}…{text[len(text) - most // 4 :]} ({len(text)} characters)"
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def reason(error: Exception) -> str:
    """Return the first line of what an error of another library says."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return printable(lines[0], MAX_REASON)


def list_some(names: Iterable[Any], most: int = 8) -> str:
    """List the first names without quotes, and say how many there are."""
    names = [str(name) for name in names]
    listed = ", ".join(printable(name, MAX_QUOTED) for name in names[:most])
    return f"{listed}, … ({len(names)} in all)" if len(names) > most else listed
