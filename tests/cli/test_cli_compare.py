"""``likewise compare``: the table, the verdict, the file, and one line for whatever goes wrong."""

import json
import re
import sys

import numpy as np
import pandas as pd
import pytest
from cli_runner import invoke

from likewise import evaluation
from likewise.datasets import load

IRIS = load("iris")
FRAME = pd.DataFrame(IRIS.X, columns=["a", "b", "c", "d"]).assign(
    species=np.array(IRIS.classes)[IRIS.y]
)


def run(*arguments, **options):
    return invoke("compare", *arguments, **options)


def complaint(result):
    """The one line on stderr of a command that could not work."""
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("likewise: ")
    assert "Traceback" not in result.stderr
    return lines[0].removeprefix("likewise: ")


def rows_of(result):
    """The cells of the printed table, by metric."""
    lines = [re.split(r"\s*│\s*", line.strip("│\n ")) for line in result.stdout.splitlines()]
    return {cells[0]: cells[1:] for cells in lines if len(cells) == 6}


@pytest.fixture
def csv(tmp_path):
    path = tmp_path / "flowers.csv"
    FRAME.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def iris_comparison():
    return evaluation.compare(IRIS.X, IRIS.y)


@pytest.fixture
def compared_before(iris_comparison, monkeypatch):
    """Give the same comparison to every test that is about its presentation only."""
    monkeypatch.setattr(evaluation, "compare", lambda *args, **options: iris_comparison)


def test_options_reach_the_comparison(tmp_path):
    path = tmp_path / "result.json"
    options = ["--k", "5", "--repeats", "3", "--raw", "--seed", "7", "--methods", "fda,Euclidean"]
    result = run("iris", *options, "--json", path)
    assert result.exit_code == 0, result.output
    assert list(rows_of(result)) == ["FDA", "Euclidean"]
    assert "(raw)" in result.stdout
    written = json.loads(path.read_text())
    assert written["data"] == "iris"
    assert (written["n_neighbors"], written["n_repeats"]) == (5, 3)
    assert (written["standardized"], written["random_state"]) == (False, 7)
    assert [row["name"] for row in written["rows"]] == ["FDA", "Euclidean"]
    assert f"{written['rows'][0]['error']:.2%}" == rows_of(result)["FDA"][0]
    verdict, fitting = result.stdout.splitlines()[-2:]
    assert verdict == written["verdict"]
    assert fitting == "To fit Euclidean: likewise fit iris --raw --method Euclidean"
    assert written["fit"] == "likewise fit iris --raw --method Euclidean"
    assert [item.name for item in tmp_path.iterdir()] == ["result.json"]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".npz", ".npy"])
def test_every_kind_of_file_gives_the_same_table(tmp_path, suffix):
    path = tmp_path / f"flowers{suffix}"
    label = "species"
    match suffix:
        case ".csv":
            FRAME.to_csv(path, index=False)
        case ".tsv":
            FRAME.to_csv(path, index=False, sep="\t")
        case ".parquet":
            FRAME.to_parquet(path)
        case ".npz":
            np.savez(path, X=IRIS.X, species=IRIS.y)
        case ".npy":
            np.save(path, np.c_[IRIS.X, IRIS.y])
            label = "4"
    result = run(path, "--label", label, "--methods", "Euclidean,RCA")
    assert result.exit_code == 0, result.output
    named = run("iris", "--methods", "Euclidean,RCA")
    assert {name: cells[:3] for name, cells in rows_of(result).items()} == {
        name: cells[:3] for name, cells in rows_of(named).items()
    }


def test_groups_and_columns_that_are_dropped(csv, tmp_path):
    plants = [f"plant {row // 3}" for row in range(150)]
    FRAME.assign(number=range(150), plant=plants, colour="blue").to_csv(csv, index=False)
    options = ["--label", "species", "--methods", "Euclidean,FDA", "--groups", "plant"]
    result = run(csv, *options, "--drop", "colour", "--json", tmp_path / "result.json")
    assert result.exit_code == 0, result.output
    assert "50 groups kept together" in " ".join(result.stdout.split())
    assert "Column number looks like row numbers" in result.stdout
    written = json.loads((tmp_path / "result.json").read_text())
    assert (written["n_groups"], written["n_features"]) == (50, 5)
    assert written["id_columns"] == ["number"]
    result = run(csv, *options, "--drop", "colour, number")
    assert "row numbers" not in result.stdout
    assert "column 'colour'" in complaint(run(csv, *options))


def test_a_missing_file(tmp_path):
    sentence = complaint(run(tmp_path / "nowhere.csv"))
    assert sentence == f"There is no file '{tmp_path / 'nowhere.csv'}'."


def test_an_unknown_label_column(csv):
    assert "has no column 'speces': did you mean 'species'?" in complaint(
        run(csv, "--label", "speces")
    )
    assert "say (--label) which of its columns is the label: a, b, c, d, species" in complaint(
        run(csv)
    )


def test_a_column_of_text(csv):
    FRAME.assign(colour="red").to_csv(csv, index=False)
    sentence = complaint(run(csv, "--label", "species"))
    assert "column 'colour'" in sentence
    assert "must hold numbers, found 'red' in row 1" in sentence


@pytest.mark.parametrize("content", ["", "a,y\n"])
def test_an_empty_table(csv, content):
    csv.write_text(content)
    assert "is empty" in complaint(run(csv, "--label", "y"))


def test_missing_values(csv):
    FRAME.mask(FRAME.iloc[3, 1] == FRAME).to_csv(csv, index=False)
    assert re.match(
        r"column '\w' of '.*flowers.csv' has \d+ empty cells or NaN, the first in row \d+; "
        r"impute=True \(--impute\)",
        complaint(run(csv, "--label", "species")),
    )


def test_a_folder_or_file_without_suffix(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "flowers").write_text("a,y\n1,2\n")
    assert complaint(run("data")) == "'data' is a folder, but a table is read from a file."
    assert "found no suffix; or say (--format) what it is" in complaint(run("flowers"))
    (tmp_path / "iris").mkdir()
    assert run("iris", "--methods", "Euclidean").exit_code == 0
    assert complaint(run("dat")) == "there is no data set 'dat'; likewise datasets lists all names"


def test_copies_of_rows(csv):
    pd.concat([FRAME] * 2).to_csv(csv, index=False)
    result = run(csv, "--label", "species", "--methods", "Euclidean")
    assert "300 of 300 rows are equal to another one." in result.stdout
    result = run("iris", "--methods", "Euclidean")
    assert "equal" not in result.stdout


def test_one_class(csv):
    FRAME.assign(species="rose").to_csv(csv, index=False)
    assert "y has one class only, 'rose'" in complaint(run(csv, "--label", "species"))


def test_pairs_in_place_of_labels(monkeypatch, tmp_path):
    np.savez(tmp_path / "judged.npz", X=[[1.0], [2.0]], pairs=[[0, 1]], same=[True])
    monkeypatch.setenv("LIKEWISE_DATA", str(tmp_path))
    sentence = "same has 1 same and 0 different pairs, but at least one of each is needed."
    assert complaint(run("judged")) == sentence


def test_an_id_is_no_feature(tmp_path):
    path = tmp_path / "named.csv"
    FRAME.assign(code=[f"n{i}" for i in range(len(FRAME))]).to_csv(path, index=False)
    options = ("--label", "species", "--methods", "Euclidean", "--json", "-")
    found = run(path, *options, "--id", "code")
    assert found.exit_code == 0, found.stderr
    assert json.loads(found.stdout)["n_features"] == 4
    assert "'code'" in complaint(run(path, *options))


def test_a_number_as_label(csv):
    FRAME.drop(columns="species").assign(a=np.arange(150)).to_csv(csv, index=False)
    sentence = complaint(run(csv, "--label", "a"))
    assert "each of the 150 classes of y occurs in one row only" in sentence


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["iris", "--k", "1000"], "n_neighbors is 1000, but there are only 120 training rows."),
        (["iris", "--k", "0"], "Invalid value for '--k': 0 is not in the range x>=1."),
        (["iris", "--k", "three"], "Invalid value for '--k': 'three' is not a valid integer."),
        (["iris", "--repeats", "0"], "Invalid value for '--repeats': 0 is not in the range x>=1."),
        (["iris", "--seed", "-1"], "Invalid value for '--seed': -1 is not in the range x>=0."),
        (["iris", "--methods", "LDAA"], "there is no method 'LDAA'"),
        (["iris", "--methods", ""], "there is no method ''"),
        (["iris", "--groups", "y"], "--groups is for files, but 'iris' is the name of a data set."),
        (["iris", "--drop", "y"], "--drop is for files, but 'iris' is the name of a data set."),
        (["iris", "--label", "y"], "--label is for files, but 'iris' is the name of a data set."),
        (["irish"], "there is no data set 'irish'; did you mean iris"),
        (["table.xls"], "'table.xls' must end in .csv"),
        (["iris", "--json", "no/such/folder/x.json"], "cannot write 'no/such/folder/x.json'"),
        (["iris", "--json", "/"], "Invalid value for '--json': File '/' is a directory."),
    ],
)
def test_other_bad_input(arguments, sentence):
    assert sentence in complaint(run(*arguments))


def test_an_unknown_option():
    # Click 8.1 puts a colon before it, later releases quotes around it.
    sentence = complaint(run("iris", "--jsn", "x"))
    assert re.match("No such option:? '?--jsn'?", sentence)


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".npz", ".npy"])
def test_a_corrupt_file(tmp_path, suffix):
    path = tmp_path / f"rubbish{suffix}"
    path.write_bytes(bytes(range(256)) * 4)
    assert re.search(
        "cannot be read|not a readable|not UTF-8", complaint(run(path, "--label", "y"))
    )


def test_without_pandas_the_extra_is_named(csv, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert complaint(run(csv)).endswith('pip install "likewise[tables]"')


def test_offline(monkeypatch, tmp_path):
    monkeypatch.delenv("LIKEWISE_DATA", raising=False)
    monkeypatch.setenv("LIKEWISE_CACHE", str(tmp_path))
    monkeypatch.setenv("LIKEWISE_DATA_URL", "http://127.0.0.1:9")
    assert "put mnist.npz in the folder" in complaint(run("mnist"))


@pytest.mark.usefixtures("compared_before")
def test_a_long_verdict_is_one_line_where_there_is_no_terminal():
    result = run("iris")
    assert len(result.stdout.splitlines()[-2]) > 80


@pytest.mark.usefixtures("compared_before")
@pytest.mark.parametrize("width", [20, 30, 50, 53, 54, 200])
def test_narrow_terminals_still_show_every_number(monkeypatch, tmp_path, width):
    monkeypatch.setenv("COLUMNS", str(width))
    result = run("iris", "--json", tmp_path / "result.json")
    assert result.exit_code == 0
    written = json.loads((tmp_path / "result.json").read_text())
    *notes, verdict = [*written["notes"], written["verdict"]]
    *lines, fitting = result.stdout.splitlines()
    shown, said = lines[: -len(notes) - 1], lines[-len(notes) - 1 :]
    assert fitting.endswith(written["fit"])
    assert max(map(len, shown)) <= width
    assert said == [*notes, verdict]
    for row in written["rows"]:
        assert row["name"] in result.stdout
        for rate in ("error", "spread", "eer"):
            assert f"{row[rate]:.2%}" in result.stdout


def test_ctrl_c(monkeypatch):
    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("likewise.evaluation.compare", interrupt)
    result = run("iris")
    assert result.exit_code == 130
    assert result.stderr == "likewise: interrupted\n"
