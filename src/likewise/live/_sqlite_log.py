"""The log in an SQLite file: one connection, write-ahead log, every commit synced."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any

from likewise._runtime.text import quote_path, reason
from likewise._runtime.validation import pluralize
from likewise.live._sqlite_damage import read_whole_events, replace_damaged, seems_truncated
from likewise.live._sqlite_schema import APPLICATION_ID, COLUMNS, SCHEMA
from likewise.live.events import VERSION, Event, chain
from likewise.live.log import LogError, StorageFullError, check_identity, require_extra

_KEPT_SNAPSHOTS = 4
_INSERT = f"INSERT INTO events ({COLUMNS}, chain) VALUES ({', '.join('?' * 10)})"


class SQLiteLog:
    """A log in a file, through apsw, which brings an SQLite of its own.

    The file is locked for this process: a second writer is refused. `vfs` names the layer below
    SQLite; tests give one that loses what was not synced.
    """

    def __init__(self, path: str | os.PathLike[str], project: str, *, vfs: str | None = None):
        self._apsw: Any = require_extra("apsw", "a log of judgements")
        self._path, self._project, self._vfs = Path(path), project, vfs
        self.notices: list[str] = []
        if not self._path.absolute().parent.is_dir():
            raise FileNotFoundError(f"There is no folder for the log {quote_path(path)}.")
        if self._path.is_dir():
            raise IsADirectoryError(f"{quote_path(path)} is a folder, but a log is a file.")
        unclean = Path(f"{self._path}-wal").exists()
        if not unclean and self._path.exists() and not self._path.stat().st_size:
            self.notices.append(f"{quote_path(path)} was an empty file: a new log is begun in it.")
        # A power cut while the write-ahead log was copied: what is missing is still in that log.
        truncated = seems_truncated(self._path) and not unclean
        self._connection: Any = self._open(truncated)
        try:
            events, self._chain, whole = read_whole_events(self._connection, self._apsw.Error)
            if truncated or not whole:
                self._recover(events)
            elif unclean:
                self.notices.append(
                    f"{quote_path(path)} was not closed: the log ends with event {len(events)}, "
                    "the last that was written as a whole."
                )
        except BaseException:
            self._connection.close()
            raise
        self._events_at_start = events

    def append(self, events: Sequence[Event]) -> None:
        """Write events in one transaction and return when they are on disk."""
        last, rows = self._chain, []
        for event in events:
            last = chain(last, event)
            rows.append((*astuple(event), last))
        self._transact(lambda: self._connection.executemany(_INSERT, rows))
        self._chain = last

    def read(self, after: int = 0) -> list[Event]:
        """Return the events with numbers above `after`, in order."""
        if after == 0 and self._events_at_start:
            events, self._events_at_start = self._events_at_start, []
            return events  # just read, and checked
        rows = self._select(
            f"SELECT {COLUMNS}, chain FROM events WHERE number > ? ORDER BY number", after
        )
        found = [(Event(*row[:-1]), bytes(row[-1])) for row in rows]
        if found:
            self._chain = found[-1][1]
        return [event for event, _ in found]

    def save_snapshot(self, position: int, key: str, content: bytes) -> None:
        """Store a state of the model, and drop all but the latest few."""

        def write() -> None:
            self._connection.execute("DELETE FROM snapshots WHERE key != ?", (key,))
            self._connection.execute(
                "INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?)", (position, key, content)
            )
            self._connection.execute(
                "DELETE FROM snapshots WHERE position NOT IN "
                "(SELECT position FROM snapshots ORDER BY position DESC LIMIT ?)",
                (_KEPT_SNAPSHOTS,),
            )

        self._transact(write)

    def load_snapshots(self, key: str) -> list[tuple[int, bytes]]:
        """Return the stored states with this key and their positions, the latest first."""
        rows = self._select(
            "SELECT position, content FROM snapshots WHERE key = ? ORDER BY position DESC", key
        )
        return [(int(position), bytes(content)) for position, content in rows]

    def remember(self, key: str, value: str) -> str:
        """Return what is stored under a key besides the events; if nothing is, store a value."""
        rows = self._select("SELECT value FROM meta WHERE key = ?", key)
        if rows:
            return str(rows[0][0])
        insert = "INSERT INTO meta VALUES (?, ?)"
        self._transact(lambda: self._connection.execute(insert, (key, value)))
        return value

    def close(self) -> None:
        """Release the file; the write-ahead log becomes part of it."""
        self._connection.close()

    # -- opening ---------------------------------------------------------------------------------

    def _open(self, truncated: bool) -> Any:
        shown = quote_path(self._path)
        try:
            connection = self._apsw.Connection(str(self._path), vfs=self._vfs)
        except self._apsw.Error as error:
            raise LogError(f"{shown} cannot be opened ({reason(error)}).") from None
        try:
            connection.set_busy_timeout(2000)
            # In memory instead of a shared file: there is no other connection.
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            if truncated:  # else SQLite refuses a file that is shorter than its header says
                connection.execute("PRAGMA writable_schema = ON")
                connection.config(self._apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            self._check_schema(connection, shown)
            if truncated:
                return connection  # to read what is left, and to change nothing
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA wal_autocheckpoint = 4000")
            self._lock(connection)
        except self._apsw.BusyError:
            connection.close()
            raise LogError(f"{shown} is in use by another process; one writes at a time.") from None
        except self._apsw.NotADBError:
            connection.close()
            raise ValueError(f"{shown} is not an SQLite file, but a log is one.") from None
        except self._apsw.FullError:
            connection.close()
            raise StorageFullError(f"There is no room on the disk for {shown}.") from None
        except (self._apsw.CorruptError, self._apsw.SQLError):  # pages or tables are missing
            connection.close()
            raise ValueError(
                f"{shown} is damaged from its first pages on: nothing of the log can be recovered."
            ) from None
        except self._apsw.Error as error:
            connection.close()
            raise LogError(f"{shown} cannot be opened ({reason(error)}).") from None
        except BaseException:
            connection.close()
            raise
        return connection

    def _lock(self, connection: Any) -> None:
        """Take the lock now, and not with the first event."""
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("COMMIT")

    def _check_schema(self, connection: Any, shown: str) -> None:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        if not tables:
            with connection:
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {VERSION}")
                connection.execute(SCHEMA)
                connection.execute("INSERT INTO meta VALUES ('project', ?)", (self._project,))
            return
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        if application != APPLICATION_ID:
            raise ValueError(
                f"{shown} is a database of another program, with tables such as "
                f"{min(tables)!r}; give another file for the log."
            )
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        row = connection.execute("SELECT value FROM meta WHERE key = 'project'").fetchone()
        check_identity(shown, version, row[0] if row else "", self._project)

    def _recover(self, events: list[Event]) -> None:
        """Write the whole events to a new file, which takes the place of the damaged one."""
        self._connection.close()

        def fill(path: Path) -> None:
            fresh = SQLiteLog(path, self._project, vfs=self._vfs)
            if events:
                fresh.append(events)
            fresh.close()

        kept = replace_damaged(self._path, fill)
        self._connection = self._open(False)
        self.notices.append(
            f"{quote_path(self._path)} was damaged: {pluralize(len(events), 'event')} up to the "
            f"last whole one were recovered; the damaged file is kept as {quote_path(kept)}."
        )

    # -- reading and writing ---------------------------------------------------------------------

    def _select(self, statement: str, *parameters: Any) -> list[Any]:
        try:
            return list(self._connection.execute(statement, parameters))
        except self._apsw.Error as error:
            shown = quote_path(self._path)
            raise LogError(f"{shown} could not be read ({reason(error)}).") from None

    def _transact(self, write: Any) -> None:
        connection = self._connection
        try:
            try:
                connection.execute("BEGIN IMMEDIATE")
                write()
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
        except self._apsw.Error as error:
            shown = quote_path(self._path)
            if isinstance(error, self._apsw.FullError) or _is_full(error):
                raise StorageFullError(f"There is no room on the disk for {shown}.") from None
            raise LogError(f"{shown} could not be written ({reason(error)}).") from None


def _is_full(error: Any) -> bool:
    """Return whether an input or output error is that of a full disk or of a quota."""
    cause = str(error).lower()
    return "full" in cause or "no space" in cause or "quota" in cause
