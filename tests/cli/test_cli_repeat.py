"""The commands that are advised: that of a comparison, and that of a promise."""

import shlex

import numpy as np
import pandas as pd
import pytest
from cli_runner import invoke

import likewise as lw
from likewise.constraints import random_pairs
from likewise.datasets import load

IRIS = load("iris")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame(IRIS.X, columns=list("abcd"))
    frame.assign(kind=IRIS.y, who=np.arange(150) // 2, e=1.0).to_csv("my data.csv", index=False)
    pairs, same = random_pairs(IRIS.y, 200, random_state=0)
    pairs = pd.DataFrame({"left": pairs[:, 0], "right": pairs[:, 1], "same": same})
    pairs.to_csv("pairs.csv", index=False)
    frame.to_csv("rows.csv", index=False)
    np.savez("rows.npz", X=IRIS.X, y=IRIS.y, who=np.arange(150) // 2)


def fitted(*comparison):
    """Run the command that a comparison prints, and return its words and the model."""
    result = invoke("compare", *comparison)
    assert result.exit_code == 0, result.output
    words = shlex.split(result.stdout.splitlines()[-1].partition(": ")[2])
    assert words[:2] == ["likewise", "fit"]
    done = invoke(*words[1:])
    assert done.exit_code == 0, done.output
    return words, lw.load("model.safetensors")


@pytest.mark.usefixtures("here")
def test_columns_parameters_and_seed():
    options = ["--label", "kind", "--groups", "who", "--drop", "e", "--seed", "3"]
    words, model = fitted("my data.csv", *options, "--methods", "NCA")
    assert words[2] == "my data.csv"
    assert repr(model.model_) == "NCA(random_state=3, regularization=0.01, tol=0.0003)"
    assert model.feature_names_in_.tolist() == list("abcd")


@pytest.mark.usefixtures("here")
def test_pairs_and_groups_in_an_npz_file():
    words, model = fitted("rows.csv", "--pairs", "pairs.csv", "--methods", "ITML")
    assert ("--pairs" in words) == (type(model.model_).__name__ == "ITML")
    words, model = fitted("rows.npz", "--groups", "who", "--raw", "--methods", "Euclidean,RCA")
    assert "who" not in words
    assert not model.standardize


@pytest.mark.usefixtures("here")
def test_the_cosine():
    """It has nothing to learn but a threshold."""
    angles = 0.2 * (np.arange(150) % 3) + np.random.default_rng(0).normal(scale=0.02, size=150)
    lengths = 10 ** np.random.default_rng(1).uniform(-3, 3, size=(150, 1))
    rows = lengths * np.column_stack([np.cos(angles), np.sin(angles)])
    np.savez("rays.npz", X=rows, y=np.arange(150) % 3)
    words, model = fitted("rays.npz", "--raw", "--methods", "Euclidean,cosine")
    assert words[-4:] == ["--method", "cosine", "--target", "fmr<=0.01"]
    assert model.model_.metric == "cosine"
    result = invoke("fit", "rays.npz", "--method", "Cosine")
    assert result.exit_code == 2
    assert "cosine has nothing to learn but a threshold: say --target" in result.stderr


def test_labels_as_groups(tmp_path):
    """What the promise advises can be done: a threshold for new classes."""
    y = np.repeat(np.arange(40), 8)
    X = np.random.default_rng(0).normal(size=(320, 3)) + np.random.default_rng(1).normal(
        scale=6, size=(40, 3)
    ).repeat(8, axis=0)
    frame = pd.DataFrame(X, columns=list("abc")).assign(brand=y, **{"my label": y})
    frame.to_csv(tmp_path / "new.csv", index=False)
    data, output = tmp_path / "new.csv", ["--output", tmp_path / "m.safetensors"]
    common = ["--method", "RCA", "--target", "fmr<=0.1", *output]
    given = ["--label", "my label", "--drop", "brand"]
    result = invoke("fit", data, *given, *common)
    assert result.exit_code == 0, result.output
    said = " ".join(result.stdout.split())
    assert "fit with --groups 'my label' for new classes" in said
    result = invoke("fit", data, *given, "--groups", "my label", *common)
    assert result.exit_code == 0, result.output
    assert "new classes" not in result.stdout
    assert lw.load(tmp_path / "m.safetensors").feature_names_in_.tolist() == list("abc")
    result = invoke("compare", data, "--label", "brand", "--groups", "brand")
    assert result.exit_code == 2
    assert "--groups 'brand' are the labels, but rows of one class" in result.stderr
    result = invoke("fit", "iris", *common)
    assert "--groups" not in result.stdout
    assert "groups=y" not in result.stdout
