"""Text of users and files: it does not control the terminal, and messages quote little of it."""

import json
import os
import re

import numpy as np
import pytest
from cli_runner import invoke
from test_cli_process import run_in_terminal

import likewise as lw

# A colour, a title of the window, a screen cleared by a C1 control, reversed writing, a line break.
HOSTILE = "\x1b[31m\x1b]0;owned\x07\x9b2J\u202eevil\u2066\r\x08\x00"
NAME = HOSTILE.replace("\x00", "")  # as a file name may be
BOOK = "x" * 300_000
RNG = np.random.default_rng(0)
TABLE = RNG.normal(size=(40, 2)) + np.repeat([[0.0], [3.0]], 20, axis=0)


def write_csv(path, labels, names=("a", "b", "label"), cells=None, numbered=False):
    table = np.c_[np.arange(len(TABLE)), TABLE[:, 1]] if numbered else TABLE
    rows = [[*map(str, row), label] for row, label in zip(table, labels, strict=True)]
    if cells is not None:
        rows[3][1] = cells
    quoted = [",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in rows]
    header = ",".join(f'"{name}"' for name in names)
    path.write_text("\n".join([header, *quoted]) + "\n", newline="")
    return path


def assert_harmless(result, exit_code=0):
    assert result.exit_code == exit_code, result.output[:2000]
    for stream in (result.stdout, result.stderr):
        assert not re.search(r"[^\n]", "".join(c for c in stream if not c.isprintable())), stream[
            :2000
        ]
    assert len(result.stderr) < 2500


LABELS = ["good"] * 19 + [NAME] + ["bad"] * 20


def test_labels_and_columns_in_the_notes(tmp_path):
    path = write_csv(tmp_path / "table.csv", LABELS, (NAME, "b", "label"), numbered=True)
    arguments = (path, "--methods", "Euclidean,RCA", "--json", tmp_path / "out.json")
    result = invoke("compare", *arguments)
    assert_harmless(result)
    assert r"\x1b[31m" in result.stdout
    written = (tmp_path / "out.json").read_text()
    assert all(c.isprintable() or c == "\n" for c in written)
    assert json.loads(written)["untested_classes"] == [NAME]
    assert json.loads(written)["id_columns"] == [NAME]


def test_labels_in_info(tmp_path):
    assert_harmless(invoke("info", write_csv(tmp_path / "table.csv", LABELS)))


def test_names_of_files(tmp_path):
    path = write_csv(tmp_path / f"{NAME}.csv", LABELS)
    assert_harmless(invoke("info", path))
    result = invoke("compare", path, "--methods", "Euclidean,RCA", "--json", tmp_path / "out.json")
    assert_harmless(result)
    assert json.loads((tmp_path / "out.json").read_text())["data"] == path.name


def test_file_names_that_are_not_utf8(tmp_path):
    path = write_csv(tmp_path / os.fsdecode(b"\xff.csv"), LABELS)
    result = invoke("compare", path, "--methods", "Euclidean,RCA", "--json", tmp_path / "out.json")
    assert_harmless(result)
    assert json.loads((tmp_path / "out.json").read_text())["data"] == path.name


@pytest.mark.parametrize("text", [NAME, BOOK], ids=["hostile", "long"])
@pytest.mark.parametrize("command", ["compare", "info"])
def test_errors(tmp_path, command, text):
    for path in (
        write_csv(tmp_path / "a.csv", LABELS, cells=text),
        write_csv(tmp_path / "b.csv", LABELS, ("a", "b", text)),
        write_csv(tmp_path / "c.csv", LABELS, (text, "b", "label"), cells="word"),
        write_csv(tmp_path / "d.csv", LABELS, ("a", text, "label"), cells="word"),
    ):
        # A table with text can be described, but not compared.
        assert_harmless(invoke(command, path), 2 if command == "compare" else 0)
    assert_harmless(invoke(command, tmp_path / "a.csv", "--label", text[:9999]), 2)
    assert_harmless(invoke(command, f"{tmp_path}/{text[:9999]}.csv"), 2)
    assert_harmless(invoke(command, f"{text[:9999]}"), 2)
    assert_harmless(invoke(command, f"{text[:9999]}.safetensors"), 2)


def test_errors_of_compare(tmp_path):
    path = write_csv(tmp_path / "a.csv", [NAME] * 40)
    assert_harmless(invoke("compare", path), 2)
    assert_harmless(invoke("compare", "iris", "--methods", NAME), 2)
    assert_harmless(invoke("compare", "iris", "--k", NAME), 2)
    assert_harmless(invoke("compare", "iris", "--k", BOOK[:9999]), 2)
    assert_harmless(invoke("compare", "iris", f"--{NAME}"), 2)
    assert_harmless(invoke("compare", "iris", "--json", f"{NAME}/x.json"), 2)
    assert_harmless(invoke(NAME), 2)
    write_csv(path, LABELS, (NAME, "b", "label"), cells="")
    assert_harmless(invoke("compare", path), 2)


def test_text_of_a_model_file(tmp_path):
    model = lw.LMNN(init=HOSTILE)
    model.feature_names_in_ = np.array([HOSTILE, BOOK], dtype=object)
    model.note_ = HOSTILE
    model.long_ = BOOK
    vars(model)[f"{HOSTILE}_"] = 1
    model.save(tmp_path / "model.safetensors")
    result = invoke("info", tmp_path / "model.safetensors")
    assert_harmless(result)
    assert len(result.stdout) < 20_000


def test_a_bug_does_not_reach_the_terminal_either(monkeypatch):
    def fail(*args, **options):
        raise RuntimeError(HOSTILE)

    monkeypatch.setattr("likewise.evaluation.compare", fail)
    result = invoke("compare", "iris")
    assert_harmless(result, 1)
    assert result.stderr.split("\n")[-2].startswith(r"RuntimeError: \x1b[31m")


def test_warnings(monkeypatch, tmp_path):
    def read(*args, **options):
        import warnings

        warnings.warn(HOSTILE, UserWarning, stacklevel=2)
        return lw.datasets.load("iris")

    monkeypatch.setattr("likewise.cli._datasets.load", read)
    result = invoke("datasets", "iris")
    assert_harmless(result)
    assert result.stderr.startswith(r"likewise: warning: \x1b[31m")


def test_in_a_terminal(tmp_path):
    path = write_csv(tmp_path / f"{NAME}.csv", LABELS)
    sent = run_in_terminal("info", str(path))
    sent += run_in_terminal("compare", str(path), "--methods", "Euclidean,RCA")
    assert "\x1b]0;" not in sent
    assert not set("\x07\x9b\u202e\u2066\x08\x00") & set(sent)


def test_what_is_no_file(tmp_path):
    def sentence(path):
        result = invoke("compare", path)
        assert_harmless(result, 2)
        return result.stderr

    for suffix in (".csv", ".npz", ".parquet"):
        folder = tmp_path / f"x{suffix}"
        folder.mkdir()
        assert sentence(folder).endswith("is a folder, but a table is read from a file.\n")
    os.mkfifo(tmp_path / "pipe.csv")
    assert "is a pipe or device, but a table is read from a file." in sentence(
        tmp_path / "pipe.csv"
    )
    (tmp_path / "device.csv").symlink_to("/dev/zero")
    assert "is a pipe or device" in sentence(tmp_path / "device.csv")
    (tmp_path / "broken.csv").symlink_to(tmp_path / "nowhere")
    assert "There is no file" in sentence(tmp_path / "broken.csv")


def test_a_file_that_may_not_be_read(tmp_path, monkeypatch):
    path = write_csv(tmp_path / "secret.csv", LABELS)
    monkeypatch.setattr("os.access", lambda path, mode: mode != os.R_OK)
    result = invoke("compare", path)
    assert_harmless(result, 2)
    assert "secret.csv' may not be read by this user." in result.stderr
