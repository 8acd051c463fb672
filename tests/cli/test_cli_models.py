"""fit, verify, transform and neighbors on real tables: against the Python functions they call."""

import io
import json
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from cli_runner import invoke

import likewise as lw
from likewise.constraints import random_pairs
from likewise.datasets import load, read_columns, read_pairs
from likewise.tables import TableModel, judge_pairs, map_table, nearest_rows

WINE = load("wine")
PAIRS, SAME = random_pairs(WINE.y, 300, random_state=1)
FIT = ["--label", "brand", "--drop", "sku", "--encode", "--impute"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table with text, gaps and ids; pairs by id; and a model with decisions."""
    folder = tmp_path_factory.mktemp("tables")
    frame = pd.DataFrame(WINE.X, columns=[f"c{i}" for i in range(13)])
    frame["hue"] = np.array(["pale", "rosy", "dark"])[WINE.y]
    frame.loc[::5, "hue"] = "pale"
    frame.loc[3, "c1"] = np.nan
    frame["brand"] = np.array(list("abc"))[WINE.y]
    frame["sku"] = [f"w{i}" for i in range(178)]
    frame.to_csv(folder / "wine.csv", index=False, sep=";", decimal=",")
    named = np.char.add("w", PAIRS.astype(str))
    pairs = pd.DataFrame({"left": named[:, 0], "right": named[:, 1], "same": SAME})
    pairs.to_csv(folder / "pairs.csv", index=False)
    pairs.drop(columns="same").to_csv(folder / "asked.csv", index=False)
    result = invoke(
        "fit",
        folder / "wine.csv",
        *FIT,
        "--method",
        "rca",
        "--target",
        "fmr<=0.05",
        "--set",
        "shrinkage=0.2",
        "--set",
        "guarantee=approximate",
        "--output",
        folder / "judge.safetensors",
    )
    assert result.exit_code == 0, result.output
    return folder


def complaint(*arguments, **options):
    result = invoke(*arguments, **options)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("likewise: ")
    return line


def table(result):
    assert result.exit_code == 0, result.output
    return pd.read_csv(io.StringIO(result.stdout))


def test_fit_is_that_of_python(folder):
    raw = read_columns(folder / "wine.csv", "brand", drop=["sku"])
    learner = lw.PairClassifier(lw.RCA(shrinkage=0.2), target="fmr<=0.05")
    expected = TableModel(learner, encode=True, impute=True).fit(raw, raw.y)
    found = lw.load(folder / "judge.safetensors")
    assert repr(found) == repr(expected)
    np.testing.assert_array_equal(map_table(found, raw), map_table(expected, raw))
    assert found.model_.threshold_ == expected.model_.threshold_


def test_the_raw_table_is_accepted_again(folder):
    model, raw = lw.load(folder / "judge.safetensors"), read_columns(folder / "wine.csv")
    shown = table(invoke("transform", folder / "judge.safetensors", folder / "wine.csv"))
    np.testing.assert_array_equal(shown, map_table(model, raw))
    command = ["verify", folder / "judge.safetensors", folder / "wine.csv", "--id", "sku"]
    judged = judge_pairs(model, raw, PAIRS)
    for pairs in ("asked.csv", "pairs.csv"):
        shown = table(invoke(*command, "--pairs", folder / pairs))
        judgement = ["same"] * (pairs == "pairs.csv")
        assert list(shown) == ["left", "right", *judgement, "distance", "decision", "probability"]
        assert shown["left"].tolist() == [f"w{i}" for i in PAIRS[:, 0]]
        np.testing.assert_array_equal(shown["distance"], judged.distance)
        np.testing.assert_array_equal(shown["decision"], judged.same)
        if judgement:
            np.testing.assert_array_equal(shown["same"], SAME)
        np.testing.assert_array_equal(shown["probability"], judged.probability)
    shown = table(
        invoke("neighbors", folder / "judge.safetensors", folder / "wine.csv", "--id", "sku")
    )
    distance, index = nearest_rows(model, raw)
    np.testing.assert_array_equal(shown["distance"], distance.ravel())
    assert shown["neighbor"].tolist() == [f"w{i}" for i in index.ravel()]
    assert shown["rank"].tolist() == [1, 2, 3, 4, 5] * 178


def test_columns_in_another_order_and_unknown_words(folder, tmp_path):
    frame = pd.read_csv(folder / "wine.csv", sep=";", decimal=",")
    frame[frame.columns[::-1]].to_csv(tmp_path / "new.csv", index=False)
    model = folder / "judge.safetensors"
    shown = table(invoke("transform", model, tmp_path / "new.csv"))
    np.testing.assert_array_equal(shown, table(invoke("transform", model, folder / "wine.csv")))
    frame.assign(hue="violet").to_csv(tmp_path / "new.csv", index=False)
    result = invoke("transform", model, tmp_path / "new.csv")
    assert result.exit_code == 0
    assert "warning: column 'hue' of" in result.stderr
    assert "178 rows with words that were not there when the model was fitted ('violet')" in (
        result.stderr
    )
    frame.drop(columns="hue").to_csv(tmp_path / "new.csv", index=False)
    assert "has no column 'hue', which the model was fitted with" in complaint(
        "transform", model, tmp_path / "new.csv"
    )


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "npz", "npy"])
def test_formats_of_output(folder, tmp_path, suffix):
    path = tmp_path / f"mapped.{suffix}"
    result = invoke(
        "transform",
        folder / "judge.safetensors",
        folder / "wine.csv",
        "--output",
        path,
        "--json",
        tmp_path / "out.json",
        *([] if suffix == "npy" else ["--id", "sku"]),
    )
    assert result.exit_code == 0, result.output
    assert "rows        178" in result.stdout
    expected = map_table(lw.load(folder / "judge.safetensors"), read_columns(folder / "wine.csv"))
    match suffix:
        case "npz":
            np.testing.assert_array_equal(np.load(path)["X"], expected)
            assert np.load(path)["sku"][7] == "w7"
        case "npy":
            np.testing.assert_array_equal(np.load(path), expected)
        case "parquet":
            np.testing.assert_array_equal(pd.read_parquet(path).drop(columns="sku"), expected)
        case _:
            read = pd.read_csv(path, sep="\t" if suffix == "tsv" else ",")
            np.testing.assert_array_equal(read.drop(columns="sku"), expected)
    written = json.loads((tmp_path / "out.json").read_text())
    assert written["columns"].keys() >= ({"X"} if suffix == "npz" else {"z0"})


def test_error_rates_where_the_truth_is_known(folder, tmp_path):
    arguments = ["verify", folder / "judge.safetensors", folder / "wine.csv", "--id", "sku"]
    output = tmp_path / "judged.csv"
    result = invoke(
        *arguments, "--pairs", folder / "pairs.csv", "--output", output, "--json", tmp_path / "j"
    )
    shown, written = pd.read_csv(output), json.loads((tmp_path / "j").read_text())
    assert written["FMR"] == pytest.approx(shown["decision"][~SAME].mean(), abs=1e-6)
    assert written["FNMR"] == pytest.approx(1 - shown["decision"][SAME].mean(), abs=1e-6)
    assert f"FNMR {written['FNMR']}" in " ".join(result.stdout.split())
    words = table(invoke(*arguments, "--pairs", folder / "asked.csv", "--unsure"))["decision"]
    assert set(words) <= {"same", "different", "unsure"}
    # Given back as judged pairs, the file holds the judgements, and not the decisions.
    ids = [f"w{i}" for i in range(178)]
    np.testing.assert_array_equal(read_pairs(output, 178, ids)[1], SAME)


def test_queries_of_another_table(folder, tmp_path):
    frame = pd.read_csv(folder / "wine.csv", sep=";", decimal=",")
    frame.iloc[:3].to_csv(tmp_path / "new.csv", index=False)
    shown = table(
        invoke(
            "neighbors",
            folder / "judge.safetensors",
            folder / "wine.csv",
            "--queries",
            tmp_path / "new.csv",
            "--k",
            1,
        )
    )
    assert shown["neighbor"].tolist() == [0, 1, 2]
    np.testing.assert_allclose(shown["distance"], 0, atol=1e-12)


def test_json_on_stdout(folder):
    model, data = folder / "judge.safetensors", folder / "wine.csv"
    for arguments in (
        ["transform", model, data],
        ["verify", model, data, "--id", "sku", "--pairs", folder / "pairs.csv"],
        ["neighbors", model, data],
        ["info", model],
        ["info", data],
        ["info"],
        ["info", "--methods"],
        ["datasets"],
        ["datasets", "iris"],
        ["compare", "iris", "--methods", "Euclidean,RCA"],
    ):
        result = invoke(*arguments, "--json", "-")
        assert result.exit_code == 0, result.output
        assert isinstance(json.loads(result.stdout), dict)


def test_from_stdin(folder, tmp_path):
    content = (folder / "wine.csv").read_bytes()
    model = tmp_path / "model.safetensors"
    result = invoke("fit", "-", *FIT, "--method", "FDA", "--output", model, input=content)
    assert result.exit_code == 0, result.output
    frame = pd.read_csv(folder / "wine.csv", sep=";", decimal=",")
    parquet = io.BytesIO()
    parquet.close = lambda: None
    frame.to_parquet(parquet)
    for given in (content, frame.to_csv(index=False, sep="|").encode("utf-16"), parquet.getvalue()):
        shown = table(invoke("transform", model, "-", input=given))
        assert list(shown) == ["z0", "z1"]
        assert len(shown) == 178
    assert "the input cannot be read as parquet" in complaint(
        "transform", model, "-", "--format", "parquet", input=content
    )
    assert "the input is empty" in complaint("transform", model, "-", input=b"")


def test_pairs_and_data_sets_by_name(folder, tmp_path, monkeypatch):
    options = ["--method", "ITML", "--output", tmp_path / "m.safetensors"]
    result = invoke(
        "fit",
        folder / "wine.csv",
        "--pairs",
        folder / "pairs.csv",
        "--id",
        "sku",
        "--drop",
        "brand",
        "--encode",
        "--impute",
        *options,
    )
    assert result.exit_code == 0, result.output
    assert "objective" in result.stdout
    monkeypatch.setenv("LIKEWISE_DATA", str(tmp_path))
    np.savez(tmp_path / "judged.npz", X=WINE.X, pairs=PAIRS, same=SAME)
    assert invoke("fit", "judged", *options).exit_code == 0
    found = lw.load(tmp_path / "m.safetensors")
    expected = TableModel(lw.ITML(random_state=0)).fit_pairs(WINE.X, PAIRS, SAME)
    np.testing.assert_array_equal(found.transform(WINE.X), expected.transform(WINE.X))


def test_methods_that_need_no_labels(folder, tmp_path):
    frame = pd.read_csv(folder / "wine.csv", sep=";", decimal=",")[["c0", "c2"]]
    frame.to_csv(tmp_path / "plain.csv", index=False)
    options = ["--output", tmp_path / "m.safetensors"]
    result = invoke("fit", tmp_path / "plain.csv", "--method", "Whitening", *options)
    assert result.exit_code == 0, result.output
    found = lw.load(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(
        found.transform(frame), TableModel(lw.Whitening()).fit(frame).transform(frame)
    )
    assert "no column called label" in complaint(
        "fit", tmp_path / "plain.csv", "--method", "RCA", *options
    )


def test_groups_are_subjects(folder, tmp_path):
    frame = pd.read_csv(folder / "wine.csv", sep=";", decimal=",").drop(columns=["sku", "hue"])
    frame.assign(c1=1.0, who=np.arange(178) // 2).to_csv(tmp_path / "grouped.csv", index=False)
    options = ["--label", "brand", "--groups", "who", "--method", "RCA", "--target", "eer"]
    output = tmp_path / "m.safetensors"
    result = invoke("fit", tmp_path / "grouped.csv", *options, "--output", output)
    assert result.exit_code == 0, result.output
    assert "give groups=y" not in " ".join(result.stdout.split())
    assert "who" not in lw.load(output).feature_names_in_


def test_verify_without_a_threshold(folder, tmp_path):
    model = tmp_path / "m.safetensors"
    result = invoke("fit", folder / "wine.csv", *FIT, "--method", "RCA", "--output", model)
    assert result.exit_code == 0, result.output
    command = ["verify", model, folder / "wine.csv", "--id", "sku"]
    judged = [*command, "--pairs", folder / "pairs.csv"]
    result = invoke(*judged, "--json", tmp_path / "v.json")
    written = json.loads((tmp_path / "v.json").read_text())
    shown = table(invoke(*judged))
    assert list(shown) == ["left", "right", "same", "distance"]
    curve = lw.statistics.verification_curve(shown["distance"], SAME)
    assert written["AUC"] == pytest.approx(curve.auc, abs=1e-6)
    assert written["EER"] == pytest.approx(curve.eer, abs=1e-6)
    assert f"EER {written['EER']}, threshold none: fit with --target" in invoke(*judged).stderr
    assert invoke(*command, "--pairs", folder / "asked.csv").stderr == ""
    for option in (["--unsure"], ["--prevalence", "0.1"]):
        assert "fit with --target" in complaint(*judged, *option)


def test_columns_that_options_take(folder):
    model, data = folder / "judge.safetensors", folder / "wine.csv"
    for option in ("--id", "--drop"):
        assert f"{option} takes the column 'hue' of" in complaint(
            "transform", model, data, option, "hue"
        )


def test_a_model_saved_from_python(folder, tmp_path):
    frame = pd.read_csv(folder / "wine.csv", sep=";", decimal=",")
    model = lw.RCA().fit(frame[["c0", "c5"]], WINE.y)
    model.save(tmp_path / "rca.safetensors")
    shown = table(invoke("transform", tmp_path / "rca.safetensors", folder / "wine.csv"))
    np.testing.assert_array_equal(shown, model.transform(frame[["c0", "c5"]]))
    lw.RCA().fit(WINE.X, WINE.y).save(tmp_path / "rca.safetensors")
    assert "must hold numbers" in complaint(
        "transform", tmp_path / "rca.safetensors", folder / "wine.csv"
    )
    frame[["c0"]].to_csv(tmp_path / "c0.csv", index=False)
    assert "X has 1 features" in complaint(
        "transform", tmp_path / "rca.safetensors", tmp_path / "c0.csv"
    )


def test_the_time_limit_keeps_the_best_model_so_far(tmp_path):
    model = tmp_path / "m.safetensors"
    result = invoke(
        "fit",
        "digits",
        "--method",
        "LMNN",
        "--time-limit",
        0.001,
        "--output",
        model,
        "--json",
        tmp_path / "out.json",
    )
    assert result.exit_code == 0, result.output
    assert re.search(r"LMNN was stopped by the time limit after \d iteration", result.stderr)
    assert json.loads((tmp_path / "out.json").read_text())["converged"] is False
    assert lw.load(model).model_.components_.shape == (64, 64)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--method", "LMN"], "there is no method 'LMN'; did you mean LMNN? known are Euclidean"),
        (["--method", "RCA", "--set", "k=3"], "RCA has no parameter 'k'; it has n_components, "),
        (["--method", "LMNN", "--set", "n_neighbors=x"], "n_neighbors='x' is not allowed: LMNN"),
        (["--method", "LMNN", "--set", "n_neighbors=0"], "needs an integer of at least 1"),
        (["--method", "RCA", "--set", "shrinkage"], "--set must be followed by key=value"),
        (["--method", "RCA", "--target", "fmr<=2", "--drop", "hue,sku,c1"], "fmr<=2"),
        (["--method", "RCA", "--target", "eer", "--set", "k=3"], "RCA has no parameter 'k'"),
        (["--method", "AROW", "--target", "eer"], "--target needs a metric, but AROW is none"),
        (["--method", "RCA", "--label", "brnd"], "no column 'brnd': did you mean 'brand'"),
        (["--method", "RCA", "--drop", "x"], "has no column 'x'"),
        (["--method", "RCA", "--id", "x"], "has no column 'x'"),
        (["--method", "RCA", "--output", "nowhere/m.safetensors"], "no folder there to write in"),
        (["--method", "RCA", "--time-limit", "0"], "0"),
        ([], "Missing option '--method'"),
        (["--method", "RCA", "--groups", "hue"], "--groups needs --target"),
        (["--method", "LMNN", "--pairs", "pairs.csv"], "--label and --pairs exclude each other"),
    ],
)
def test_bad_fits(folder, tmp_path, arguments, sentence, monkeypatch):
    monkeypatch.chdir(folder)
    label = [] if "--label" in arguments else ["--label", "brand"]
    before = {path.name for path in folder.iterdir()}
    assert sentence in complaint("fit", "wine.csv", *label, *arguments)
    assert {path.name for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["fit", "wine.csv", "--pairs", "pairs.csv", "--method", "LMNN"], "row numbers, found 'w"),
        (
            ["fit", "wine.csv", "--pairs", "pairs.csv", "--id", "sku", "--method", "LMNN"],
            "LMNN does not learn from pairs",
        ),
        (["verify", "judge.safetensors", "wine.csv"], "Missing option '--pairs'"),
        (["verify", "judge.safetensors", "wine.csv", "--pairs", "wine.csv"], "columns left and "),
        (["verify", "wine.csv", "wine.csv", "--pairs", "pairs.csv", "--id", "sku"], "safetensors"),
        (["verify", "judge.safetensors", "wine.csv", "--pairs", "x.csv"], "no file 'x.csv'"),
        (
            ["verify", "judge.safetensors", "wine.csv", "--pairs", "pairs.csv", "--id", "hue"],
            "two items have the id",
        ),
        (
            [
                "verify",
                "judge.safetensors",
                "wine.csv",
                "--pairs",
                "pairs.csv",
                "--id",
                "sku",
                "--prevalence",
                "2",
            ],
            "'--prevalence': 2.0 is not in the range 0<x<1",
        ),
        (
            ["neighbors", "judge.safetensors", "wine.csv", "--k", "0"],
            "0 is not in the range x>=1",
        ),
        (["neighbors", "judge.safetensors", "wine.csv", "--k", "178"], "only 177 other rows"),
        (["neighbors", "judge.safetensors", "wine.csv", "--queries", "x.csv"], "no file 'x.csv'"),
        (["transform", "judge.safetensors", "wine.csv", "--output", "x.xls"], "must end in .csv"),
        (["transform", "none.safetensors", "wine.csv"], "There is no file 'none.safetensors'"),
        (["transform", "judge.safetensors", "iris"], "'iris' has no column 'c0'"),
        (["transform", "judge.safetensors", "."], "is a folder"),
        (["datasets", "irsi"], "there is no data set 'irsi'; did you mean iris?"),
    ],
)
def test_bad_input(folder, arguments, sentence, monkeypatch):
    monkeypatch.chdir(folder)
    assert sentence in complaint(*arguments)


def test_a_local_model_has_no_map(tmp_path):
    model = tmp_path / "m.safetensors"
    arguments = ["--method", "PLML", "--set", "n_metrics=2", "--output", model]
    assert invoke("fit", "iris", *arguments).exit_code == 0
    assert "PLML has no map of rows" in complaint("transform", model, "iris")


def test_the_whole_way_in_processes(folder, tmp_path):
    """compare → fit → verify → export, as a person goes."""
    data, model = str(folder / "wine.csv"), str(tmp_path / "model.safetensors")

    def run(*arguments):
        done = subprocess.run(
            [sys.executable, "-m", "likewise", *arguments],
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "FDA" in run("compare", data, *FIT, "--methods", "Euclidean,RCA,FDA")
    assert "written" in run("fit", data, *FIT, "--method", "RCA", "--output", model)
    pairs = str(folder / "pairs.csv")
    assert run("verify", model, data, "--pairs", pairs, "--id", "sku").startswith("left,right")
    assert run("transform", model, data).startswith("z0,z1")
    assert run("neighbors", model, data).startswith("query,rank,neighbor,distance")
    assert "Wrote " in run("export", model, "--to", "numpy")
    assert "TableModel" in run("info", model)
    assert "iris" in run("datasets")
