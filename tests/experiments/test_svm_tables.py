"""Tables of the chapter on SVM metrics: both at toy size, their data, choices and ranks."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import rankdata
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from svm_data import write_data

from likewise.batch import ITML, Euclidean
from likewise.experiments import Trial, reproduce
from likewise.experiments._svm_chapter import TASKS, contender, split, splits
from likewise.experiments._tuned import Contender, choose_settings, evaluate
from likewise.experiments.svm_tables import TABLE22, TABLE24, ranks, run_method

TOY = {"n_rows": 20, "n_folds": 1}
FEW = {"svm-table22": ("MNIST", "Semeion"), "svm-table24": ("Letter", "Cardiotocography")}


@pytest.fixture(autouse=True)
def data_folder(tmp_path, monkeypatch):
    write_data(tmp_path, TASKS.values())
    monkeypatch.setenv("LIKEWISE_DATA", str(tmp_path))


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("declared", [TABLE22, TABLE24], ids=lambda declared: declared.name)
def test_whole_experiment_at_toy_size(tmp_path, declared):
    size = replace(declared.full, datasets=FEW[declared.name], runs=2, options=TOY)
    found = reproduce(replace(declared, full=size), output=tmp_path / "results").results
    errors = [cell for cell in found["cells"] if cell["measure"] == "error"]
    missing = {("MNIST", "MCML")} if declared is TABLE22 else set()
    assert {(cell["dataset"], cell["method"]) for cell in errors} == {
        (dataset, method) for dataset in size.datasets for method in size.methods
    } - missing
    assert all(0 <= cell["mean"] <= 100 for cell in errors)
    for cell in errors:
        assert len(cell["runs"]) == (2 if TASKS[cell["dataset"]].in_folds else 1)
    places = (*size.datasets, "Average rank")
    published = [cell for cell in declared.published if cell.dataset in places]
    assert sum(found["marks"].values()) == len(published)
    own = [cell for cell in published if cell.method in declared.own_methods]
    assert sum(found["own_marks"].values()) == len(own)


def test_the_euclidean_error_is_that_of_the_folds():
    found = run_method("Semeion", "Euclidean", 1, **TOY | {"n_folds": 2})
    wrong = 0
    for fold in splits(TASKS["Semeion"], 1, 2):
        knn = KNeighborsClassifier(1).fit(fold.X, fold.y)
        wrong += np.count_nonzero(knn.predict(fold.X_test) != fold.y_test)
    assert found["error"] == pytest.approx(100 * wrong / found["n_test"])


def test_the_chapters_methods_learn_from_all_rows():
    limits = {m: contender(m, "MNIST").max_rows for m in ("PCML", "NCML", "NCML nearest", "LMNN")}
    assert limits == {"PCML": None, "NCML": None, "NCML nearest": None, "LMNN": 10_000}
    assert contender("NCA", "Letter").max_rows == 2000
    assert contender("doublet-SVM", "Letter").max_rows is None


def test_cardiotocography_has_its_ten_classes():
    fold = split(TASKS["Cardiotocography"], 0, 0)
    assert set(fold.y) == set(range(6))  # y has three; the other labels of the toy file have six


def test_letter_is_split_where_its_file_says():
    rows = split(TASKS["Letter"], 0, 0)
    assert (len(rows.X), len(rows.X_test)) == (45, 15)


def test_folds_are_those_of_the_run_and_cover_all_rows():
    task = TASKS["Sonar"]
    first, again, other = (list(splits(task, run)) for run in (0, 0, 1))
    assert sum(len(fold.y_test) for fold in first) == 60
    np.testing.assert_array_equal(first[3].y_test, again[3].y_test)
    assert any(not np.array_equal(a.X_test, b.X_test) for a, b in zip(first, other, strict=True))


def test_principal_components_are_those_of_the_training_rows(monkeypatch):
    task = replace(TASKS["USPS"], n_components=4)
    rows = split(task, 0, 0)
    assert rows.X.shape[1] == rows.X_test.shape[1] == 4
    covariance = rows.X.T @ rows.X
    np.testing.assert_allclose(covariance, np.diag(np.diag(covariance)), atol=1e-8)
    whole = split(TASKS["USPS"], 0, 0)
    leading = np.sort(np.linalg.eigvalsh(whole.X.T @ whole.X))[::-1][:4]
    np.testing.assert_allclose(np.diag(covariance), leading)


def test_settings_do_not_depend_on_test_rows(tmp_path, monkeypatch):
    found = run_method("SPECTF", "triplet-SVM", 0, **TOY)
    arrays = dict(np.load(tmp_path / "spectf.npz"))
    arrays["X_test"], arrays["y_test"] = -arrays["X_test"], arrays["y_test"][::-1]
    other = tmp_path / "other"
    other.mkdir()
    np.savez(other / "spectf.npz", **arrays)
    monkeypatch.setenv("LIKEWISE_DATA", str(other))
    changed = run_method("SPECTF", "triplet-SVM", 0, **TOY)
    assert changed["settings"] == found["settings"]
    assert changed["error"] != found["error"]


def test_the_settings_with_the_fewest_errors_are_chosen():
    random = np.random.default_rng(0)
    y = np.arange(80) % 2
    X = np.column_stack([y + 0.05 * random.normal(size=80), 100 * random.normal(size=80)])
    tried = Contender(Euclidean, {"standardize": (False, True)})
    assert choose_settings(tried, X, y, 80, random) == {"standardize": True}


def test_standardising_is_that_of_the_training_rows():
    rows = split(TASKS["Satellite"], 0, 0)
    found = evaluate(Contender(Euclidean), {"standardize": True}, rows, np.random.default_rng(0))
    scaler = StandardScaler().fit(rows.X)
    knn = KNeighborsClassifier(1).fit(scaler.transform(rows.X), rows.y)
    assert found == np.count_nonzero(knn.predict(scaler.transform(rows.X_test)) != rows.y_test)


def test_few_rows_are_learned_from_but_all_are_neighbours():
    rows, sizes = split(TASKS["Satellite"], 0, 0), []

    class Recorded(Euclidean):
        def fit(self, X, y=None):
            sizes.append(len(X))
            return super().fit(X, y)

    few = Contender(Recorded, max_rows=10)
    found = evaluate(few, {}, rows, np.random.default_rng(0))
    assert sizes == [10]
    whole = evaluate(Contender(Euclidean), {}, rows, np.random.default_rng(0))
    assert found == whole


def test_ranks_are_those_of_the_mean_errors_and_a_missing_one_has_none():
    errors = {"a": [3.0, 1.0, 2.0], "b": [1.0, 1.0, 5.0], "c": [2.0, None, 1.0]}
    results = {
        Trial(run, dataset, method): {} if values[place] is None else {"error": values[place] + run}
        for method, values in errors.items()
        for place, dataset in enumerate(("x", "y", "z"))
        for run in range(2)
    }
    found = ranks(results, errors)
    for number in (0, 2):
        expected = rankdata([values[number] for values in errors.values()])
        got = [found[Trial(number, "Average rank", method)]["rank"] for method in errors]
        np.testing.assert_array_equal(got, expected)
    assert found[Trial(1, "Average rank", "a")]["rank"] == 1.5
    assert Trial(1, "Average rank", "c") not in found
    shown = ranks(results, errors, ["b"])
    assert {trial.method for trial in shown} == {"b"}


def test_every_grid_holds_parameters_of_its_method():
    for method in (*TABLE22.full.methods, *TABLE24.full.methods):
        for settings in contender(method, "PenDigits").settings():
            assert contender(method, "PenDigits").make(**settings) is not None
    assert (
        contender("ITML", "Satellite").make(slack_weight=2.0).get_params()
        == ITML(slack_weight=2.0, random_state=0).get_params()
    )
