"""Files of JSON lines that survive being killed."""

import json

import pytest

from likewise._runtime.journal import Journal

HEADER = {"experiment": "toy", "versions": {"numpy": "2"}}


def write(path, *records):
    with Journal(path, HEADER) as journal:
        for record in records:
            journal.append(record)


def read(path, header=HEADER):
    with Journal(path, header) as journal:
        return journal.records


def test_records_come_back(tmp_path):
    path = tmp_path / "j.jsonl"
    write(path, {"a": 1.5}, {"b": "ü"})
    write(path, {"c": None})
    assert read(path) == [{"a": 1.5}, {"b": "ü"}, {"c": None}]
    assert json.loads(path.read_text().splitlines()[0]) == HEADER


@pytest.mark.parametrize("cut", range(1, 12))
def test_an_incomplete_last_line_is_dropped(tmp_path, cut):
    path = tmp_path / "j.jsonl"
    write(path, {"a": 1}, {"b": 2222})
    path.write_bytes(path.read_bytes()[:-cut])
    assert read(path) == [{"a": 1}]
    write(path, {"c": 3})
    assert read(path) == [{"a": 1}, {"c": 3}]


def test_an_incomplete_header_is_written_again(tmp_path):
    path = tmp_path / "j.jsonl"
    path.write_bytes(b'{"experi')
    assert read(path) == []
    assert json.loads(path.read_text()) == HEADER


def test_a_damaged_line_is_named(tmp_path):
    path = tmp_path / "j.jsonl"
    write(path, {"a": 1})
    path.write_bytes(path.read_bytes() + b"{oops\n")
    with pytest.raises(ValueError, match="is not a file of JSON lines"):
        read(path)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ({"experiment": "no", "versions": {"numpy": "2"}}, "experiment was 'toy' and is 'no'"),
        ({"experiment": "toy", "versions": {"numpy": "3"}}, "numpy was '2' and is '3'"),
        ({"experiment": "toy"}, "it has further entries"),
    ],
)
def test_another_header_is_refused(tmp_path, header, message):
    path = tmp_path / "j.jsonl"
    write(path, {"a": 1})
    before = path.read_bytes()
    with pytest.raises(ValueError, match=message):
        read(path, header)
    assert path.read_bytes() == before


def test_numbers_that_json_does_not_have_are_refused(tmp_path):
    with pytest.raises(ValueError, match="JSON"):
        write(tmp_path / "j.jsonl", {"a": float("nan")})
