"""The log in PostgreSQL: tables in the schema that the connection finds first."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import astuple
from typing import Any

from likewise._runtime.text import quote, reason
from likewise.live.events import VERSION, Event, chain
from likewise.live.log import LogError, StorageFullError, check_identity, require_extra

_COLUMNS = 'number, kind, id, "left", "right", answer, annotator, source, time'
_SCHEMA = """
CREATE TABLE likewise_meta (key text PRIMARY KEY, value text NOT NULL);
CREATE TABLE likewise_events (
    number bigint PRIMARY KEY,
    kind text NOT NULL CHECK (kind IN ('judgement', 'undo')),
    id text NOT NULL,
    "left" text NOT NULL,
    "right" text NOT NULL,
    answer text NOT NULL,
    annotator text NOT NULL,
    source text NOT NULL,
    time double precision NOT NULL,
    chain bytea NOT NULL,
    UNIQUE (id, kind)
);
CREATE TABLE likewise_snapshots (position bigint PRIMARY KEY, key text NOT NULL, content bytea);
"""
_INSERT = f"INSERT INTO likewise_events ({_COLUMNS}, chain) VALUES ({', '.join(['%s'] * 10)})"
_KEPT_SNAPSHOTS = 4


class PostgresLog:
    """A log in a database, for teams; the same events as in a file.

    An advisory lock keeps a second writer out. If the connection is lost, the next call connects
    again.
    """

    def __init__(self, url: str, project: str) -> None:
        self._psycopg: Any = require_extra("psycopg", "a log in PostgreSQL", "psycopg[binary]")
        self._url, self._project = url, project
        self.notices: list[str] = []
        self._chain = b""
        self._connection: Any = None
        self._connect()
        self.read()

    def append(self, events: Sequence[Event]) -> None:
        """Write events in one transaction and return when they are on disk."""
        last, rows = self._chain, []
        for event in events:
            last = chain(last, event)
            rows.append((*astuple(event), last))
        self._run(lambda cursor: cursor.executemany(_INSERT, rows))
        self._chain = last

    def read(self, after: int = 0) -> list[Event]:
        """Return the events with numbers above `after`, in order."""

        def select(cursor: Any) -> list[Any]:
            cursor.execute(
                f"SELECT {_COLUMNS}, chain FROM likewise_events WHERE number >= %s ORDER BY number",
                (after,),
            )
            return list(cursor.fetchall())

        found = self._run(select)
        if after and not found:
            return []
        last = bytes(found.pop(0)[-1]) if after else b""
        for position, row in enumerate(found, start=after + 1):
            event = Event(*row[:-1])
            last = chain(last, event)
            if event.number != position or last != bytes(row[-1]):
                raise LogError(
                    f"event {position} of the log in PostgreSQL is missing or was changed: "
                    "restore the database from a backup."
                )
        self._chain = last
        return [Event(*row[:-1]) for row in found]

    def save_snapshot(self, position: int, key: str, content: bytes) -> None:
        """Store a state of the model, and drop all but the latest few."""

        def write(cursor: Any) -> None:
            cursor.execute("DELETE FROM likewise_snapshots WHERE key != %s", (key,))
            cursor.execute(
                "INSERT INTO likewise_snapshots VALUES (%s, %s, %s) "
                "ON CONFLICT (position) DO UPDATE SET content = excluded.content",
                (position, key, content),
            )
            cursor.execute(
                "DELETE FROM likewise_snapshots WHERE position NOT IN "
                "(SELECT position FROM likewise_snapshots ORDER BY position DESC LIMIT %s)",
                (_KEPT_SNAPSHOTS,),
            )

        self._run(write)

    def load_snapshots(self, key: str) -> list[tuple[int, bytes]]:
        """Return the stored states with this key and their positions, the latest first."""

        def select(cursor: Any) -> list[Any]:
            cursor.execute(
                "SELECT position, content FROM likewise_snapshots WHERE key = %s "
                "ORDER BY position DESC",
                (key,),
            )
            return list(cursor.fetchall())

        return [(int(position), bytes(content)) for position, content in self._run(select)]

    def remember(self, key: str, value: str) -> str:
        """Return what is stored under a key besides the events; if nothing is, store a value."""

        def write(cursor: Any) -> str:
            insert = "INSERT INTO likewise_meta VALUES (%s, %s) ON CONFLICT DO NOTHING"
            cursor.execute(insert, (key, value))
            cursor.execute("SELECT value FROM likewise_meta WHERE key = %s", (key,))
            return str(cursor.fetchone()[0])

        return str(self._run(write))

    def close(self) -> None:
        """Release the log to other processes."""
        if not self._connection.closed:
            # Closing alone would release the log only when the server notices it; a connection
            # that was lost has released it.
            with contextlib.suppress(LogError):
                self._run(lambda cursor: cursor.execute("SELECT pg_advisory_unlock_all()"))
        self._connection.close()

    def _connect(self) -> None:
        try:
            connection = self._psycopg.connect(self._url, autocommit=True, connect_timeout=10)
        except self._psycopg.Error as error:
            raise LogError(f"PostgreSQL cannot be reached ({reason(error)}).") from None
        try:
            with connection.cursor() as cursor:
                cursor.execute("SET synchronous_commit = on")
                self._lock(cursor)
                with connection.transaction():
                    self._check_schema(cursor)
        except self._psycopg.Error as error:
            connection.close()
            raise LogError(f"PostgreSQL refused the log ({reason(error)}).") from None
        except BaseException:
            connection.close()
            raise
        self._connection = connection

    def _lock(self, cursor: Any) -> None:
        cursor.execute("SELECT current_schema()")
        schema = str(cursor.fetchone()[0])
        digest = hashlib.sha256(f"likewise {schema}".encode()).digest()
        number = int.from_bytes(digest[:8], "big", signed=True)
        # A connection that was lost may hold the lock until the server notices.
        cursor.execute("SET lock_timeout = '2s'")
        try:
            cursor.execute("SELECT pg_advisory_lock(%s)", (number,))
        except self._psycopg.errors.LockNotAvailable:
            raise LogError(
                f"the log in schema {quote(schema)} is in use by another process; one writes at a "
                "time."
            ) from None

    def _check_schema(self, cursor: Any) -> None:
        cursor.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = "
            "current_schema() AND table_name LIKE 'likewise\\_%'"
        )
        tables = {row[0] for row in cursor.fetchall()}
        if not tables:
            cursor.execute(_SCHEMA)
            for row in (("project", self._project), ("version", str(VERSION))):
                cursor.execute("INSERT INTO likewise_meta VALUES (%s, %s)", row)
            return
        if "likewise_meta" not in tables or "likewise_events" not in tables:
            raise ValueError(
                f"the schema has a table {quote(min(tables))} of another program; give the URL of "
                "another database or schema for the log."
            )
        cursor.execute("SELECT key, value FROM likewise_meta")
        meta = dict(cursor.fetchall())
        check_identity(
            "the database", int(meta.get("version", 0)), meta.get("project", ""), self._project
        )

    def _run(self, work: Callable[[Any], Any]) -> Any:
        if self._connection.closed:
            self._connect()
        try:
            with self._connection.transaction(), self._connection.cursor() as cursor:
                return work(cursor)
        except self._psycopg.errors.DiskFull:
            raise StorageFullError("There is no room on the disk of PostgreSQL.") from None
        except self._psycopg.Error as error:
            raise LogError(f"PostgreSQL failed ({reason(error)}).") from None
