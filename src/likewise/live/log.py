"""The log of events: what a storage offers, and how one is opened."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import Protocol

from likewise.live.events import VERSION, Event

__all__ = ["EventLog", "LogError", "StorageFullError", "open_log"]


class LogError(OSError):
    """Events could not be written or read; whether the last ones were written is not known."""


class StorageFullError(LogError):
    """There is no room for more events; nothing of the last ones was written."""


class EventLog(Protocol):
    """A durable, append-only sequence of events, with one writer.

    Attributes
    ----------
    notices : list of str
        What had to be repaired when the log was opened, in sentences.
    """

    notices: list[str]

    def append(self, events: Sequence[Event]) -> None:
        """Write events in one transaction and return when they are on disk.

        Raises StorageFullError or LogError; then none of them is written, or (LogError only) all.
        """

    def read(self, after: int = 0) -> list[Event]:
        """Return the events with numbers above `after`, in order."""

    def save_snapshot(self, position: int, key: str, content: bytes) -> None:
        """Store a state of the model; snapshots with other keys, or older ones, may be dropped."""

    def load_snapshots(self, key: str) -> list[tuple[int, bytes]]:
        """Return the stored states with this key and their positions, the latest first."""

    def remember(self, key: str, value: str) -> str:
        """Return what is stored under a key besides the events; if nothing is, store a value."""

    def close(self) -> None:
        """Release the log to other processes."""


def open_log(location: str, project: str) -> EventLog:
    """Open a log, or create it where there is none.

    Parameters
    ----------
    location : str
        A file (SQLite), or a URL of PostgreSQL, ``postgresql://…``.
    project : str
        Identity of the items that are judged: a log of other items is refused.

    Returns
    -------
    EventLog

    Examples
    --------
    >>> from likewise.live import open_log
    >>> log = open_log("judgements.sqlite", project="flowers")
    >>> log.read()
    []
    >>> log.close()
    """
    if location.startswith(("postgresql://", "postgres://")):
        module = import_module("likewise.live._postgres_log")
        return module.PostgresLog(location, project)  # type: ignore[no-any-return]
    scheme = re.match(r"[a-zA-Z][a-zA-Z0-9+.-]+://", location)  # two letters: not a Windows drive
    if scheme:  # the rest may have a password in it
        raise ValueError(
            f"a log at {scheme[0]}… is not allowed: a file, or a URL postgresql://…, is needed."
        )
    module = import_module("likewise.live._sqlite_log")
    return module.SQLiteLog(location, project)  # type: ignore[no-any-return]


def require_extra(module: str, purpose: str, extra: str = "likewise[live]") -> ModuleType:
    """Import a package of an extra, or raise an ImportError that names the extra."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(
            f'{purpose} needs {module}, which comes with pip install "{extra}"'
        ) from error


def check_identity(where: str, version: int, found: str, project: str) -> None:
    """Raise an error if a log is of a newer version, or of other items."""
    if version > VERSION:
        raise ValueError(
            f"{where} is a log of version {version}, but this release reads up to {VERSION}: use a "
            "newer release of likewise."
        )
    if found != project:
        raise ValueError(
            f"{where} is the log of another project ({found[:12]}), but the items given make "
            f"{project[:12]}: give the items, the vectors, the model, the audit (--audit) and the "
            "audit_share that it was begun with, or another log."
        )
