"""Labelling in a terminal, and how differences are marked."""

import re
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


def test_a_restart_counts_on_and_can_undo_what_was_answered_before(tmp_path):
    log = str(tmp_path / "log.sqlite")
    lines = []
    with Engine(toy_items()[0], log, annotators=["ann"]) as engine:
        label_in_terminal(engine, "ann", keys("zsdq"), lines.append, tmp_path)
        answered = [(event.left, event.right) for event in engine.ledger.events]
    assert "There is no answer to undo." in lines
    lines.clear()
    with Engine(toy_items()[0], log, annotators=["ann"]) as engine:
        count = label_in_terminal(engine, "ann", keys("uzzuq"), lines.append, tmp_path)
        kinds = [event.kind for event in engine.ledger.events]
        again = engine.ledger.events[-1]
    assert kinds == ["judgement"] * 3 + ["undo"] * 2 + ["judgement"]
    assert (again.left, again.right) == answered[1], "the pair whose answer was undone"
    assert count == 1, "of this time"
    said = [line for line in lines if "judged." in line or "undone" in line]
    assert [re.match(r".*?(judged|again)\.", line)[0] for line in said] == [
        "unsure; 3 judged.",
        "The last answer was undone: judge the pair again.",
        "The last answer, which was given at an earlier time, was undone: judge the pair again.",
        "unsure; 2 judged.",
    ]


def test_it_ends_when_no_pair_is_left_and_shows_no_control_characters(tmp_path):
    texts = {"text": ["tea \x1b[31m", "coffee"]}
    items = Items([[0.0], [1.0]], ["a", "b"], "text", texts)
    lines = []
    with Engine(items, str(tmp_path / "log.sqlite"), annotators=["ann"]) as engine:
        assert label_in_terminal(engine, "ann", keys("d"), lines.append, tmp_path) == 1
    assert "\x1b" not in "".join(lines)
    assert lines[-1] == "All pairs were judged."


def lines_of(items, tmp_path):
    """Return what is shown of the only pair of two items."""
    lines = []
    with Engine(items, str(tmp_path / "log.sqlite")) as engine:
        label_in_terminal(engine, "you", keys("q"), lines.append, tmp_path)
    return lines


def test_joined_emoji_are_whole_and_the_direction_of_writing_cannot_be_reversed(tmp_path):
    family, persian = "\U0001f468\u200d\U0001f467", "می\u200cخواهم"
    texts = {"text": [f"{family} {persian}", "tea \u202eeet\u2066 \u200b"]}
    lines = lines_of(Items([[0.0], [1.0]], ["a", "b"], "text", texts), tmp_path)
    assert any(family in line and persian in line for line in lines)
    assert any("\\u202e" in line and "\\u2066" in line and "\\u200b" in line for line in lines)
    assert not any(c in line for line in lines for c in "\u202e\u2066\u200b")


def test_of_long_texts_it_is_said_that_they_are_cut_and_differ_further_on(tmp_path):
    texts = {"text": ["a" * 2100 + " tea", "a" * 2100 + " coffee"]}
    lines = lines_of(Items([[0.0], [1.0]], None, "text", texts), tmp_path)
    said = [line for line in lines if line.startswith("(")]
    assert sorted(said) == [
        "(The first 2000 of 2104 characters are shown; they differ further on.)",
        "(The first 2000 of 2107 characters are shown; they differ further on.)",
    ]
    texts = {"text": ["a " * 1100, "b " + "a " * 1099]}
    (tmp_path / "other").mkdir()
    lines = lines_of(Items([[0.0], [1.0]], None, "text", texts), tmp_path / "other")
    assert lines.count("(The first 2000 of 2200 characters are shown.)") == 2
    texts = {"text": ["a" * 25_000, "a" * 25_000 + "b"]}
    (tmp_path / "third").mkdir()
    lines = lines_of(Items([[0.0], [1.0]], None, "text", texts), tmp_path / "third")
    assert (
        sum(line.endswith("characters are shown; they differ further on.)") for line in lines) == 2
    )
    assert sum("characters are shown" in line for line in lines) == 2


def test_cells_that_are_cut_say_so(tmp_path):
    cells = {"a name of more than 24 characters": ["x" * 50 + "1", "x" * 50 + "2"], "b": [1, 2]}
    lines = lines_of(Items([[0.0], [1.0]], None, "row", cells), tmp_path)
    assert lines[1] == (
        f"≠ a name of more than 24 … {'x' * 39}… {'x' * 39}… (they differ further on)"
    )
    assert "further" not in lines[2]


def test_notes_of_items_are_shown(tmp_path, monkeypatch):
    items = Items([[0.0], [1.0]], None, "text", {"text": ["tea", "coffee"]})

    def with_notes(*arguments):
        pair = shown_pair(*arguments)
        pair["right"]["notes"] = ["It is longer."]
        return pair

    monkeypatch.setattr("likewise.live.terminal.shown_pair", with_notes)
    assert "(It is longer.)" in lines_of(items, tmp_path)


def stop_of(engine):
    engine.writer.settle()
    engine.evaluator.update(engine.view, now=True)
    return engine.progress()["stop"]


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ("sdd", "There is nothing left to judge."),
        (
            "uuu",
            "There is nothing left to judge. No pair to learn from was answered “same” or "
            "“different”: both kinds are needed.",
        ),
        (
            "dd",
            "Go on: 1 pair is left to judge. No pair to learn from was answered “same”: both kinds "
            "are needed.",
        ),
        ("", "Go on: 3 pairs are left to judge."),
    ],
)
def test_whether_one_can_stop_fits_what_is_left(tmp_path, answers, said):
    items = Items([[0.0], [1.0], [3.0]])
    with Engine(items, str(tmp_path / "log.sqlite"), audit_share=0) as engine:
        label_in_terminal(engine, "you", keys(answers + "q"), lambda line: None, tmp_path)
        stop = stop_of(engine)
    assert stop["message"] == said
    assert stop["can_stop"] is (len(answers) == 3)


def test_one_cannot_stop_before_both_kinds_were_judged(tmp_path):
    items, _ = toy_items()
    with Engine(items, str(tmp_path / "log.sqlite"), choice="random", seed=0) as engine:
        for _ in range(300):
            offer = engine.next("you")
            engine.judge(offer.left, offer.right, "different", "you").result()
        stop = stop_of(engine)
        assert stop["changed"] is not None
        assert not stop["can_stop"]
        assert stop["message"] == (
            "Go on. No pair to learn from was answered “same”: both kinds are needed."
        )
        offer = engine.next("you")
        while offer.source == "audit":
            engine.judge(offer.left, offer.right, "different", "you").result()
            offer = engine.next("you")
        engine.judge(offer.left, offer.right, "same", "you").result()
        assert "judgements changed" in stop_of(engine)["message"]


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
