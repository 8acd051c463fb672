"""Every command and every kind of bad table: one sentence, exit code 2, nothing half-written."""

import os
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from cli_runner import invoke

import likewise as lw
from likewise.cli import main
from likewise.datasets import load

IRIS = load("iris")
COMMAND = [sys.executable, "-m", "likewise"]
HOSTILE = "\x1b[31mred\x1b[0m\u202e"

# Bad tables by name: what is in the file, and what the sentence says.
TABLES = {
    "missing.csv": (None, "There is no file"),
    "empty.csv": (b"", "is empty"),
    "header.csv": (b"a,b,c,d,label\n", "is empty: it has no rows"),
    "folder.csv": ("folder", "is a folder"),
    "rubbish.csv": (bytes(range(256)), "cannot be read as csv: it is not text"),
    "binary.parquet": (b"PAR1 but no more", "cannot be read as parquet"),
    "binary.npz": (b"PK\x03\x04 but no more", "is not a readable NPZ file"),
    "binary.npy": (b"\x93NUMPY but no more", "is not a readable NumPy array"),
    "short.csv": (b"a,b,c,d,label\n1,2,3,4,x\n5,6\n", "line 3 has 2 cells, but there are 5 col"),
    "long.csv": (b"a,b,c,d,label\n1,2,3,4,x\n5,6,7,8,y,9\n", "cannot be read as csv"),
    "gap.csv": (b"a,b,c,d,label\n1,,3,4,x\n5,6,7,8,y\n", "'b' of .* has 1 empty cell or NaN"),
    "text.csv": (b"a,b,c,d,label\n1,2,red,4,x\n5,6,7,8,y\n", "'c' of .* must hold numbers.* 'red'"),
    "infinite.csv": (b"a,b,c,d,label\n1,2,inf,4,x\n5,6,7,8,y\n", "'c' of .* contains infinity"),
    "utf16.csv": ("a,b\n".encode("utf-16")[:-1], "is not text in UTF-8"),
    "table.xls": (b"anything", r"must end in \.csv, .* \(--format\)"),
    "hostile.csv": (f"a,b,c,d,label\n1,2,{HOSTILE},4,x\n5,6,7,8,y\n".encode(), r"\\x1b\[31mred"),
    "column.csv": (b"a,b,d,label\n1,2,4,x\n5,6,8,y\n", "has no column 'c', which the model"),
}
# What is said before a table is encoded is said by info, too.
READABLE = {"gap.csv", "text.csv", "infinite.csv", "hostile.csv", "column.csv"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name, (content, _) in TABLES.items():
        if content == "folder":
            (tmp_path / name).mkdir()
        elif content is not None:
            (tmp_path / name).write_bytes(content)
    frame = pd.DataFrame(IRIS.X, columns=list("abcd"))
    lw.tables.TableModel(lw.RCA()).fit(frame, IRIS.y).save(tmp_path / "model.safetensors")
    (tmp_path / "pairs.csv").write_text("left,right\n0,1\n")
    frame.assign(label=IRIS.y).to_csv(tmp_path / "good.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def commands_on(table):
    return {
        "compare": ["compare", table, "--label", "label", "--methods", "Euclidean,RCA"],
        "fit": ["fit", table, "--label", "label", "--method", "RCA", "--output", "new.safetensors"],
        "verify": ["verify", "model.safetensors", table, "--pairs", "pairs.csv"],
        "transform": ["transform", "model.safetensors", table, "--output", "new.csv"],
        "neighbors": ["neighbors", "model.safetensors", table, "--k", "1", "--output", "new.csv"],
        "info": ["info", table],
    }


def one_sentence(result):
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.isprintable()
    assert len(line) < 2500
    return line


@pytest.mark.parametrize("command", commands_on(""))
@pytest.mark.parametrize("table", TABLES)
def test_bad_tables(folder, command, table):
    if command == "info" and table in READABLE:
        pytest.skip("info describes tables that cannot be used as they are")
    if table == "column.csv" and command in ("compare", "fit"):
        pytest.skip("a table without that column is another table")
    before = set(os.listdir(folder))
    assert re.search(TABLES[table][1], one_sentence(invoke(*commands_on(table)[command])))
    assert set(os.listdir(folder)) == before


@pytest.mark.parametrize("command", ["verify", "transform", "neighbors", "export", "info"])
@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "There is no file 'bad.safetensors'"),
        (b"", "not a whole safetensors file"),
        (b"rubbish" * 100, "not a whole safetensors file"),
    ],
)
def test_bad_models(folder, command, content, sentence):
    if content is not None:
        (folder / "bad.safetensors").write_bytes(content)
    rest = {"export": ["--to", "numpy"], "info": []}.get(command, ["good.csv"])
    rest += ["--pairs", "pairs.csv"] if command == "verify" else []
    assert sentence in one_sentence(invoke(command, "bad.safetensors", *rest))


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("left,right\n0,999\n", "names row 999, but the table has rows 0 to 149"),
        ("left,right\n0,x\n", "must hold row numbers, found '?0?'?|found 'x'"),
        ("left,right\n", "is empty: it has no pairs"),
        ("a,b\n0,1\n", "must have the columns left and right, found a, b"),
        ("left,right\n0,0\n", "line 2 of 'bad.csv' pairs 0 with itself"),
        ("left,right,same\n0,1,maybe\n", "must hold true/false"),
        (f"left,right,same\n0,1,{HOSTILE}\n", r"\\x1b\[31mred"),
    ],
)
def test_bad_pairs(folder, content, sentence):
    (folder / "bad.csv").write_text(content)
    arguments = ["verify", "model.safetensors", "good.csv", "--pairs", "bad.csv"]
    assert re.search(sentence, one_sentence(invoke(*arguments)))


def test_ids_that_do_not_exist(folder):
    (folder / "ids.csv").write_text("left,right\n5.1,ghost\n")
    arguments = ["verify", "model.safetensors", "good.csv", "--pairs", "ids.csv", "--id", "nobody"]
    assert "has no column 'nobody'" in one_sentence(invoke(*arguments))
    frame = pd.read_csv(folder / "good.csv").assign(who=[f"p{i}" for i in range(150)])
    frame.to_csv(folder / "named.csv", index=False)
    (folder / "ids.csv").write_text(f"left,right\np1,ghost{HOSTILE}\n")
    arguments = ["verify", "model.safetensors", "named.csv", "--pairs", "ids.csv", "--id", "who"]
    assert r"1 id that no item of the table has: ghost\x1b[31mred" in one_sentence(
        invoke(*arguments)
    )


def shell(command, **environment):
    return subprocess.run(
        command,
        shell=True,
        executable="/bin/bash",
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | environment,
    )


LIKEWISE = " ".join(COMMAND)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")
@pytest.mark.parametrize(
    "arguments",
    [
        "--help > /dev/full",
        "--version > /dev/full",
        "fit --help > /dev/full",
        "info > /dev/full",
        "transform model.safetensors good.csv > /dev/full",
        "neighbors model.safetensors good.csv --json - > /dev/full",
        "fit good.csv --method RCA --output /dev/full",
        "export model.safetensors --to numpy --output /dev/full",
    ],
)
def test_a_full_disk(folder, arguments):
    done = shell(f"{LIKEWISE} {arguments}")
    assert (done.returncode, done.stderr) == (2, "likewise: No space left on device.\n")


def test_a_full_disk_leaves_the_old_file_and_nothing_else(folder, monkeypatch):
    import likewise._runtime.writing as writing

    assert invoke("fit", "good.csv", "--method", "RCA").exit_code == 0
    before = {name: os.stat(name).st_mtime_ns for name in os.listdir(".")}

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writing.os, "fsync", full)
    for arguments in (
        ["fit", "good.csv", "--method", "FDA"],
        ["transform", "model.safetensors", "good.csv", "--output", "new.parquet"],
        ["export", "model.safetensors", "--to", "pgvector", "--table", "t"],
        ["info", "--json", "new.json"],
    ):
        result = invoke(*arguments)
        assert result.exit_code == 2, result.output
        assert result.stderr == "likewise: No space left on device.\n"
        assert {name: os.stat(name).st_mtime_ns for name in os.listdir(".")} == before


def test_a_closed_pipe_is_no_reason_for_a_message(folder):
    pd.DataFrame(np.tile(IRIS.X, (200, 1)), columns=list("abcd")).to_csv("many.csv", index=False)
    done = shell(
        f"{LIKEWISE} transform model.safetensors many.csv | head -1; echo ${{PIPESTATUS[0]}}"
    )
    assert done.stdout == "z0,z1,z2,z3\n2\n"
    assert done.stderr == ""


@pytest.mark.parametrize(
    "arguments",
    [
        "--help",
        "--version",
        "info iris",
        "info --methods",
        "compare iris --methods Euclidean,RCA",
        "fit good.csv --method RCA",
        "reproduce --list",
        "datasets --json -",
    ],
)
def test_a_pipe_that_nobody_reads_is_not_a_bug(folder, arguments):
    done = shell(f"{LIKEWISE} {arguments} | true; echo ${{PIPESTATUS[0]}}")
    assert (done.stdout, done.stderr) == ("2\n", "")


def test_a_process_without_stdout(folder):
    done = shell(f"{LIKEWISE} transform model.safetensors good.csv >&-")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "arguments",
    [
        "info",
        "info iris",
        "compare iris --methods RCA,Euclidean",
        "fit iris --method RCA",
        "datasets",
        "--help",
        "fit --help",
    ],
)
def test_forty_columns(folder, arguments):
    done = shell(f"{LIKEWISE} {arguments}", COLUMNS="40", NO_COLOR="1")
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout
    assert done.stdout.strip()


def test_completion():
    made = "import sys; from likewise.cli import main; main(prog_name='likewise')"
    for words, expected in (("likewise f", "plain,fit"), ("likewise fit --meth", "plain,--method")):
        done = subprocess.run(
            [sys.executable, "-c", made],
            capture_output=True,
            text=True,
            timeout=60,
            env=os.environ
            | {
                "_LIKEWISE_COMPLETE": "bash_complete",
                "COMP_WORDS": words,
                "COMP_CWORD": str(len(words.split()) - 1),
            },
        )
        assert expected in done.stdout.splitlines()
    for name in ("bash", "zsh", "fish"):
        script = invoke("completion", name).stdout
        assert f"_LIKEWISE_COMPLETE={name}_complete" in script
    assert "csh" in one_sentence(invoke("completion", "csh"))
    done = subprocess.run(["bash", "-n"], input=invoke("completion", "bash").stdout, text=True)
    assert done.returncode == 0


@pytest.mark.parametrize("name", main.commands)
def test_every_command_writes_json(name):
    options = {
        option for parameter in main.commands[name].load().params for option in parameter.opts
    }
    # The last two run until they are stopped, and have no result of their own.
    assert "--json" in options or name in ("completion", "label", "serve")


def test_dry_runs(folder):
    before = set(os.listdir(folder))
    for arguments in (
        ["fit", "good.csv", "--method", "NCA", "--dry-run"],
        ["compare", "good.csv", "--dry-run"],
        ["fit", "good.csv", "--method", "LMNN", "--set", "kernel=rbf", "--dry-run"],
    ):
        result = invoke(*arguments)
        assert result.exit_code == 0, result.output
        assert re.match(r"It would take about .* s of processor time \(", result.stdout)
    assert set(os.listdir(folder)) == before


def test_long_tables_are_ranked_first_and_resumed(folder, monkeypatch):
    monkeypatch.setenv("LIKEWISE_CACHE", str(folder / "cache"))
    monkeypatch.setattr("likewise.cli._compare.FIRST_ROWS", 60)
    arguments = ["compare", "good.csv", "--methods", "Euclidean,RCA", "--json", "out.json"]
    result = invoke(*arguments)
    assert result.exit_code == 0, result.output
    assert re.match(r"First ranking, on \d+ of 150 rows and 5 of 5 folds", result.stdout)
    assert os.listdir(folder / "cache" / "comparisons") == []

    def die(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("likewise.evaluation.comparison.summarize", die)
    assert invoke(*arguments).exit_code == 130
    assert len(os.listdir(folder / "cache" / "comparisons")) == 1
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("LIKEWISE_CACHE", str(folder / "cache"))
    monkeypatch.setattr("likewise.cli._compare.FIRST_ROWS", 60)
    again = invoke(*arguments)
    assert "This comparison was begun before, and goes on." in again.stderr
    assert "First ranking" not in again.stdout
    assert again.stdout.splitlines()[-1] == result.stdout.splitlines()[-1]
