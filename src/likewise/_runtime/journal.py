"""The results of finished trials in a file of JSON lines, from which a killed run continues."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from likewise._runtime.text import quote, quote_path
from likewise._runtime.writing import lock_file

Record = Mapping[str, Any]


class Journal:
    """Append-only file: the first line says what was run with what, the others are records.

    A record is on disk when `append` returns. A process that is killed while it writes leaves an
    incomplete last line, which is removed when the file is opened again.

    Parameters
    ----------
    path : Path
        The file; created if it does not exist.
    header : mapping
        The first line. A file with another one is refused: its records are of something else.
    """

    def __init__(self, path: Path, header: Record) -> None:
        self.path = path
        try:
            self._file: BinaryIO = open(path, "a+b")  # noqa: SIM115 - closed by close()
        except OSError as error:
            raise type(error)(f"{quote_path(path)} cannot be written: {error.strerror}.") from None
        try:
            if lock_file(self._file) is False:
                raise BlockingIOError(f"{quote_path(path)} is being written by another process.")
            lines = self._complete_lines()
            if not lines:
                self.append(header)
            elif lines[0] != json.loads(json.dumps(header)):
                raise ValueError(
                    f"{quote_path(path)} was begun with other versions or settings: "
                    f"{_difference(lines[0], header)}; remove it, or choose another folder."
                )
            self.records: list[Record] = lines[1:]
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def append(self, record: Record) -> None:
        """Write a record to the disk."""
        line = json.dumps(record, ensure_ascii=False, allow_nan=False)
        self._file.write(f"{line}\n".encode())
        self._file.flush()
        os.fsync(self._file.fileno())

    def _complete_lines(self) -> list[Any]:
        """Return the records of the file, after an incomplete last line is cut off."""
        self._file.seek(0)
        content = self._file.read()
        complete = content.rfind(b"\n") + 1
        self._file.truncate(complete)
        try:
            return [json.loads(line) for line in content[:complete].splitlines()]
        except ValueError as error:
            raise ValueError(
                f"{quote_path(self.path)} is not a file of JSON lines ({error}); remove it, or "
                "choose another folder."
            ) from None


def _difference(found: Any, expected: Record) -> str:
    """Name the first entry in which two headers differ."""
    if not isinstance(found, Mapping):
        return "it has no header"
    for name, value in expected.items():
        if found.get(name) != json.loads(json.dumps(value)):
            if isinstance(value, Mapping) and isinstance(found.get(name), Mapping):
                return _difference(found[name], value)
            return f"{name} was {quote(found.get(name))} and is {quote(value)}"
    return "it has further entries"
