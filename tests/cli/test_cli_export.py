"""``likewise export``: thin over likewise.export."""

import json

import numpy as np
import pytest
from cli_runner import invoke

import likewise as lw
from likewise.datasets import load
from likewise.export import TARGETS, pgvector_sql, read_numpy
from likewise.tables import TableModel


@pytest.fixture(name="model")
def saved_model(tmp_path):
    iris = load("iris")
    lw.FDA().fit(iris.X, iris.y).save(tmp_path / "model.safetensors")
    return tmp_path / "model.safetensors"


@pytest.mark.parametrize("target", TARGETS)
def test_every_target(target, model):
    if target in ("onnx", "faiss"):
        pytest.importorskip(target, reason=f"{target} is part of likewise[export]")
    options = ["--table", "items"] if target == "pgvector" else []
    result = invoke("export", model, "--to", target, *options)
    assert result.exit_code == 0, result.output
    (written,) = set(model.parent.iterdir()) - {model}
    assert written.stem == "model"
    shown = " ".join(result.stdout.split())
    assert f"{TARGETS[target].output}. It returns {TARGETS[target].distance}." in shown
    for plan in ("re-index yes", "query-only yes", "shortlist no"):
        assert plan in shown


def test_inputs_are_named_and_the_threshold_is_not_exported(tmp_path):
    iris = load("iris")
    colours = np.array(["red", "blue", "green"], dtype=object)[iris.y]
    table = {"size": iris.X[:, 0], "width": iris.X[:, 1], "colour": colours}
    path = tmp_path / "judge.safetensors"
    judge = TableModel(lw.PairClassifier(lw.RCA()), encode=True).fit(table, iris.y)
    judge.save(path)
    result = invoke("export", path, "--to", "numpy", "--json", tmp_path / "said.json")
    assert result.exit_code == 0, result.output
    named = "size, width, colour=blue, colour=green, colour=red"
    assert f"It takes 5 numbers, in this order: {named}. A number column=word is" in result.stdout
    assert "The threshold is not part of it: pairs up to a distance of" in result.stdout
    said = json.loads((tmp_path / "said.json").read_text())
    assert said["inputs"] == named.split(", ")
    assert said["threshold"] == judge.model_.threshold_


def test_output_and_costs(model, tmp_path):
    result = invoke(
        "export", model, "--to", "numpy", "--output", tmp_path / "m.npz", "--vectors", 7
    )
    assert "Plans for 7 vectors:" in result.stdout
    iris = load("iris").X
    np.testing.assert_allclose(
        read_numpy(tmp_path / "m.npz").transform(iris), lw.load(model).transform(iris)
    )


def test_sql_is_that_of_the_function(model):
    options = ["--table", "shop.items", "--column", "v", "--id-column", "sku", "--plan", "re-index"]
    assert invoke("export", model, "--to", "pgvector", *options).exit_code == 0
    expected = pgvector_sql(
        lw.load(model), table="shop.items", column="v", id_column="sku", plan="re-index"
    )
    assert model.with_suffix(".sql").read_text() == expected


def test_an_index_of_inner_products(model):
    options = ["--to", "pgvector", "--table", "items", "--indexable"]
    assert invoke("export", model, *options).exit_code == 0
    expected = pgvector_sql(lw.load(model), table="items", indexable=True)
    assert model.with_suffix(".sql").read_text() == expected
    assert expected != pgvector_sql(lw.load(model), table="items")


def test_without_a_target_only_the_plans_are_shown(model, tmp_path):
    result = invoke("export", model)
    assert "Plans for 100000 vectors:" in result.stdout
    assert list(tmp_path.iterdir()) == [model]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--to", "excel"], "excel"),
        (["--to", "pgvector"], "--table is needed for --to pgvector"),
        (["--to", "onnx", "--table", "items"], "--table is needed for --to pgvector, and for no"),
        (["--to", "onnx", "--database", "x"], "--database is for --to pgvector only"),
        (["--to", "onnx", "--indexable"], "--indexable is for --to pgvector only"),
        (["--to", "onnx", "--plan", "re-index"], "--plan is for --to pgvector only"),
        (["--to", "onnx", "--column", "v"], "--column is for --to pgvector only"),
        (["--to", "onnx", "--id-column", "v"], "--id-column is for --to pgvector only"),
        (["--plan", "query-only"], "--plan is for --to pgvector only"),
        (["--database", "x", "--table", "items"], "--database is for --to pgvector only"),
        (["--output", "x.npz"], "--output is the file or folder of --to, but no file is written"),
        (
            ["--to", "pgvector", "--table", "t", "--plan", "re-index", "--indexable"],
            "plan is 're-index', but indexable is True",
        ),
        (["--vectors", "0"], "n_vectors=0 is not allowed"),
        (
            ["--to", "numpy", "--output", "nowhere/x.npz"],
            "cannot write 'nowhere/x.npz': there is no folder there to write in",
        ),
        (
            ["--to", "pgvector", "--table", "t", "--database", "postgresql:///x?host=/nowhere"],
            "PostgreSQL said: ",
        ),
    ],
)
def test_bad_options(options, message, model):
    if "--database" in options and "pgvector" in options:
        pytest.importorskip("psycopg", reason="psycopg is part of likewise[export]")
    result = invoke("export", model, *options)
    assert result.exit_code == 2
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_folder_of_modules_must_be_new(model, tmp_path):
    (tmp_path / "there").mkdir()
    options = ["--to", "sentence-transformers", "--output", tmp_path / "there"]
    result = invoke("export", model, *options)
    assert result.exit_code == 2
    assert "there' exists, but a new folder is to be written." in result.stderr


def test_an_index_without_vectors_is_called_so(model):
    pytest.importorskip("faiss", reason="faiss is part of likewise[export]")
    result = invoke("export", model, "--to", "faiss")
    assert "It returns squared distances. It has no vectors yet." in result.stdout


def test_models_that_cannot_be_exported(tmp_path):
    iris = load("iris")
    lw.PLML(n_metrics=2).fit(iris.X, iris.y).save(tmp_path / "local.safetensors")
    shown = invoke("export", tmp_path / "local.safetensors").stdout
    assert "shortlist" in shown
    assert "re-index" not in shown
    result = invoke("export", tmp_path / "local.safetensors", "--to", "numpy")
    assert result.exit_code == 2
    assert "PLML has no single linear map to export" in result.stderr
    missing = invoke("export", tmp_path / "nowhere.safetensors", "--to", "numpy")
    assert missing.stderr.startswith("likewise: There is no file")
