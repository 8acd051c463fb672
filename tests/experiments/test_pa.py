"""Online metrics: trials against scikit-learn and brute force; all experiments at toy size."""

from dataclasses import replace

import numpy as np
import pytest
from pa_data import write_data
from sklearn.metrics import balanced_accuracy_score
from sklearn.neighbors import KNeighborsClassifier

import likewise.experiments._pa_trials as trials
from likewise.datasets import load
from likewise.experiments import Size, reproduce
from likewise.experiments._pa_data import DATA, STAND_INS, samples
from likewise.experiments._pa_trials import METHODS, ONLINE, draw_halves, run_metric
from likewise.experiments.pa import FIGURES, RANKS, TABLES
from likewise.online import PAMetric

LIMIT = 40


@pytest.fixture(autouse=True)
def data_folder(tmp_path, monkeypatch):
    write_data(tmp_path)
    monkeypatch.setenv("LIKEWISE_DATA", str(tmp_path))


def test_whole_experiments_at_toy_size_run_their_trials_once(tmp_path):
    pytest.importorskip("matplotlib", reason="figures need Matplotlib")
    size = Size(("wine", "iono", "usps"), METHODS, runs=1, options={"limit": LIMIT})
    tables = reproduce(replace(TABLES, full=size), output=tmp_path / "results")
    cells = tables.results["cells"]
    assert len(cells) == 2 * 3 * len(METHODS)
    assert all(0 <= cell["mean"] <= 1 for cell in cells if cell["measure"] == "error")
    marked = {cell["dataset"] for cell in cells if cell["mark"]}
    assert marked == {"wine", "iono"}

    ranks, figures = (
        reproduce(replace(declared, full=size, run=_fail), output=tmp_path / "results")
        for declared in (RANKS, FIGURES)
    )
    found = {(cell["dataset"], cell["method"]): cell for cell in ranks.results["cells"]}
    assert len(found["times", "PALS−"]["runs"]) == 2  # data sets without the stand-in
    assert found["times", "PALS−"]["published"] == 2.87
    assert [figure["name"] for figure in figures.results["figures"]] == [
        f"pa-figures-{name}"
        for name in ("distances", "steps", "predictive", "dimension", "eigenvectors", "times")
    ]
    written = [file for result in (ranks, figures) for file in result.files]
    assert sum(file.suffix == ".svg" for file in written) == 7
    assert all(file.stat().st_size for file in written)


def _fail(*arguments, **options):
    raise AssertionError("a trial was run again")


def test_every_data_set_and_number_of_the_paper_is_declared():
    assert set(DATA) - set(STAND_INS) == set(TABLES.full.datasets) - {"usps"}
    assert len(DATA) - len(STAND_INS) == 11
    assert len(TABLES.published) == len(DATA) * len(METHODS)
    times = [entry for entry in RANKS.published if entry.measure == "ratio"]
    assert len(times) == len(DATA) * len(ONLINE)
    (soy,) = [e for e in times if (e.dataset, e.method) == ("soyL", "PALS+")]
    assert soy.value == pytest.approx(26.47 / 26.93)
    assert soy.standard_error == pytest.approx(2.37 / 26.93 / 10**0.5)


def test_rows_of_the_paper_are_chosen():
    soybeans = load("soybean_complete")
    X, y = samples("soyL")
    np.testing.assert_array_equal(X, soybeans.X[:266])
    small, classes = samples("soyS")
    chosen = [row for row in range(266) if soybeans.y[row] in (0, 4, 9, 11)]
    np.testing.assert_array_equal(small, X[chosen])
    np.testing.assert_array_equal(np.unique(classes), np.arange(4))

    _, y = samples("glass")
    assert np.bincount(y).tolist() == [12, 12, 12, 36]
    ecoli = load("ecoli")
    X, y = samples("ecoli")
    np.testing.assert_array_equal(X, ecoli.X[ecoli.y != 2])
    assert np.bincount(y).tolist() == [20, 20, 20]
    assert len(samples("satellite")[0]) == 60
    digit = load("usps").X[0].reshape(16, 16)
    assert samples("usps")[0].shape == (60, 64)
    assert samples("usps")[0][0, 9] == pytest.approx(digit[2:4, 2:4].mean(), rel=1e-6)


def test_halves_have_the_pairs_of_the_paper():
    data = draw_halves("balance", 3, None)
    assert np.bincount(data.y).tolist() == np.bincount(data.y_test).tolist() == [10, 10, 10]
    spread = np.ptp(data.X, axis=0)
    np.testing.assert_allclose(np.delete(spread, 1), 1)
    assert spread[1] == 0
    index, same = data.pairs
    assert len(index) == 40 * 3 * 2
    assert len({frozenset(pair) for pair in index.tolist()}) == len(index)
    np.testing.assert_array_equal(same, data.y[index[:, 0]] == data.y[index[:, 1]])
    few = draw_halves("balance", 3, 20)
    assert len(few.pairs) == 45  # all there are
    other, again = draw_halves("balance", 4, None), draw_halves("balance", 3, None)
    np.testing.assert_array_equal(data.X, again.X)
    assert not np.array_equal(data.X, other.X)


def test_euclidean_errors_are_those_of_scikit_learn():
    data = draw_halves("wine", 0, None)
    found = run_metric("wine", "Euclidean", 0)["errors"]
    for k in range(1, 26):
        predicted = KNeighborsClassifier(k).fit(data.X, data.y).predict(data.X_test)
        assert found[k - 1] == pytest.approx(1 - balanced_accuracy_score(data.y_test, predicted))


@pytest.mark.parametrize("method", ONLINE)
def test_c_has_the_best_accuracy_after_one_pass(method):
    data = draw_halves("iono", 1, None)
    variant, psd = ONLINE[method]
    accuracies, Cs = [], np.logspace(-4, 2, 13)
    for C in Cs:
        model = PAMetric(variant, C, psd=psd, scale=1.0, max_iter=1, shuffle=False)
        Z = model.fit_pairs(data.X, *data.pairs).transform(data.X)
        accuracies.append(max(_leave_one_out(Z, data.y, k) for k in range(1, 26)))
    found = run_metric("iono", method, 1)
    assert found["parameter"] == pytest.approx(Cs[int(np.argmax(accuracies))])


def _leave_one_out(Z, y, k):
    """Return the accuracy of k other rows, fewer where the vote is tied."""
    right = 0
    for row in range(len(Z)):
        order = np.argsort(np.square(Z - Z[row]).sum(axis=1), kind="stable")
        labels = y[order[order != row]]
        for n_votes in range(k, 0, -1):
            counts = np.bincount(labels[:n_votes], minlength=y.max() + 1)
            if np.count_nonzero(counts == counts.max()) == 1:
                right += counts.argmax() == y[row]
                break
    return right / len(Z)


@pytest.mark.parametrize("method", ["ITML", "PA-I+", "PALS−"])
def test_settings_are_chosen_on_training_rows(monkeypatch, method):
    expected = run_metric("iono", method, 0)
    data = draw_halves("iono", 0, None)
    wrong = replace(data, X_test=data.X_test[::-1] * 5, y_test=1 - data.y_test)
    monkeypatch.setattr(trials, "draw_halves", lambda *arguments: wrong)
    found = run_metric("iono", method, 0)
    assert found["errors"] != expected["errors"]
    for name in ("parameter", "dimension", "predictive", "train_by_eigenvectors"):
        assert found.get(name) == expected.get(name)


def test_a_trial_takes_the_steps_of_the_paper():
    found = run_metric("iono", "PA-II−", 2)
    data = draw_halves("iono", 2, None)
    n_samples, r = 60, len(data.pairs)
    steps = max(min(n_samples * (n_samples - 2) // 40, 50 * r), 2 * r)
    assert steps <= found["events"][-1] <= steps + r
    assert found["predictive"] == pytest.approx(found["predictive_curve"][-1], abs=0.02)
    assert found["test_by_eigenvectors"][-1] == pytest.approx(found["errors"][1])
    assert len(found["train_by_eigenvectors"]) == data.X.shape[1]
    assert found["seconds"] > 0
