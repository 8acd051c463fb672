"""``likewise adapt``: thin over likewise.EmbeddingAdapter and likewise.export."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli_runner import invoke
from sklearn.datasets import load_digits

import likewise as lw
from likewise.constraints import random_pairs
from likewise.export import read_numpy

DIGITS, LABELS = load_digits(return_X_y=True)
ROWS = (DIGITS / np.linalg.norm(DIGITS, axis=1)[:, None]).astype(np.float32)
N, N_LABELLED = 800, 400


@pytest.fixture(name="folder", autouse=True)
def folder_with_data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("rows.npy", ROWS[:N])
    np.save("labelled.npy", ROWS[:N_LABELLED])
    np.save("others.npy", ROWS[N_LABELLED:N])
    np.save("labels.npy", LABELS[:N_LABELLED])
    return tmp_path


def expected(**options):
    adapter = lw.EmbeddingAdapter(**options)
    return adapter.fit(ROWS[:N_LABELLED], LABELS[:N_LABELLED], unlabelled=ROWS[N_LABELLED:N])


def one_sentence(*arguments):
    before = set(os.listdir())
    result = invoke("adapt", *arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert set(os.listdir()) == before
    return line


def test_a_process_writes_the_model_the_export_and_the_sentence():
    arguments = ["labelled.npy", "--labels", "labels.npy", "--unlabelled", "others.npy"]
    arguments += ["--export", "numpy", "map.npz", "--json", "result.json"]
    done = subprocess.run(
        [sys.executable, "-m", "likewise", "adapt", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    adapter = expected()
    assert adapter.chosen_ != "identity"
    lines = done.stdout.splitlines()
    assert lines[:2] == [adapter.verdict_, "Wrote adapter.safetensors: the model."]
    assert lines[2].startswith("Wrote map.npz: a .npz file with W, mean and normalize.")
    assert lines[3] == f"Plans for {N} vectors:"
    loaded = lw.load("adapter.safetensors")
    np.testing.assert_array_equal(loaded.components_, adapter.components_)
    new = ROWS[N : N + 50]
    np.testing.assert_allclose(read_numpy("map.npz").transform(new), adapter.transform(new))
    result = json.loads(Path("result.json").read_text())
    assert result["verdict"] == adapter.verdict_
    assert result["labelled rows"] == N_LABELLED
    assert [plan["name"] for plan in result["plans"]] == ["re-index", "query-only", "shortlist"]


def write_lines(path, header):
    labels = [str(label) for label in LABELS[:N_LABELLED]] + [""] * (N - N_LABELLED)
    with open(path, "w") as file:
        file.write("\n".join([*header, *labels]) + "\n")


@pytest.mark.parametrize("kind", ["txt", "csv", "wide csv", "npy", "npz", "parquet", "column"])
def test_empty_labels_are_unlabelled_rows(kind):
    arguments = ["rows.npy", "--labels", f"labels.{kind.split()[-1]}"]
    known = np.arange(N) < N_LABELLED
    words = np.where(known, LABELS[:N].astype(str), "")
    if kind == "txt":
        write_lines("labels.txt", [])
    elif kind == "csv":
        write_lines("labels.csv", ["topic"])
    elif kind == "wide csv":
        frame = pd.DataFrame({"id": np.arange(N), "topic": words})
        frame.to_csv("labels.csv", index=False)
        arguments += ["--label", "topic"]
    elif kind == "npy":
        np.save("labels.npy", np.where(known, LABELS[:N], np.nan))
    elif kind == "npz":
        np.savez("labels.npz", y=words)
    elif kind == "parquet":
        frame = pd.DataFrame({"class": pd.array(LABELS[:N]).astype("Int64")})
        frame.loc[~known, "class"] = pd.NA
        frame.to_parquet("labels.parquet")
    else:
        frame = pd.DataFrame(ROWS[:N], columns=[f"f{i}" for i in range(64)])
        frame.assign(topic=words).to_parquet("rows.parquet")
        arguments = ["rows.parquet", "--label", "topic"]
    result = invoke("adapt", *arguments)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[0] == expected().verdict_
    np.testing.assert_array_equal(
        lw.load("adapter.safetensors").components_, expected().components_
    )


def test_minus_one_is_a_label():
    labels = np.where(LABELS[:N] == 3, -1, LABELS[:N])
    np.save("labels.npy", labels)
    result = invoke("adapt", "rows.npy", "--labels", "labels.npy", "--json", "-")
    assert json.loads(result.stdout)["labelled rows"] == N


def test_pairs_by_id():
    pairs, same = random_pairs(LABELS[:N], 400, distinct=True, random_state=0)
    names = np.array([f"item {i}" for i in range(N)])
    frame = pd.DataFrame(ROWS[:N], columns=[f"f{i}" for i in range(64)])
    frame.assign(who=names).to_parquet("rows.parquet")
    judged = pd.DataFrame({"left": names[pairs[:, 0]], "right": names[pairs[:, 1]], "same": same})
    judged.to_csv("pairs.csv", index=False)
    arguments = ["rows.parquet", "--id", "who", "--pairs", "pairs.csv", "--output", "m.safetensors"]
    result = invoke("adapt", *arguments)
    assert result.exit_code == 0, result.output
    adapter = lw.EmbeddingAdapter().fit_pairs(ROWS[:N], pairs, same)
    assert result.stdout.splitlines() == [adapter.verdict_, "Wrote m.safetensors: the model."]
    pd.concat([judged, judged.assign(left="ghost")[:1]]).to_csv("pairs.csv", index=False)
    os.remove("m.safetensors")
    assert "1 id that no item of the table has: ghost" in one_sentence(*arguments)


@pytest.mark.parametrize("dtype", ["float16", "int8", "float64"])
def test_number_types(dtype):
    scaled = ROWS[:N_LABELLED] * (100 if dtype == "int8" else 1)
    np.save("rows.npy", scaled.astype(dtype))
    arguments = ["rows.npy", "--labels", "labels.npy", "--normalize"]
    assert invoke("adapt", *arguments).exit_code == 0
    kept = lw.load("adapter.safetensors").components_.dtype
    assert kept == (np.float64 if dtype == "float64" else np.float32)


def test_settings_reach_the_adapter():
    arguments = ["labelled.npy", "--labels", "labels.npy", "--seed", "3"]
    for options, side, normalize in (
        (["--side", "query"], "query", True),
        (["--no-normalize"], "both", False),
    ):
        assert invoke("adapt", *arguments, *options).exit_code == 0
        found = lw.load("adapter.safetensors")
        assert (found.side, found.normalize_, found.random_state) == (side, normalize, 3)


def test_a_data_set_by_name():
    result = invoke("adapt", "iris", "--json", "-")
    assert json.loads(result.stdout)["labelled rows"] == 150


def test_zero_vectors_are_named():
    rows = ROWS[:N_LABELLED].copy()
    rows[[3, 5]] = 0
    np.save("rows.npy", rows)
    result = invoke("adapt", "rows.npy", "--labels", "labels.npy")
    assert result.exit_code == 0
    assert "2 rows of 'rows.npy' are zero vectors, without direction" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["labelled.npy"], "has no column of labels: name a file with labels (--labels)"),
        (["rows.npy", "--labels", "labels.npy"], "has 400 labels, but there are 800 rows."),
        (["labelled.npy", "--labels", "none.csv"], "There is no file 'none.csv'"),
        (["labelled.npy", "--labels", "empty.txt"], "'empty.txt' is empty"),
        (["labelled.npy", "--labels", "blank.npy"], "all labels are empty"),
        (["labelled.npy", "--labels", "square.npy"], "shape (400, 2), but one label for each row"),
        (["labelled.npy", "--labels", "short.csv"], "its first line must hold the name"),
        (["labelled.npy", "--labels", "two.csv"], "say (--label) which of its columns"),
        (["labelled.npy", "--labels", "ragged.csv"], "row 1 of 'ragged.csv' has 1 cell, but"),
        (["labelled.npy", "--labels", "labels.npy", "--pairs", "p.csv"], "exclude --pairs"),
        (["labelled.npy", "--pairs", "p.csv"], "names row 999, but the table has rows 0 to 399"),
        (["nan.npy", "--labels", "labels.npy"], "Input 'nan.npy' contains NaN in 1 row"),
        (
            ["labelled.npy", "--labels", "labels.npy", "--unlabelled", "narrow.npy"],
            "'narrow.npy' has vectors of 10 numbers, but those of 'labelled.npy' have 64.",
        ),
        (
            ["labelled.npy", "--labels", "labels.npy", "--unlabelled", "nan.npy"],
            "Input 'nan.npy' contains NaN",
        ),
        (
            ["labelled.npy", "--labels", "labels.npy", "--side", "query", "--no-normalize"],
            "side='query' needs rows of one length",
        ),
        (
            ["labelled.npy", "--labels", "labels.npy", "--export", "pgvector", "x.sql"],
            "--table is needed for --export pgvector",
        ),
        (
            ["labelled.npy", "--labels", "labels.npy", "--export", "numpy", "nowhere/x.npz"],
            "cannot write 'nowhere/x.npz': there is no folder there to write in",
        ),
        (
            ["labelled.npy", "--labels", "labels.npy", "--export", "sentence-transformers", "."],
            "exists, but a new folder is to be written",
        ),
        (
            ["labelled.npy", "--labels", "labels.npy", "--export", "numpy", "."],
            "cannot write '.': it is a folder",
        ),
        (["labelled.npy", "--labels", "labels.npy", "--output", "nowhere/x"], "there is no folder"),
    ],
)
def test_bad_input(arguments, message):
    rows = ROWS[:N_LABELLED].copy()
    np.save("narrow.npy", rows[:, :10])
    rows[7, 2] = np.nan
    np.save("nan.npy", rows)
    np.save("blank.npy", np.full(N_LABELLED, np.nan))
    np.save("square.npy", np.zeros((N_LABELLED, 2)))
    for name, text in {
        "empty.txt": "\n \n",
        "short.csv": "a\n" * N_LABELLED,
        "two.csv": "a,b\n" + "x,y\n" * N_LABELLED,
        "ragged.csv": "a,label\nx\n",
        "p.csv": "left,right,same\n0,999,yes\n",
    }.items():
        with open(name, "w") as file:
            file.write(text)
    assert message in one_sentence(*arguments)


def test_an_export_that_cannot_work_ends_before_the_fit(monkeypatch):
    def fit(*args, **kwargs):
        raise AssertionError("the adapter was fitted")

    monkeypatch.setattr(lw.EmbeddingAdapter, "fit", fit)
    os.mkdir("modules")
    arguments = ["labelled.npy", "--labels", "labels.npy", "--export", "sentence-transformers"]
    assert "modules' exists, but a new folder" in one_sentence(*arguments, "modules")
    assert "There is no folder" in one_sentence(*arguments, "nowhere/modules")


def test_a_faiss_index_has_the_vectors_that_were_read():
    faiss = pytest.importorskip("faiss", reason="faiss is part of likewise[export]")
    arguments = ["labelled.npy", "--labels", "labels.npy", "--unlabelled", "others.npy"]
    result = invoke("adapt", *arguments, "--export", "faiss", "adapted.faiss")
    assert result.exit_code == 0, result.output
    assert f"It returns squared distances. It has {N} vectors." in result.stdout
    index = faiss.read_index("adapted.faiss")
    squared, found = index.search(ROWS[:N], 1)
    assert (found[:, 0] == np.arange(N)).all()
    assert np.abs(squared).max() < 1e-5


def test_a_missing_extra_is_said_before_the_fit(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    arguments = ["labelled.npy", "--labels", "labels.npy", "--export", "onnx", "map.onnx"]
    assert "export to onnx needs onnx" in one_sentence(*arguments)


def test_dry_run_estimates_all_rows_and_writes_nothing():
    before = set(os.listdir())
    arguments = ["labelled.npy", "--labels", "labels.npy", "--unlabelled", "others.npy"]
    done = invoke("adapt", *arguments, "--dry-run", "--json", "-")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    estimate = lw.EmbeddingAdapter().estimate(ROWS[:N])
    assert found["n_bytes"] == estimate.n_bytes
    assert found["seconds"] == pytest.approx(estimate.seconds)
    assert set(os.listdir()) == before
