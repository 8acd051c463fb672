"""Figures of the LMNN paper at toy size, and the searches that they compare."""

from dataclasses import replace

import numpy as np
import pytest
from lmnn_toy_data import write_toy_data

from likewise.experiments import Size, Trial, reproduce
from likewise.experiments._lmnn_data import problem
from likewise.experiments._lmnn_reduction import digits, run_search, square_metric
from likewise.experiments._lmnn_search import nearest_by_abandoning, within_by_abandoning
from likewise.experiments._lmnn_toys import circles, run_circles, zebra
from likewise.experiments.lmnn_figures import LMNN_FIGURES


@pytest.fixture
def data_folder(tmp_path, monkeypatch):
    write_toy_data(tmp_path)
    monkeypatch.setenv("LIKEWISE_DATA", str(tmp_path))
    for cached in (problem, digits, square_metric):
        cached.cache_clear()
    yield tmp_path
    for cached in (problem, digits, square_metric):
        cached.cache_clear()


@pytest.mark.filterwarnings("ignore:n_neighbors=3 needs 4 rows")
def test_whole_experiment_at_toy_size(data_folder):
    pytest.importorskip("matplotlib", reason="figures need Matplotlib")
    options = dict(LMNN_FIGURES.quick.options)
    options |= {"n_stripes": 60, "n_digits": 80, "limit": 120, "n_queries": 3}
    options |= {"n_learn": None, "n_learn_deskewed": 60}
    size = replace(LMNN_FIGURES.quick, options=options)
    found = reproduce(replace(LMNN_FIGURES, full=size), output=data_folder / "results")
    measures = {cell["measure"] for cell in found.results["cells"]}
    assert measures == {measure.name for measure in LMNN_FIGURES.measures}
    assert len([file for file in found.files if file.suffix == ".png"]) == 7
    marked = {cell["dataset"] for cell in found.results["cells"] if cell["mark"]}
    assert marked == {"15 dimensions"}


def test_trees_and_abandoning_find_the_same_impostors(data_folder):
    found = run_search(10, "impostors by ball trees", 100, 10, 20)
    assert found["n_impostors"] == found["n_impostors_by_abandoning"] > 0


@pytest.mark.parametrize("n_features", [3, 8, 21])
def test_abandoning_is_exact(n_features):
    random = np.random.default_rng(n_features)
    scales = np.linspace(3, 0.1, n_features)
    rows, queries = (scales * random.normal(size=(n, n_features)) for n in (300, 20))
    for query in queries:
        sqdist = np.square(rows - query).sum(axis=1)
        index, compared = nearest_by_abandoning(query, rows, 3)
        assert index.tolist() == np.argsort(sqdist)[:3].tolist()
        assert compared <= rows.size + 3 * n_features
        radius = float(np.median(sqdist))
        near, _ = within_by_abandoning(query, rows, radius)
        assert near.tolist() == np.flatnonzero(sqdist <= radius).tolist()
    if n_features > 8:
        assert compared < 0.8 * rows.size


def test_circles_no_single_metric_separates():
    X, y = circles()
    distances = np.square(X[:, None] - X).sum(axis=2)
    np.fill_diagonal(distances, np.inf)
    assert (y[distances.argmin(axis=1)] != y).all()
    assert run_circles("1 metric")["left_out"] == 100
    assert run_circles("6 metrics")["left_out"] < 10
    assert run_circles("2 projections")["left_out"] < 21


def test_stripes_alternate_in_two_modes():
    X, y = zebra(500, np.random.default_rng(0))
    assert set(np.unique(X[:, 0] > 5)) == {False, True}
    inside = X[:, 0] - 10 * (X[:, 0] > 5)
    assert ((inside >= 0) & (inside <= 1)).all()
    np.testing.assert_array_equal(y, (6 * inside).astype(int) % 2)


def test_some_data_sets_have_fewer_runs():
    size = Size(("a", "b"), ("x", "y"), 2, absent=frozenset([("b", "y")]), runs_of={"a": 1})
    assert list(size.trials()) == [
        Trial(0, "a", "x"),
        Trial(0, "a", "y"),
        Trial(0, "b", "x"),
        Trial(1, "b", "x"),
    ]
