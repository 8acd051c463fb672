"""A log in a file that was truncated or changed: recovered up to the last whole event, and said."""

import numpy as np
import pytest
from judging import PROJECT, judgement, random_events

from likewise.live import LogError, open_log


@pytest.fixture
def written(tmp_path):
    """A closed log of 600 events: its path, its bytes and the events."""
    path = tmp_path / "log.sqlite"
    events = random_events(600, n_items=60)
    log = open_log(str(path), PROJECT)
    for start in range(0, 600, 50):
        log.append(events[start : start + 50])
    log.save_snapshot(1, "key", b"model")
    log.close()
    return path, path.read_bytes(), events


@pytest.mark.parametrize("share", [0.999, 0.9, 0.75, 0.5, 0.3])
def test_a_truncated_log_is_recovered_up_to_the_last_whole_event(written, share):
    path, content, events = written
    path.write_bytes(content[: int(share * len(content))])
    log = open_log(str(path), PROJECT)
    found = log.read()
    assert found == events[: len(found)]
    assert len(found) >= 0.4 * share * len(events) or share < 0.5
    (notice,) = log.notices
    assert f"was damaged: {len(found)} event" in notice
    assert "the damaged file is kept as" in notice
    kept = path.with_name("log.sqlite.damaged-1")
    assert kept.read_bytes()[:100] == content[:100]
    log.append([judgement(len(found) + 1, id="00000000-0000-0000-0000-00000000ffff")])
    log.close()
    again = open_log(str(path), PROJECT)
    assert len(again.read()) == len(found) + 1
    assert again.notices == []
    again.close()


def test_a_changed_byte_is_noticed(written):
    path, content, events = written
    at = content.index(events[300].id.encode())
    path.write_bytes(content[:at] + b"x" + content[at + 1 :])
    log = open_log(str(path), PROJECT)
    assert log.read() == events[:300]
    assert "was damaged: 300 events" in log.notices[0]
    log.close()


def test_random_damage_never_yields_a_wrong_event(written):
    path, content, events = written
    rng = np.random.default_rng(0)
    for _ in range(25):
        damaged = bytearray(content)
        start = int(rng.integers(100, len(content) - 10))
        damaged[start : start + int(rng.integers(1, 4096))] = rng.bytes(8)
        for left_over in path.parent.iterdir():
            left_over.unlink()
        path.write_bytes(bytes(damaged))
        try:
            log = open_log(str(path), PROJECT)
        except (ValueError, LogError):
            continue  # refused, in a sentence
        found = log.read()
        assert found == events[: len(found)]
        assert log.notices or len(found) == len(events)
        log.close()


@pytest.mark.parametrize("size", [50, 3000])
def test_a_file_without_its_first_pages_is_refused(written, size):
    path, content, _ = written
    path.write_bytes(content[:size])
    with pytest.raises(ValueError, match=r"damaged from its first pages on|not an SQLite file"):
        open_log(str(path), PROJECT)


def test_what_is_no_log_is_refused(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("Some words, long enough to look like the header of a file. " * 20)
    with pytest.raises(ValueError, match="is not an SQLite file"):
        open_log(str(path), PROJECT)
    with pytest.raises(IsADirectoryError, match="is a folder, but a log is a file"):
        open_log(str(tmp_path), PROJECT)
    with pytest.raises(FileNotFoundError, match="There is no folder for the log"):
        open_log(str(tmp_path / "none" / "log.sqlite"), PROJECT)


def test_an_empty_file_becomes_a_log_and_that_is_said(tmp_path):
    path = tmp_path / "log.sqlite"
    path.touch()
    log = open_log(str(path), PROJECT)
    assert log.read() == []
    assert "was an empty file: a new log is begun in it" in log.notices[0]
    log.append([judgement(1)])
    log.close()
    again = open_log(str(path), PROJECT)
    assert again.notices == []
    again.close()
