"""The exported table of pairs: what decides a pair, and that fit and compare read it."""

import csv
import io
from concurrent.futures import wait

import pandas as pd
import pytest
from click.testing import CliRunner
from judging import toy_items

from likewise.cli import main
from likewise.constraints import random_pairs
from likewise.live import Engine, Items, read_items
from likewise.live.exports import export_files, judgements_csv, pairs_csv

ANSWERS = {
    ("a", "b"): {"ann": "same", "bob": "same", "eve": "different"},
    ("c", "b"): {"ann": "different", "bob": "unsure"},
    ("a", "c"): {"ann": "same", "bob": "different"},
    ("a", "d"): {"ann": "unsure"},
}


def test_a_majority_decides_a_pair(tmp_path):
    items = Items([[0.0], [1.0], [3.0], [9.0]], list("abcd"))
    annotators = ["ann", "bob", "eve"]
    log = str(tmp_path / "log.sqlite")
    with Engine(items, log, annotators=annotators, audit_share=0.0) as engine:
        for pair, answers in ANSWERS.items():
            for annotator, answer in answers.items():
                sides = pair if annotator == "ann" else pair[::-1]
                engine.judge(*sides, answer, annotator).result()
        undone = engine.judge("b", "d", "same", "ann").result().event
        engine.undo(undone.id, "ann").result()
        pairs, judgements = pairs_csv(engine, "ann"), judgements_csv(engine, "ann")
    assert list(csv.reader(io.StringIO(pairs.decode()))) == [
        ["left", "right", "same", "n_same", "n_different", "n_unsure", "audit"],
        ["a", "b", "1", "2", "1", "0", "0"],
        ["c", "b", "0", "0", "1", "1", "0"],
    ]
    assert len(judgements.splitlines()) == 1 + sum(map(len, ANSWERS.values()))


@pytest.mark.parametrize("form", ["w{}", "{:03d}", "{:03d} of mixed", "none"])
def test_the_commands_that_take_pairs_read_the_exported_ones(tmp_path, monkeypatch, form):
    monkeypatch.chdir(tmp_path)
    toy, y = toy_items(40, n_features=3)
    frame = pd.DataFrame(toy.vectors, columns=["x", "y", "z"])
    ids = [form.removesuffix(" of mixed").format(row) for row in range(40)]
    if "mixed" in form:  # the ids of the judged pairs are all digits, but not those of the table
        ids[-1] = "NA-1"
    if form != "none":
        frame.insert(0, "id", ids)
    frame.to_csv("items.csv", index=False)
    with Engine(read_items("items.csv"), "log.sqlite", audit_share=0.0) as engine:
        futures = []
        for pair, same in zip(*random_pairs(y[:-1], 300, random_state=0), strict=True):
            left, right = map(engine.items.id_of, pair)
            futures.append(engine.judge(left, right, "same" if same else "different", "you"))
        wait(futures)
        export_files(engine, "you", tmp_path / "export")
    named = [] if form == "none" else ["--id", "id"]
    rest = ["items.csv", "--pairs", "export/pairs.csv", *named]
    for command in (
        ["fit", *rest, "--method", "MMC", "--output", "m.safetensors"],
        ["compare", *rest, "--methods", "MMC"],
    ):
        result = CliRunner().invoke(main, command)
        assert result.exit_code == 0, result.output
