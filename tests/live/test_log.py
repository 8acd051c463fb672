"""The log of events: the same tests for SQLite and for PostgreSQL."""

import sqlite3

import pytest
from judging import PROJECT, judgement, random_events
from postgres import psycopg, running

from likewise.live import LogError, StorageFullError, open_log
from likewise.live.events import VERSION


@pytest.fixture(scope="module")
def server():
    with running() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def location(request, tmp_path):
    if request.param == "sqlite":
        yield str(tmp_path / "log.sqlite")
        return
    url = request.getfixturevalue("server")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")
    yield url


def execute(location, statement, *parameters):
    """Run a statement behind the back of the log."""
    if location.startswith("postgres"):
        with psycopg.connect(location, autocommit=True) as connection:
            connection.execute(statement, parameters)
        return
    connection = sqlite3.connect(location)
    connection.execute(statement.replace("likewise_", "").replace("%s", "?"), parameters)
    connection.commit()
    connection.close()


@pytest.fixture
def log(location):
    made = open_log(location, PROJECT)
    yield made
    made.close()


def test_events_come_back_in_order(log):
    events = random_events(50)
    log.append(events[:20])
    log.append(events[20:])
    assert log.read() == events
    assert log.read(after=17) == events[17:]
    assert log.notices == []


def test_events_are_there_when_the_log_is_opened_again(location):
    events = random_events(30)
    for start in (0, 10, 20):
        log = open_log(location, PROJECT)
        assert log.read() == events[:start]
        log.append(events[start : start + 10])
        log.close()
    log = open_log(location, PROJECT)
    assert log.read() == events
    assert log.notices == []
    log.close()


def test_any_text_and_time_is_kept(log):
    odd = judgement(1, "naïve “ids” 🫖", "it's; DROP TABLE events --", time=0.1 + 0.2)
    log.append([odd])
    assert log.read() == [odd]


@pytest.mark.parametrize("repeated", ["number", "id"])
def test_a_transaction_that_fails_writes_nothing(log, repeated):
    first = judgement(1)
    log.append([first])
    again = judgement(1, id="00000000-0000-0000-0000-0000000000ff")
    if repeated == "id":
        again = judgement(3, id=first.id)
    with pytest.raises(LogError, match=r"could not be written|PostgreSQL failed"):
        log.append([judgement(2), again])
    assert log.read() == [first]
    log.append([judgement(2), judgement(3)])
    assert len(log.read()) == 3


def test_a_log_of_a_newer_version_is_refused(location):
    open_log(location, PROJECT).close()
    if location.startswith("postgres"):
        execute(location, "UPDATE likewise_meta SET value = %s WHERE key = 'version'", "2")
    else:
        execute(location, f"PRAGMA user_version = {VERSION + 1}")
    with pytest.raises(ValueError, match=rf"version {VERSION + 1}, but this release reads up to"):
        open_log(location, PROJECT)


def test_a_log_of_other_items_is_refused(location):
    open_log(location, PROJECT).close()
    with pytest.raises(ValueError, match="is the log of another project"):
        open_log(location, "other items")
    open_log(location, PROJECT).close()


def test_a_database_of_another_program_is_refused(location):
    execute(location, "CREATE TABLE likewise_orders (price REAL)")
    with pytest.raises(ValueError, match=r"(database|table 'likewise_orders') of another program"):
        open_log(location, PROJECT)


def test_a_second_writer_is_refused(log, location):
    with pytest.raises(LogError, match="is in use by another process; one writes at a time"):
        open_log(location, PROJECT)
    log.append([judgement(1)])


def test_snapshots(log):
    for position in range(1, 7):
        log.save_snapshot(position, "a", bytes([position, 0, 255]))
    kept = log.load_snapshots("a")
    assert [position for position, _ in kept] == [6, 5, 4, 3]
    assert kept[0][1] == bytes([6, 0, 255])
    assert log.load_snapshots("b") == []
    log.save_snapshot(3, "b", b"other")
    assert log.load_snapshots("b") == [(3, b"other")]
    assert log.load_snapshots("a") == []


def test_a_full_disk_loses_nothing(log, location):
    log.append([judgement(1)])
    if location.startswith("postgres"):
        execute(
            location,
            "CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS "
            "$$BEGIN RAISE EXCEPTION 'no space left' USING ERRCODE = '53100'; END$$",
        )
        execute(
            location,
            "CREATE TRIGGER no_room BEFORE INSERT ON likewise_events "
            "FOR EACH ROW EXECUTE FUNCTION no_room()",
        )
    else:
        pages = log._connection.execute("PRAGMA page_count").fetchone()[0]
        log._connection.execute(f"PRAGMA max_page_count = {pages}")
    many = [judgement(number) for number in range(2, 500)]
    with pytest.raises(StorageFullError, match="There is no room on the disk"):
        log.append(many)
    assert log.read() == [judgement(1)]
    if location.startswith("postgres"):
        execute(location, "DROP TRIGGER no_room ON likewise_events")
    else:
        log._connection.execute("PRAGMA max_page_count = 1000000")
    log.append(many)
    assert len(log.read()) == 499


def end_connections(connection):
    """End all connections of the server but one."""
    connection.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid != pg_backend_pid() "
        "AND backend_type = 'client backend'"
    )


def test_a_lost_connection_is_made_again(server, tmp_path):
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")
        log = open_log(server, PROJECT)
        log.append([judgement(1)])
        end_connections(connection)
        with pytest.raises(LogError, match="PostgreSQL failed"):
            log.append([judgement(2)])
        assert log.read(after=1) == []
        log.append([judgement(2)])
        assert len(log.read()) == 2
        end_connections(connection)
        log.close()  # what was acknowledged is there: there is nothing to say


def test_postgres_that_is_not_there():
    with pytest.raises(LogError, match="PostgreSQL cannot be reached"):
        open_log("postgresql://nobody@127.0.0.1:1/none", PROJECT)


def test_an_event_changed_in_postgres_is_noticed(server):
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")
    log = open_log(server, PROJECT)
    log.append([judgement(1), judgement(2), judgement(3)])
    log.close()
    execute(server, "UPDATE likewise_events SET answer = 'different' WHERE number = %s", 2)
    with pytest.raises(LogError, match="event 2 of the log in PostgreSQL is missing or was chang"):
        open_log(server, PROJECT)
