"""Table 1 of the LMNN paper at toy size, and what its numbers are computed by."""

from dataclasses import replace

import numpy as np
import pytest
from lmnn_toy_data import write_toy_data
from scipy.linalg import eig

from likewise.batch.lmnn import multi_metric
from likewise.batch.lmnn.early_stopping import split_validation
from likewise.experiments import Size, _lmnn_methods, reproduce
from likewise.experiments._choice import choose
from likewise.experiments._lmnn_counts import active_constraints, left_out_error
from likewise.experiments._lmnn_data import problem
from likewise.experiments._lmnn_methods import (
    equal_class_lda,
    fitted_metrics,
    some_rows,
    splits,
)
from likewise.experiments.lmnn_table import LMNN_TABLE1, run_trial

LIMIT = 60


@pytest.fixture(autouse=True)
def data_folder(tmp_path, monkeypatch):
    write_toy_data(tmp_path)
    monkeypatch.setenv("LIKEWISE_DATA", str(tmp_path))
    problem.cache_clear()
    yield
    problem.cache_clear()


@pytest.mark.filterwarnings("ignore:n_neighbors=3 needs 4 rows")
def test_whole_experiment_at_toy_size(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib", reason="figures need Matplotlib")
    monkeypatch.setattr(_lmnn_methods, "NUMBERS_OF_PASSES", (2, 3))
    size = Size(
        ("isolet", "20news", "bal"),
        LMNN_TABLE1.full.methods,
        runs=1,
        options={"limit": LIMIT},
    )
    found = reproduce(replace(LMNN_TABLE1, full=size), output=tmp_path / "results")
    cells = found.results["cells"]
    errors = [cell for cell in cells if cell["measure"] == "error"]
    assert len(errors) == 3 * len(LMNN_TABLE1.full.methods)
    assert all(0 <= cell["mean"] <= 100 for cell in errors)
    assert all(cell["mark"] is None for cell in errors if cell["dataset"] == "20news")
    assert {cell["method"] for cell in cells if cell["measure"] == "active"} == {
        "LMNN",
        "LMNN metrics",
    }
    assert {file.suffix for file in found.files} == {".json", ".md", ".svg", ".png"}


def test_the_euclidean_error_is_that_of_a_vote_of_three():
    p = problem("bal", 1, None)
    assert (len(p.y), len(p.y_test)) == (63, 27)
    assert not {tuple(row) for row in p.raw} & {tuple(row) for row in p.raw_test}
    wrong = 0
    for row, label in zip(p.raw_test, p.y_test, strict=True):
        votes = p.y[np.argsort(np.square(p.raw - row).sum(axis=1))[:3]].tolist()
        wrong += (max(votes, key=votes.count) if len(set(votes)) < 3 else votes[0]) != label
    assert run_trial("bal", "Euclidean", 1)["error"] == pytest.approx(100 * wrong / 27)


def test_principal_components_are_those_of_the_training_rows():
    p = problem("isolet", 0, None)
    centred = p.raw - p.raw.mean(axis=0)
    directions = np.linalg.svd(centred, full_matrices=False)[2]
    np.testing.assert_allclose(np.abs(p.X), np.abs(centred @ directions.T), atol=1e-8)
    test = (p.raw_test - p.raw.mean(axis=0)) @ directions.T
    np.testing.assert_allclose(np.abs(p.X_test), np.abs(test), atol=1e-8)


def test_settings_are_chosen_on_training_rows_that_were_not_learned_from():
    p = problem("bal", 0, None)
    parts = list(splits("bal", p, 0))
    held = np.concatenate([part for _, part in parts])
    assert sorted(held.tolist()) == list(range(len(p.y)))
    for train, part in parts:
        assert not set(train.tolist()) & set(part.tolist())
    scores = iter([[3.0, 1.0, 2.0], [1.0, 4.0, 1.5]])
    assert choose("abc", lambda part: next(scores), iter(parts[:2])) == "c"


@pytest.mark.parametrize("limit", [None, 40])
def test_active_constraints_are_those_of_the_rows_that_were_learned_from(monkeypatch, limit):
    learned = []

    def recorded(*arguments):
        train, held = split_validation(*arguments)
        learned.append((len(train), len(held)))
        return train, held

    monkeypatch.setattr(multi_metric, "split_validation", recorded)
    monkeypatch.setattr(_lmnn_methods, "_MOST_ROWS_OF_VARIANTS", 30)
    monkeypatch.setattr(_lmnn_methods, "SMALL", ())
    fitted_metrics.cache_clear()
    p = problem("bal", 0, limit)
    fitted = fitted_metrics("bal", 0, limit)
    assert learned == [(len(fitted.rows), 30 - len(fitted.rows))]
    assert 15 < len(fitted.rows) < 30
    assert np.isin(fitted.rows, some_rows(p, 30, "variants", 0)).all()
    found = run_trial("bal", "LMNN metrics", 0, limit=limit)
    X, codes = p.X[fitted.rows], np.unique(p.y, return_inverse=True)[1][fitted.rows]
    every = np.arange(len(X))
    assert found["active"] == active_constraints(fitted.model.components_, X, codes, 3, every)
    fitted_metrics.cache_clear()


def test_lda_weights_classes_equally():
    random = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [40, 15, 5])
    X = random.normal(size=(60, 4)) + 3 * random.normal(size=(3, 4))[y]
    L = equal_class_lda(X, y)
    centred = X - X.mean(axis=0)
    means = [centred[y == c].mean(axis=0) for c in range(3)]
    between = sum(np.outer(m, m) for m in means) / 3
    within = sum(np.outer(r, r) for c in range(3) for r in centred[y == c] - means[c]) / 60
    values, vectors = eig(np.linalg.solve(within, between))
    leading = np.real(vectors[:, np.argsort(-np.real(values))[:2]]).T
    for ours, theirs in zip(L, leading, strict=True):
        cosine = ours @ theirs / np.linalg.norm(ours) / np.linalg.norm(theirs)
        assert abs(cosine) == pytest.approx(1, abs=1e-7)
        assert ours @ within @ ours == pytest.approx(1, rel=1e-6)


@pytest.mark.parametrize("n_metrics", [1, 3])
def test_left_out_errors_and_active_constraints_by_loops(n_metrics):
    random = np.random.default_rng(1)
    y = np.arange(24) % 3
    X = random.normal(size=(24, 2)) + y[:, None]
    components = random.normal(size=(n_metrics, 2, 2))

    def sqdist(i, j):
        L = components[y[j] if n_metrics > 1 else 0]
        return float(np.square(L @ (X[i] - X[j])).sum())

    wrong = active = 0
    for i in range(24):
        near = sorted((j for j in range(24) if j != i), key=lambda j: sqdist(i, j))[:3]
        votes = [int(y[j]) for j in near]
        winner = max(votes, key=votes.count) if len(set(votes)) < 3 else votes[0]
        wrong += winner != y[i]
        own = [j for j in range(24) if y[j] == y[i] and j != i]
        targets = sorted(own, key=lambda j: np.square(X[i] - X[j]).sum())[:3]
        active += sum(
            1 + sqdist(i, target) - sqdist(i, impostor) > 0
            for target in targets
            for impostor in range(24)
            if y[impostor] != y[i]
        )
    rows = np.arange(24)
    assert left_out_error(components, X, y, 3, rows) == pytest.approx(wrong / 24)
    assert active_constraints(components, X, y, 3, rows) == active
