"""The tables of a log in SQLite."""

APPLICATION_ID = 0x4C696B65  # "Like"
COLUMNS = "number, kind, id, left, right, answer, annotator, source, time"
SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE events (
    number INTEGER PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('judgement', 'undo')),
    id TEXT NOT NULL,
    left TEXT NOT NULL,
    right TEXT NOT NULL,
    answer TEXT NOT NULL,
    annotator TEXT NOT NULL,
    source TEXT NOT NULL,
    time REAL NOT NULL,
    chain BLOB NOT NULL
);
CREATE UNIQUE INDEX once ON events (id, kind);
CREATE TABLE snapshots (position INTEGER PRIMARY KEY, key TEXT NOT NULL, content BLOB NOT NULL);
"""
