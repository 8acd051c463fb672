"""``likewise compare`` on pairs: a table of items and one of pairs, or a data set of pairs."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from cli_runner import invoke

from likewise.constraints import random_pairs
from likewise.datasets import load
from likewise.evaluation import compare_pairs

WINE = load("wine")
PAIRS, SAME = random_pairs(WINE.y, 800, random_state=0)
METHODS = ["--methods", "Euclidean,RCA", "--repeats", 1]


@pytest.fixture
def tables(tmp_path):
    """Items with ids, and pairs by row number and by id."""
    items = pd.DataFrame(WINE.X, columns=[f"c{i}" for i in range(13)])
    items.to_csv(tmp_path / "plain.csv", index=False)
    items.assign(sku=[f"w{i}" for i in range(178)]).to_csv(tmp_path / "items.csv", index=False)
    pairs = pd.DataFrame({"left": PAIRS[:, 0], "right": PAIRS[:, 1], "same": SAME})
    pairs.to_csv(tmp_path / "rows.csv", index=False)
    named = pairs.assign(left="w" + pairs.left.astype(str), right="w" + pairs.right.astype(str))
    named.to_csv(tmp_path / "ids.csv", index=False)
    return tmp_path


def numbers(path):
    stored = json.loads(path.read_text())
    return [(row["name"], row["auc"], row["eer"]) for row in stored["rows"]]


def test_pairs_by_row_number_and_by_id_give_what_python_gives(tables):
    out = tables / "out.json"
    expected = compare_pairs(WINE.X, PAIRS, SAME, ["Euclidean", "RCA"], n_repeats=1)
    told = [(row.name, row.auc, row.eer) for row in expected.rows]
    by_row = ["compare", tables / "plain.csv", "--pairs", tables / "rows.csv"]
    by_id = ["compare", tables / "items.csv", "--pairs", tables / "ids.csv", "--id", "sku"]
    for arguments in (by_row, by_id):
        result = invoke(*arguments, *METHODS, "--json", out)
        assert result.exit_code == 0, result.stderr
        found = numbers(out)
        assert [name for name, *_ in found] == ["Euclidean", "cosine", "RCA"]
        np.testing.assert_allclose([row[1:] for row in found], [row[1:] for row in told])
        assert expected.verdict.split(":")[0] in " ".join(result.stdout.split())
        assert "AUC" in result.stdout


def test_a_data_set_of_pairs_needs_no_other_file(tmp_path, monkeypatch):
    monkeypatch.setenv("LIKEWISE_DATA", str(tmp_path))
    np.savez(tmp_path / "judged.npz", X=WINE.X, pairs=PAIRS, same=SAME)
    result = invoke("compare", "judged", *METHODS)
    assert result.exit_code == 0, result.stderr
    assert "800" not in result.stderr
    assert "different pairs" in " ".join(result.stdout.split())


def test_groups_are_subjects(tables):
    items = pd.read_csv(tables / "plain.csv").assign(person=np.arange(178) // 2)
    items.to_csv(tables / "grouped.csv", index=False)
    result = invoke(
        "compare",
        tables / "grouped.csv",
        "--pairs",
        tables / "rows.csv",
        "--groups",
        "person",
        *METHODS,
    )
    assert result.exit_code == 0, result.stderr
    assert "of 89 subjects" in " ".join(result.stdout.split())


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["plain.csv", "--pairs", "rows.csv", "--label", "c1"], "--label and --pairs exclude each"),
        (
            ["items.csv", "--pairs", "rows.csv", "--id", "sky"],
            "no column 'sky': did you mean",
        ),
        (["items.csv", "--pairs", "rows.csv", "--id", "sku"], "ids that no item of the table has"),
        (["plain.csv", "--pairs", "ids.csv"], "must hold row numbers, found 'w"),
        (["items.csv", "--pairs", "rows.csv"], "column 'sku' .* must hold numbers.* --id for"),
        (["items.csv", "--pairs", "ids.csv"], "if items have ids, say .--id. in which column"),
        (["items.csv", "--pairs", "none.csv"], r"none\.csv"),
        (["plain.csv", "--pairs", "none.csv"], r"none\.csv"),
        (
            ["wine", "--pairs", "rows.csv", "--id", "sku"],
            "--id is for files, but 'wine' is",
        ),
    ],
)
def test_bad_input(tables, monkeypatch, arguments, sentence):
    monkeypatch.chdir(tables)
    result = invoke("compare", *arguments, *METHODS)
    assert result.exit_code == 2
    assert len(result.stderr.strip().splitlines()) == 1
    assert re.search(sentence, result.stderr), result.stderr
