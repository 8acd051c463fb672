"""likewise report and likewise compare --report, end to end."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli_runner import invoke

import likewise as lw

WINE = lw.datasets.load("wine")


@pytest.fixture
def table(tmp_path):
    frame = pd.DataFrame(WINE.X, columns=WINE.feature_names)
    frame["kind"] = np.array(["red", "white", "<b>rosé</b>"])[WINE.y]
    path = tmp_path / "wine.csv"
    frame.to_csv(path, index=False)
    return path


def test_report_of_a_table(table, tmp_path):
    out, numbers = tmp_path / "r.html", tmp_path / "r.json"
    command = (
        *(sys.executable, "-m", "likewise", "report", table, "--label", "kind"),
        *("--methods", "Euclidean,RCA", "--output", out, "--json", numbers),
    )
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(numbers.read_text(encoding="utf-8"))
    assert found["answer"]["sentence"] in done.stdout.replace("\n", " ")
    page = out.read_text(encoding="utf-8")
    assert "&lt;b&gt;rosé&lt;/b&gt;" in page
    assert "<b>rosé" not in page
    assert "flavanoids" in page


def test_what_was_done_to_the_table_is_said(table, tmp_path):
    frame = pd.read_csv(table)
    frame.loc[3:5, "ash"] = np.nan
    frame.loc[9, "hue"] = np.nan
    table.write_bytes(frame.to_csv(index=False).encode("cp1252"))
    out = tmp_path / "r.html"
    for command in (["report"], ["compare", "--report", out]):
        options = ("--label", "kind", "--impute", "--methods", "Euclidean,RCA")
        done = invoke(*command, table, *options, *(["--output", out] * (command == ["report"])))
        assert done.exit_code == 0, done.stderr
        assert "read as Windows-1252" in done.stderr
        page = out.read_text(encoding="utf-8")
        assert "is not UTF-8 text and is read as Windows-1252." in page
        assert "4 empty cells were filled with the median" in page
        assert "ash (3), hue (1)." in page
        assert "error on 36 held-out rows" in page
        out.unlink()


def test_dry_run_writes_nothing(table, tmp_path):
    out = tmp_path / "r.html"
    done = invoke("report", table, "--label", "kind", "--output", out, "--dry-run")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith("It would take ")
    one = invoke("report", table, "--label", "kind", "--methods", "RCA", "--dry-run", "--json", "-")
    rca = json.loads(one.stdout)["seconds"]
    all_methods = lw.report.estimate_report(WINE.X, WINE.y).seconds
    compared = lw.evaluation.estimate_compare(WINE.X, WINE.y).seconds
    assert rca < all_methods
    assert compared < all_methods
    assert not out.exists()


def test_text_of_rows_is_shown_and_is_no_feature(table, tmp_path):
    frame = pd.read_csv(table)
    frame["title"] = [f"bottle & {number}" for number in range(len(frame))]
    frame.to_csv(table, index=False)
    out = tmp_path / "r.html"
    options = ("--label", "kind", "--text", "title", "--methods", "Euclidean,RCA")
    done = invoke("report", table, *options, "--output", out, "--json", "-")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["title"] == "wine.csv"
    assert "bottle &amp; " in out.read_text(encoding="utf-8")
    assert "title" not in json.loads(done.stdout)["features"]["names"]


def repeated(python, folder):
    """Run the Python of a report in a folder, and return its variables."""
    before = os.getcwd()
    variables = {}
    os.chdir(folder)
    try:
        exec(python, variables)
    finally:
        os.chdir(before)
    return variables


def test_the_python_of_a_report_repeats_it(table, tmp_path, monkeypatch):
    frame = pd.read_csv(table).assign(box=np.arange(178) // 2, colour=["a", "b"] * 89, note="x")
    frame.loc[3, "ash"] = np.nan
    frame.to_csv(table, index=False)
    monkeypatch.chdir(tmp_path)
    done = invoke(
        *("report", "wine.csv", "--label", "kind", "--groups", "box", "--text", "note"),
        *("--drop", "alcohol", "--encode", "--impute", "--methods", "Euclidean,RCA"),
        *("--output", "r.html", "--json", "-"),
    )
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    again = repeated(found["run"]["python"], tmp_path)
    assert again["comparison"].verdict == found["answer"]["sentence"]
    assert again["X"].shape == (178, found["data"]["n_features"]) == (178, 14)


def test_the_python_of_a_report_of_pairs_repeats_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    index, same = lw.constraints.random_pairs(WINE.y, 600, distinct=True, random_state=0)
    names = np.array([f"w{number}" for number in range(178)])
    pd.DataFrame(WINE.X).assign(sku=names).to_csv("items.csv", index=False)
    left, right = names[index.T]
    pd.DataFrame({"left": left, "right": right, "same": same}).to_csv("p.csv", index=False)
    done = invoke(
        *("report", "items.csv", "--pairs", "p.csv", "--id", "sku", "--methods", "Euclidean,ITML"),
        *("--output", "r.html", "--json", "-"),
    )
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    again = repeated(found["run"]["python"], tmp_path)
    assert again["comparison"].verdict == found["answer"]["sentence"]


def test_the_page_says_that_the_metric_was_chosen_with_the_rows_it_shows(table, tmp_path):
    out = tmp_path / "r.html"
    options = ("--label", "kind", "--methods", "Euclidean,RCA", "--output", out)
    assert invoke("report", table, *options).exit_code == 0
    assert "chosen by cross-validation on all rows" in out.read_text(encoding="utf-8")


def test_compare_writes_the_report_of_its_own_result(tmp_path):
    out, numbers = tmp_path / "r.html", tmp_path / "c.json"
    done = invoke(
        *("compare", "digits", "--methods", "Euclidean,FDA", "--repeats", "1", "--seed", "3"),
        *("--report", out, "--json", numbers),
    )
    assert done.exit_code == 0, done.stderr
    comparison = json.loads(numbers.read_text(encoding="utf-8"))
    page = out.read_text(encoding="utf-8")
    assert comparison["verdict"] in page
    assert "data:image/png" in page, "digits are pictures"
    assert "random_state=3" in page


def test_report_of_pairs(tmp_path):
    index, same = lw.constraints.random_pairs(WINE.y, 600, distinct=True, random_state=0)
    pairs, data, out = tmp_path / "p.csv", tmp_path / "x.npy", tmp_path / "r.html"
    pd.DataFrame({"left": index[:, 0], "right": index[:, 1], "same": same}).to_csv(
        pairs, index=False
    )
    np.save(data, WINE.X)
    methods = ("--methods", "Euclidean,ITML")
    for command in (
        ("report", data, "--pairs", pairs, "--output", out),
        ("compare", data, "--pairs", pairs, "--report", out),
    ):
        done = invoke(*command, *methods)
        assert done.exit_code == 0, done.stderr
        assert "Which decisions change" in out.read_text(encoding="utf-8")
        out.unlink()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("report", "nothing.csv"), "nothing.csv"),
        (("report", "wine", "--output", "nowhere/r.html"), "cannot write"),
        (("report", "wine", "--image", "big"), "--image is 'big'"),
        (("report", "wine", "--image", "3x3"), "image_shape is (3, 3)"),
        (("report", "wine", "--methods", "Nothing"), "there is no method"),
        (("report", "wine", "--id", "a"), "--id is for files"),
        (("report", "wine", "--text", "title"), "--text names the column 'title'"),
        (("compare", "wine", "--report", "nowhere/r.html"), "cannot write"),
    ],
)
def test_bad_input_is_one_sentence_and_writes_nothing(arguments, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = invoke(*arguments)
    assert done.exit_code == 2
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", ["report", "compare"])
def test_rows_are_named_by_their_ids(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = [f"S{n:04},{rng.normal():.3f},{rng.normal():.3f},{'ab'[n % 2]}" for n in range(60)]
    Path("shop.csv").write_text("\n".join(["sku,x,z,brand", *rows]))
    asked = ["shop.csv", "--label", "brand", "--id", "sku", "--methods", "Euclidean,RCA"]
    out = ["--output" if command == "report" else "--report", "out.html"]
    result = invoke(command, *asked, *out)
    assert result.exit_code == 0, result.output
    assert re.search(r"S00\d\d", Path("out.html").read_text(encoding="utf-8"))
