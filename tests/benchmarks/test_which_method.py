"""The page *Which method?* shows what its results say."""

import importlib.util
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
from benchmarks import which_method

from likewise import Euclidean
from likewise.evaluation import COMPARED_METHODS

DOCS = Path(__file__).parent.parent.parent / "docs"
pytest.importorskip("docutils")


@pytest.fixture
def ranks(monkeypatch):
    pytest.importorskip("numpydoc")
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    spec = importlib.util.spec_from_file_location("ranks", DOCS / "_ext" / "ranks.py")
    module = sys.modules["ranks"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules["ranks"]


@pytest.fixture(scope="module")
def results():
    return json.loads(which_method.RESULTS.read_text(encoding="utf-8"))


def test_results_are_complete(results):
    assert tuple(results) == which_method.DATASETS
    for data in results.values():
        for what in ("errors", "eers", "cpu_seconds", "peak_bytes"):
            assert list(data[what]) == list(COMPARED_METHODS)
        assert data["n_samples"] <= 600
        assert data["n_features"] <= 60
        assert not data["failed"]


def test_ranks_and_intervals_by_hand(ranks, results):
    table = {name: [] for name in COMPARED_METHODS}
    for data in results.values():
        errors = data["errors"]
        for name, error in errors.items():
            lower = sum(other < error for other in errors.values())
            equal = sum(other == error for other in errors.values())
            table[name].append(lower + (equal + 1) / 2)
    for one in ranks.standings(results):
        values = table[one.name]
        assert one.rank == pytest.approx(np.mean(values))
        expected = scipy.stats.t.interval(
            0.95, len(values) - 1, loc=np.mean(values), scale=scipy.stats.sem(values)
        )
        np.testing.assert_allclose(one.interval, expected)


def test_text_of_the_page(ranks, results):
    text = " ".join((DOCS / "which_method.rst").read_text(encoding="utf-8").split())
    found = {one.name: one for one in ranks.standings(results)}
    outcomes = [data["outcome"] for data in results.values()]
    assert f"{len(results)} labelled data sets" in text
    assert f"worse on {found['MMC'].n_worse} sets" in text
    assert f"lost 2 points or more on {found['LMNN'].n_worse} of {len(results)} sets" in text
    assert (
        f"on {outcomes.count('use')} of the {len(results)}, and was undecided on "
        f"{outcomes.count('undecided')}"
    ) in text
    first = list(found.values())[:9]
    better, worse = [one.n_better for one in first], [one.n_worse for one in first]
    assert f"on {min(better)} to {max(better)} of the {len(results)} sets" in text
    assert f"worse on {min(worse)} to {max(worse)}." in text


def test_memory_is_that_of_the_arrays_of_a_fit():
    class Holds(Euclidean):
        def fit(self, X, y=None):
            held = np.ones(1_000_000)
            return super().fit(X + held[:1], y)

    peak = which_method.peak_memory(Holds(), np.zeros((10, 3)), np.zeros(10))
    assert 8e6 < peak < 9e6


def test_the_drawing_names_every_method(ranks, results):
    drawing = ranks.interval_drawing(results)
    assert all(re.search(rf">{name}</text>", drawing) for name in COMPARED_METHODS)


def test_rows_and_features_are_limited(monkeypatch):
    rng = np.random.default_rng(0)

    class Data:
        X, y = rng.normal(size=(900, 70)), np.repeat([0, 1, 2], 300)

    monkeypatch.setattr(which_method, "load", lambda name: Data)
    X, y = which_method.read("any")
    assert X.shape == (600, 40)
    np.testing.assert_array_equal(np.bincount(y), [200, 200, 200])


def test_counts_of_words_are_weighted_and_single_rows_left_out(monkeypatch):
    class Data:
        X = np.array([[2, 0, 1], [1, 1, 0], [0, 3, 1], [0, 1, 1], [1, 0, 0]])
        y = np.array(["a", "a", "b", "b", "single"])

    monkeypatch.setattr(which_method, "load", lambda name: Data)
    X, y = which_method.read("any_bow")
    assert list(y) == ["a", "a", "b", "b"]
    inverse = np.log(6 / (1 + np.count_nonzero(Data.X, axis=0))) + 1
    expected = Data.X * inverse
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(X, expected[:4])
