"""No output of a command replaces what the command reads, or another output."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from cli_runner import invoke

import likewise as lw
from likewise._runtime.writing import write_atomically
from likewise.datasets import load

IRIS = load("iris")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame(IRIS.X, columns=list("abcd"))
    frame.to_csv("rows.csv", index=False)
    frame.assign(label=IRIS.y).to_csv("data.csv", index=False)
    np.save("emb.npy", IRIS.X)
    np.savez("iris.npz", X=IRIS.X, y=IRIS.y)
    np.savetxt("labels.txt", IRIS.y, fmt="%d")
    pd.DataFrame({"left": [0, 1], "right": [2, 60], "same": [1, 0]}).to_csv("p.csv", index=False)
    lw.RCA().fit(IRIS.X, IRIS.y).save("m.safetensors")
    return tmp_path


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def complaint(*arguments):
    result = invoke(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    return line


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("fit data.csv --method RCA --output data.csv", "--output 'data.csv' would replace DATA"),
        ("fit data.csv --method RCA --output ./link.csv", "would replace DATA"),
        ("fit data.csv --method RCA --json hard.csv", "--json 'hard.csv' would replace DATA"),
        ("fit rows.csv --pairs p.csv --method ITML --output p.csv", "would replace --pairs"),
        ("adapt emb.npy --labels labels.txt --output emb.npy", "would replace EMBEDDINGS"),
        ("adapt emb.npy --labels labels.txt --json labels.txt", "would replace --labels"),
        ("adapt emb.npy --labels labels.txt --unlabelled rows.csv --json rows.csv", "--unlabelled"),
        ("adapt emb.npy --labels labels.txt --export numpy emb.npy", "--export 'emb.npy' would"),
        ("adapt emb.npy --labels labels.txt --output a.safetensors --json a.safetensors", "both"),
        ("compare data.csv --json data.csv", "--json 'data.csv' would replace DATA"),
        ("compare data.csv --report data.csv", "--report 'data.csv' would replace DATA"),
        ("compare data.csv --report same --json same", "--json and --report are both 'same'"),
        ("report data.csv --output data.csv", "--output 'data.csv' would replace DATA"),
        ("transform m.safetensors rows.csv --output rows.csv", "would replace DATA"),
        ("transform m.safetensors rows.csv --json m.safetensors", "would replace MODEL"),
        ("transform m.safetensors rows.csv --output x.csv --json ./x.csv", "are both 'x.csv'"),
        ("verify m.safetensors rows.csv --pairs p.csv --output p.csv", "would replace --pairs"),
        ("neighbors m.safetensors rows.csv --queries p.csv --output p.csv", "replace --queries"),
        ("export m.safetensors --to numpy --output m.safetensors", "would replace MODEL"),
        ("export m.safetensors --to numpy --output x --json x", "--output and --json are both 'x'"),
        ("info data.csv --json data.csv", "--json 'data.csv' would replace MODEL_OR_DATA"),
        ("fit data.csv --method RCA --output -", "--output is '-', but a file is needed"),
        ("report data.csv --output -", "--output is '-', but a file is needed"),
        ("transform m.safetensors rows.csv --output -", "without it, CSV goes to stdout"),
        ("fit data.csv --method RCA --output x.foo", "must end in .safetensors"),
        ("adapt emb.npy --labels labels.txt --output x.npz", "must end in .safetensors"),
    ],
)
def test_outputs_are_neither_inputs_nor_each_other(here, command, expected):
    os.symlink("data.csv", "link.csv")
    os.link("data.csv", "hard.csv")
    before = contents(here)
    assert expected in complaint(*command.split())
    assert contents(here) == before


def test_default_of_export_is_a_new_file(here):
    """The name of a model is often that of its data."""
    os.rename("m.safetensors", "iris.safetensors")
    before = contents(here)
    assert "'iris.npz' exists already" in complaint("export", "iris.safetensors", "--to", "numpy")
    assert contents(here) == before
    named = ["export", "iris.safetensors", "--to", "numpy", "--output", "other.npz"]
    assert [invoke(*named).exit_code for _ in range(2)] == [0, 0]


def test_data_sets_stdin_and_devices_are_no_files(here):
    """A file may have the name of a data set, and both outputs may go nowhere."""
    done = invoke("info", "iris", "--json", "iris")
    assert done.exit_code == 0, done.output
    model = ["m.safetensors", "rows.csv"]
    done = invoke("transform", *model, "--output", "out.csv", "--json", "/dev/null")
    assert done.exit_code == 0, done.output
    done = invoke("compare", "iris", "--dry-run", "--json", "/dev/null", "--report", "/dev/null")
    assert done.exit_code == 0, done.output


def test_errors_name_the_target(monkeypatch, tmp_path):
    """Nobody knows the name of the unfinished file."""

    def refuse(path, *args, **kwargs):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(PermissionError) as caught:
        write_atomically(tmp_path / "result.json", b"")
    monkeypatch.undo()
    assert caught.value.filename == str(tmp_path / "result.json")


def test_closed_stdin():
    command = f'"{sys.executable}" -m likewise compare - <&-'
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == (
        "likewise: - is stdin, but it is closed: give it data, or name a file.\n"
    )
