"""Labelling in a terminal, and how differences are marked."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from judging import toy_items
from PIL import Image

import likewise as lw
from likewise.live import Engine, Items, read_items
from likewise.live.differences import mark_differences, shown_pair
from likewise.live.terminal import label_in_terminal


def keys(text):
    pressed = iter(text)
    return lambda: next(pressed)


def test_keys_judge_undo_and_quit(tmp_path):
    lines = []
    with Engine(toy_items()[0], str(tmp_path / "log.sqlite"), annotators=["ann"]) as engine:
        pressed = keys("sxDu" + "zz" + "sq")
        count = label_in_terminal(engine, "ann", pressed, lines.append, tmp_path / "export")
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
    assert "s same · d different · u unsure · z undo · e export · q quit" in lines


def test_it_ends_when_no_pair_is_left_and_shows_no_control_characters(tmp_path):
    texts = {"text": ["tea \x1b[31m", "coffee"]}
    items = Items([[0.0], [1.0]], ["a", "b"], "text", texts)
    lines = []
    with Engine(items, str(tmp_path / "log.sqlite"), annotators=["ann"]) as engine:
        assert label_in_terminal(engine, "ann", keys("d"), lines.append, tmp_path) == 1
    assert "\x1b" not in "".join(lines)


def test_notices_are_shown_and_everything_can_be_exported(tmp_path):
    folder, lines = tmp_path / "export", []
    items, _ = toy_items()
    items.notices.append("2 images could not be decoded and are left out.")
    with Engine(items, str(tmp_path / "log.sqlite"), annotators=["ann"]) as engine:
        label_in_terminal(engine, "ann", keys("sdeq"), lines.append, folder)
        assert lines[0] == "2 images could not be decoded and are left out."
        written = {path.name: path.read_bytes() for path in folder.iterdir()}
        judged = [event.id for event in engine.ledger.events]
    table = pd.read_csv(folder / "judgements.csv")
    assert table["id"].tolist() == judged
    assert pd.read_csv(folder / "pairs.csv")["same"].tolist() == [1, 0]
    assert lw.load(folder / "model.safetensors").n_features_in_ == 5
    assert b"<h1>Judgements</h1>" in written["report.html"]
    assert sum(line.startswith("Written: ") for line in lines) == len(written) == 4


def test_the_files_of_images_are_named(tmp_path):
    for number in range(3):
        Image.new("L", (9, 9), 50 * number).save(tmp_path / f"{number}.png")
    lines = []
    with Engine(read_items(tmp_path), str(tmp_path / "log.sqlite")) as engine:
        label_in_terminal(engine, "you", keys("q"), lines.append, tmp_path)
    assert sum(str(tmp_path) in line for line in lines) == 2


def test_without_a_terminal_that_is_said(tmp_path):
    np.save(tmp_path / "X.npy", toy_items()[0].vectors)
    command = [sys.executable, "-m", "likewise", "label", tmp_path / "X.npy", "--terminal"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 2
    assert "--terminal needs a terminal, but the input is not one." in done.stderr


@pytest.mark.parametrize("seed", range(5))
def test_marked_parts_make_up_the_texts(seed):
    rng = np.random.default_rng(seed)
    words = ["tea", "coffee", ",", " ", "\n", "ü", "9"]
    left, right = ("".join(rng.choice(words, 40)) for _ in range(2))
    parts = mark_differences(left, right)
    assert ["".join(part["text"] for part in side) for side in parts] == [left, right]
    common = ["".join(p["text"] for p in side if not p["differs"]) for side in parts]
    assert common[0] == common[1]


def test_cells_that_differ_are_marked():
    items = Items([[0.0], [1.0]], None, "row", {"name": ["x", "x"], "size": [1, 2]})
    pair = shown_pair(items, "1", "0")
    assert [cell["differs"] for cell in pair["left"]["cells"]] == [False, True]
    assert [cell["text"] for cell in pair["right"]["cells"]] == ["x", "1"]
