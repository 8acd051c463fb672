"""Texts that were changed after a log was begun: a notice, and no refusal."""

import sqlite3

import numpy as np
import pytest
from postgres import running

from likewise.live import Engine, Items, open_log

NOTICE = "The texts or cells of the items are not those that this log was begun with: earlier"


@pytest.fixture(params=["sqlite", "postgresql"])
def location(request, tmp_path):
    if request.param == "sqlite":
        yield str(tmp_path / "log.sqlite")
        return
    with running() as url:
        yield url


def notices(location, items):
    with Engine(items, location, seed=0) as engine:
        return [notice for notice in engine.notices if notice.startswith(NOTICE)]


def texts(*words):
    return Items(np.eye(3), list("abc"), "text", {"text": words})


def rows(**columns):
    return Items(np.eye(3), list("abc"), columns=columns)


def test_changed_texts_are_noticed_at_every_start(location):
    before, after = texts("tea", "tee", "coffee"), texts("tea", "tea", "coffee")
    assert notices(location, before) == notices(location, before) == []
    assert len(notices(location, after)) == len(notices(location, after)) == 1
    assert notices(location, before) == []


@pytest.mark.parametrize(
    "other",
    [
        {"x": ["1", "2", "3"], "y": ["", "", "5"]},
        {"x": ["1", "2", "3"], "z": ["", "", "4"]},
        {"x": ["1", "2", "3"]},
    ],
    ids=str,
)
def test_changed_cells_are_noticed(tmp_path, other):
    location = str(tmp_path / "log.sqlite")
    first = {"x": ["1", "2", "3"], "y": ["", "", "4"]}
    assert notices(location, rows(**first)) == []
    assert len(notices(location, rows(**other))) == 1


def test_a_log_of_an_earlier_release_is_compared_from_now_on(tmp_path):
    location = str(tmp_path / "log.sqlite")
    assert notices(location, texts("tea", "tee", "coffee")) == []
    with sqlite3.connect(location) as connection:
        connection.execute("DELETE FROM meta WHERE key = 'shown'")
    connection.close()
    assert notices(location, texts("tea", "milk", "coffee")) == []
    assert len(notices(location, texts("tea", "tee", "coffee"))) == 1


def test_the_first_value_of_a_key_is_remembered(location):
    for value in ("one", "two"):
        log = open_log(location, "project")
        assert log.remember("key", value) == "one"
        log.close()
