"""Online classifiers on streams: scores, and the whole table at toy size."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import f1_score

from likewise.experiments import Size, reproduce
from likewise.experiments._classifier_streams import STREAMS, in_basis_of_rows
from likewise.experiments._seeds import generator
from likewise.experiments.pam import CURVES, METHODS, TABLE1, run_stream

pytest.importorskip("matplotlib", reason="figures need Matplotlib")


@pytest.fixture
def data_folder(tmp_path, monkeypatch):
    """Small files in the form of the real ones."""
    random = np.random.default_rng(0)

    def write(name, n_samples, n_features, n_classes, **extra):
        y = np.arange(n_samples) % n_classes
        X = random.poisson(1, (n_samples, n_features)) + 2 * np.eye(n_classes, n_features)[y]
        np.savez(tmp_path / f"{name}.npz", X=X.astype(np.float32), y=y.astype(np.int16), **extra)

    write("bupa", 60, 6, 2)
    write("crx", 60, 8, 2, X_int=random.normal(size=(60, 4)).astype(np.float32))
    write("usps", 200, 16, 10)
    write("mnist", 200, 16, 10)
    write("webkb4_bow", 1200, 30, 4)
    write("tweets_sanders_bow", 1600, 30, 4)
    monkeypatch.setenv("LIKEWISE_DATA", str(tmp_path))


@pytest.mark.usefixtures("data_folder")
@pytest.mark.parametrize("declared", [TABLE1, CURVES], ids=lambda declared: declared.name)
def test_whole_experiment_at_toy_size(tmp_path, declared):
    size = Size(tuple(STREAMS), tuple(METHODS), runs=2, options={"limit": 40})
    experiment = replace(declared, full=size)
    found = reproduce(experiment, output=tmp_path / "results")
    cells = found.results["cells"]
    assert len(cells) == len(STREAMS) * len(METHODS) * len(experiment.measures)
    assert all(0 <= cell["mean"] <= 100 for cell in cells)
    marked = {cell["dataset"] for cell in cells if cell["mark"]}
    assert marked == ({"BUPA", "CRX", "USPS", "MNIST"} if declared is TABLE1 else set())
    assert all(file.stat().st_size for file in found.files)
    kinds = {".json", ".md"} | ({".svg", ".png"} if experiment.figures else set())
    assert {file.suffix for file in found.files} == kinds


@pytest.mark.usefixtures("data_folder")
@pytest.mark.parametrize("dataset", STREAMS)
def test_streams_depend_on_the_run_alone(dataset):
    streams = [STREAMS[dataset](generator(dataset, run), run, 20) for run in (0, 0, 1)]
    (X, positive), same, other = streams
    np.testing.assert_array_equal(X, same[0])
    np.testing.assert_array_equal(positive, same[1])
    assert not np.array_equal(X, other[0])
    assert 0 < positive.sum() < len(X) == 20


@pytest.mark.usefixtures("data_folder")
@pytest.mark.parametrize("method", METHODS)
def test_results_are_those_of_predictions_before_learning(method):
    found = run_stream("BUPA", method, 1, limit=50)
    X, positive = STREAMS["BUPA"](generator("BUPA", 1), 1, 50)
    predicted = predictions(method, found["parameter"], X, positive)
    assert found["f1_positive"] == pytest.approx(100 * f1_score(positive, predicted))
    assert found["f1_negative"] == pytest.approx(
        100 * f1_score(positive, predicted, pos_label=False)
    )
    wrong = positive != predicted
    assert found["error"] == pytest.approx(100 * wrong.mean())
    assert found["n"] == [20, 40]
    assert found["curve"] == pytest.approx([100 * wrong[:n].mean() for n in (20, 40)])


@pytest.mark.usefixtures("data_folder")
@pytest.mark.parametrize("method", METHODS)
def test_the_parameter_is_chosen_on_the_first_quarter(method):
    found = run_stream("CRX", method, 0, limit=52)
    X, positive = STREAMS["CRX"](generator("CRX", 0), 0, 52)
    mistakes = {
        value: np.sum(predictions(method, value, X[:13], positive[:13]) != positive[:13])
        for value in METHODS[method].values
    }
    assert found["parameter"] == min(v for v in mistakes if mistakes[v] == min(mistakes.values()))


def predictions(method, value, X, positive):
    """Predict each sample before it is learned."""
    learner, predicted = clone(METHODS[method].model), []
    learner.set_params(**{METHODS[method].parameter: value})
    for x, label in zip(X, positive, strict=True):
        predicted.append(bool(predicted) and bool(learner.predict(x[None])[0]))
        learner.learn_one(x, bool(label), classes=[False, True])
    return np.array(predicted)


def test_rows_in_their_own_basis_give_the_same_predictions():
    random = np.random.default_rng(1)
    X = random.normal(size=(40, 90))
    positive = X[:, 0] + 0.5 * random.normal(size=40) > 0
    Z = in_basis_of_rows(X)
    assert Z.shape == (40, 40)
    np.testing.assert_allclose(Z @ Z.T, X @ X.T, atol=1e-10)
    for method in ("PAM-II", "AROW"):
        np.testing.assert_array_equal(
            predictions(method, 0.5, X, positive), predictions(method, 0.5, Z, positive)
        )
    np.testing.assert_array_equal(in_basis_of_rows(X.T), X.T)


@pytest.mark.usefixtures("data_folder")
def test_table_and_curves_share_their_trials(tmp_path):
    size = Size(("BUPA",), ("PA-II", "CW"), runs=2, options={"limit": 40})
    for declared in (TABLE1, CURVES):
        reproduce(replace(declared, full=size), output=tmp_path / "results")
    assert len((tmp_path / "results" / "pam.jsonl").read_text().splitlines()) == 1 + 4
