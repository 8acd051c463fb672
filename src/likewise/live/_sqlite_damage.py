"""What can be read of a log whose file was truncated or changed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from likewise.live._sqlite_schema import COLUMNS
from likewise.live.events import Event, chain

_MAGIC = b"SQLite format 3\x00"


def seems_truncated(path: Path) -> bool:
    """Return whether a file is shorter than its header says."""
    try:
        with open(path, "rb") as file:
            header = file.read(100)
        size = os.path.getsize(path)
    except FileNotFoundError:
        return False
    if len(header) < 100 or not header.startswith(_MAGIC):
        return False
    page = int.from_bytes(header[16:18], "big")
    page = 65536 if page == 1 else page
    # The number of pages is valid only if it was written by the last change.
    valid = header[24:28] == header[92:96]
    return valid and int.from_bytes(header[28:32], "big") * page > size


def read_whole_events(
    connection: Any, error_class: type[Exception]
) -> tuple[list[Event], bytes, bool]:
    """Return the events up to the first that is missing, unreadable or changed.

    With them, the checksum of the last one, and whether they are all. Numbers without gaps and the
    chain of checksums tell.
    """
    events: list[Event] = []
    last = b""
    try:
        for row in connection.execute(f"SELECT {COLUMNS}, chain FROM events ORDER BY number"):
            event = Event(*row[:-1])
            following = chain(last, event)
            if event.number != len(events) + 1 or following != row[-1]:
                return events, last, False
            events.append(event)
            last = following
    except (error_class, TypeError, ValueError):
        return events, last, False
    return events, last, True


def replace_damaged(path: Path, fill: Callable[[Path], None]) -> Path:
    """Let `fill` write a new file, put it in the place of `path`, and return where that went."""
    number = 1
    while (kept := Path(f"{path}.damaged-{number}")).exists():
        number += 1
    fresh = Path(f"{path}.recovering")
    for left_over in (fresh, Path(f"{fresh}-wal")):
        left_over.unlink(missing_ok=True)
    fill(fresh)
    wal = Path(f"{path}-wal")
    os.replace(path, kept)
    if wal.exists():  # belongs to the damaged file
        os.replace(wal, Path(f"{kept}-wal"))
    os.replace(fresh, path)
    return kept
