"""Labelling in a terminal, and how differences are marked."""

import numpy as np
import pytest
from judging import toy_items

from likewise.live import Engine, Items
from likewise.live.differences import mark_differences, shown_pair
from likewise.live.terminal import label_in_terminal


def keys(text):
    pressed = iter(text)
    return lambda: next(pressed)


def test_keys_judge_undo_and_quit(tmp_path):
    lines = []
    with Engine(toy_items()[0], str(tmp_path / "log.sqlite"), annotators=["ann"]) as engine:
        count = label_in_terminal(engine, "ann", keys("sxDu" + "zz" + "sq"), lines.append)
        assert count == 2
        kinds = [(event.kind, event.answer) for event in engine.ledger.events]
    assert kinds == [
        ("judgement", "same"),
        ("judgement", "different"),
        ("judgement", "unsure"),
        ("undo", ""),
        ("undo", ""),
        ("judgement", "same"),
    ]
    assert "s same · d different · u unsure · z undo · q quit" in lines


def test_it_ends_when_no_pair_is_left_and_shows_no_control_characters(tmp_path):
    texts = {"text": ["tea \x1b[31m", "coffee"]}
    items = Items([[0.0], [1.0]], ["a", "b"], "text", texts)
    lines = []
    with Engine(items, str(tmp_path / "log.sqlite"), annotators=["ann"]) as engine:
        assert label_in_terminal(engine, "ann", keys("d"), lines.append) == 1
    assert "\x1b" not in "".join(lines)


@pytest.mark.parametrize("seed", range(5))
def test_marked_parts_make_up_the_texts(seed):
    rng = np.random.default_rng(seed)
    words = ["tea", "coffee", ",", " ", "\n", "ü", "9"]
    left, right = ("".join(rng.choice(words, 40)) for _ in range(2))
    parts = mark_differences(left, right)
    assert ["".join(part["text"] for part in side) for side in parts] == [left, right]
    common = ["".join(p["text"] for p in side if not p["differs"]) for side in parts]
    assert common[0] == common[1]


def test_long_texts_are_compared_in_their_first_words():
    left, right = "a " * 5000, "a " * 5000 + "b"
    parts = mark_differences(left, right)
    assert "".join(part["text"] for part in parts[1]) == right
    assert not any(part["differs"] for side in parts for part in side)


def test_cells_that_differ_are_marked():
    items = Items([[0.0], [1.0]], None, "row", {"name": ["x", "x"], "size": [1, 2]})
    pair = shown_pair(items, "1", "0")
    assert [cell["differs"] for cell in pair["left"]["cells"]] == [False, True]
    assert [cell["text"] for cell in pair["right"]["cells"]] == ["x", "1"]
