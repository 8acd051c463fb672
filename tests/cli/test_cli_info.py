"""``likewise info``: this installation, data, and models."""

import json

import numpy as np
import pytest
import sklearn
from cli_runner import invoke

from likewise import _loops
from likewise.batch import RCA
from likewise.datasets import load
from likewise.methods import METHODS
from likewise.pair_classifier import PairClassifier
from likewise.tables import TableModel


def run(*arguments):
    return invoke("info", *arguments)


def facts(result):
    assert result.exit_code == 0, result.output
    return " ".join(result.stdout.split())


def test_the_installation(monkeypatch, tmp_path):
    np.savez(tmp_path / "mine.npz", X=[[1.0]], y=[0])
    monkeypatch.setenv("LIKEWISE_DATA", str(tmp_path))
    shown = facts(run())
    assert f"scikit-learn {sklearn.__version__}" in shown
    assert f"NumPy {np.__version__}" in shown
    assert f"loops {_loops.BACKEND}" in shown
    assert "BLAS" in shown
    assert str(tmp_path)[:20] in shown
    assert "mine" in shown


def test_a_data_folder_that_is_not_there(monkeypatch, tmp_path):
    monkeypatch.setenv("LIKEWISE_DATA", str(tmp_path / "typo"))
    assert "(there is no such folder)" in facts(run())
    monkeypatch.delenv("LIKEWISE_DATA")
    assert "none (set LIKEWISE_DATA)" in facts(run())


def test_a_data_set():
    shown = facts(run("iris"))
    for words in ("rows 150", "features 4", "classes 3", "setosa: 50", "missing values 0"):
        assert words in shown


def test_a_data_set_of_pairs(monkeypatch, tmp_path):
    np.savez(tmp_path / "judged.npz", X=[[1.0], [2.0]], pairs=[[0, 1], [0, 0]], same=[False, True])
    monkeypatch.setenv("LIKEWISE_DATA", str(tmp_path))
    shown = facts(run("judged"))
    assert "pairs 2, of which 1 same" in shown
    assert "other arrays pairs, same" in shown
    assert "classes" not in shown


def test_a_data_file_with_gaps(tmp_path):
    path = tmp_path / "gaps.csv"
    path.write_text("a,b,kind\n1,,x\n2,3,y\n,4,y\n")
    shown = facts(run(path, "--label", "kind"))
    for words in ("rows 3", "features 2", "x: 1, y: 2", "missing values 2"):
        assert words in shown


def test_many_classes_are_not_all_listed(tmp_path):
    np.savez(tmp_path / "many.npz", X=np.zeros((100, 1)), y=np.arange(100))
    shown = facts(run(tmp_path / "many.npz"))
    assert "classes 100" in shown
    assert "19: 1, …" in shown
    assert "20: 1" not in shown


def test_a_model(tmp_path):
    iris = load("iris")
    RCA().fit(iris.X, iris.y).save(tmp_path / "model.safetensors")
    shown = facts(run(tmp_path / "model.safetensors"))
    assert "class RCA" in shown
    assert f"scikit-learn {sklearn.__version__}" in shown
    assert "components_ [4, 4]" in shown


def test_a_model_of_a_table(tmp_path):
    iris = load("iris")
    colours = np.array(["red", "blue", "green"], dtype=object)[iris.y]
    table = {"size": iris.X[:, 0], "width": iris.X[:, 1], "colour": colours}
    path = tmp_path / "model.safetensors"
    judge = TableModel(PairClassifier(RCA(), "fmr<=0.2"), encode=True).fit(table, iris.y)
    judge.save(path)
    shown = facts(run(path))
    assert "columns size, width, colour" in shown
    assert "words colour (blue, green, red)" in shown
    assert f"threshold {judge.model_.threshold_}" in shown
    assert "FMR at this threshold is at most 20%" in shown
    assert "fit with --groups and the column of the labels for new classes" in shown
    written = json.loads(run(path, "--json", "-").stdout)
    assert written["words"] == {"colour": ["blue", "green", "red"]}
    assert written["columns"] == ["size", "width", "colour"]


@pytest.mark.parametrize(
    ("name", "content"),
    [("model.safetensors", None), ("model.safetensors", b"rubbish"), ("data.csv", None)],
)
def test_a_missing_or_corrupt_file(tmp_path, name, content):
    if content:
        (tmp_path / name).write_bytes(content)
    result = run(tmp_path / name)
    assert result.exit_code == 2
    assert result.stderr.startswith("likewise: ")
    assert len(result.stderr.splitlines()) == 1


def test_methods_are_listed():
    shown = facts(run("--methods"))
    for method in METHODS.values():
        assert f"{method.name} {method.summary} from {method.supervision}" in shown
