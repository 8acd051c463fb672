"""Pairs of digits: the whole experiment at toy size, and how wins are counted."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from likewise.batch import RCA
from likewise.constraints import random_pairs
from likewise.experiments import Size, Trial, reproduce
from likewise.experiments.pola_mnist import POLA_MNIST, _count_wins, _learn, run_problem

OPTIONS = {"n_train": 120, "n_test": None, "n_pairs": 60, "max_iter": 3}


@pytest.fixture
def data_folder(tmp_path, monkeypatch):
    random = np.random.default_rng(0)
    means = random.integers(0, 200, (10, 20))

    def images(n_samples):
        y = np.arange(n_samples) % 10
        noise = random.integers(-50, 50, (n_samples, 20))
        return np.clip(means[y] + noise, 0, 255).astype(np.uint8), y.astype(np.int16)

    X, y = images(300)
    X_test, y_test = images(100)
    X[:, 3] = 7  # a pixel without any difference
    np.savez(tmp_path / "mnist.npz", X=X, y=y, X_test=X_test, y_test=y_test)
    monkeypatch.setenv("LIKEWISE_DATA", str(tmp_path))
    return X, y, X_test, y_test


@pytest.mark.usefixtures("data_folder")
def test_whole_experiment_at_toy_size(tmp_path):
    pytest.importorskip("matplotlib", reason="figures need Matplotlib")
    size = Size(("0-8", "4-9"), POLA_MNIST.full.methods, runs=1, options=OPTIONS)
    found = reproduce(replace(POLA_MNIST, full=size), output=tmp_path / "results")
    cells = found.results["cells"]
    assert all(0 <= cell["mean"] <= 100 for cell in cells)
    assert {cell["method"] for cell in cells if cell["measure"] == "direction_1"} == {"POLA", "FDA"}
    marked = [(cell["dataset"], cell["method"], cell["measure"]) for cell in cells if cell["mark"]]
    rivals = ("Euclidean", "RCA", "RCA after PCA", "FDA")
    assert marked == [(f"against {r}", "POLA", f"ahead_{k}") for k in (1, 3) for r in rivals]
    assert {file.suffix for file in found.files} == {".json", ".md", ".svg", ".png"}


def test_the_euclidean_error_is_that_of_all_rows(data_folder):
    X, y, X_test, y_test = (array.astype(float) for array in data_folder)
    found = run_problem("2-7", "Euclidean", 0, **OPTIONS | {"n_train": 300})
    train, test = np.isin(y, [2, 7]), np.isin(y_test, [2, 7])
    for k in (1, 3):
        knn = KNeighborsClassifier(k).fit(X[train], y[train])
        expected = 100 * (1 - knn.score(X_test[test], y_test[test]))
        assert found[f"error_{k}"] == pytest.approx(expected)
    assert found["n_test"] == 20


def test_rca_and_fda_have_no_shrinkage(data_folder):
    """From the formulas: FDA's direction is S⁻¹(m₁ - m₂), the metric of RCA the inverse of C."""
    X, y = data_folder[0].astype(float), data_folder[1]
    X, y = X[np.isin(y, [2, 7])], y[np.isin(y, [2, 7])]
    pairs = random_pairs(y, 400, balanced=False, random_state=0)
    first, second = X[y == 2], X[y == 7]
    within = np.cov(first.T, bias=True) * len(first) + np.cov(second.T, bias=True) * len(second)
    direction = np.linalg.pinv(within, rcond=1e-10) @ (first.mean(axis=0) - second.mean(axis=0))
    found = _learn("FDA", X, y, pairs, 1, 0)[0]
    cosine = found @ direction / np.linalg.norm(found) / np.linalg.norm(direction)
    assert abs(cosine) == pytest.approx(1, abs=1e-8)
    L = _learn("RCA", X, y, pairs, 1, 0)
    expected = RCA(shrinkage=0.0).fit_pairs(X, pairs.index, pairs.same).mahalanobis_matrix()
    np.testing.assert_allclose(L.T @ L, expected, rtol=1e-8, atol=1e-12)


def test_wins_are_counted_problem_by_problem():
    ours = {"error_1": 1.0, "error_3": 2.0, "direction_1": 3.0, "direction_3": 4.0}
    others = {"error_1": 2.0, "error_3": 2.0, "direction_1": 2.0, "direction_3": 5.0}
    results = {Trial(0, "0-1", "POLA"): ours, Trial(0, "0-2", "POLA"): ours}
    for rival in ("Euclidean", "RCA", "RCA after PCA", "FDA"):
        results |= {Trial(0, "0-1", rival): others, Trial(0, "0-2", rival): ours}
    wins = _count_wins(results)
    assert wins[Trial(0, "against RCA", "POLA")] == {
        "ahead_1": 50.0,
        "ahead_3": 0.0,
        "problems": 2,
    }
    assert wins[Trial(0, "against FDA", "POLA")] == {
        "ahead_1": 0.0,
        "ahead_3": 50.0,
        "problems": 2,
    }
