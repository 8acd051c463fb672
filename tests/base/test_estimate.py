"""Estimates of time and memory: formulas for all methods, and how right they are."""

import json
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import StandardScaler

import likewise as lw
from likewise.base import estimate
from likewise.base.estimate import COSTS, Cost, Estimate, machine_rate
from likewise.datasets import load
from likewise.evaluation import estimate_compare
from likewise.methods import METHODS
from likewise.tables import TableEncoder, TableModel


def test_every_method_has_a_formula():
    assert set(COSTS) == set(METHODS)


@pytest.mark.parametrize("name", METHODS)
def test_more_rows_and_features_cost_more(name):
    learner = METHODS[name].learner()
    y = np.arange(100) % 5
    small = learner.estimate(np.zeros((100, 10)), y)
    for n, d in ((3000, 10), (100, 300)):
        large = learner.estimate(np.zeros((n, d)), y)
        assert large.n_bytes > small.n_bytes
        assert large.seconds >= small.seconds
    low, high = small.interval
    assert 0 < low < small.seconds < high


def test_the_limit_of_iterations_counts():
    X = np.zeros((2000, 50))
    for learner in (lw.NCA, lw.LMNN, lw.PCML):
        assert learner(max_iter=2).estimate(X).seconds < learner().estimate(X).seconds


def test_pairs_count():
    X = np.zeros((500, 30))
    few, many = (lw.ITML().estimate(X, n_pairs=m).seconds for m in (100, 100_000))
    assert many > 10 * few


def test_a_classifier_costs_its_metric_too():
    X, y = np.zeros((1000, 50)), np.arange(1000) % 3
    alone = lw.MetricKNN().estimate(X, y).seconds
    both = lw.MetricKNN(metric=lw.NCA()).estimate(X, y).seconds
    assert both == pytest.approx(alone + lw.NCA().estimate(X, y).seconds)


def test_tables():
    table = pd.DataFrame({"a": np.arange(500.0), "b": ["x", "y"] * 250})
    rows = TableEncoder(encode=True).fit_transform(table)
    found = TableModel(lw.NCA(), encode=True).estimate(table, table["b"])
    assert found == lw.NCA().estimate(rows, table["b"])


def test_a_comparison_is_the_sum_of_its_fits():
    X, y = np.zeros((1000, 20)), np.arange(1000) % 4
    found = estimate_compare(X, y, ["NCA", "cosine"], n_repeats=3)
    one = lw.NCA().estimate(np.zeros((800, 20)), y)
    assert found.seconds == pytest.approx(15 * one.seconds, rel=0.5)
    assert found.n_bytes == one.n_bytes


def test_the_rate_is_measured_once():
    assert machine_rate() == machine_rate() > 1e7


def test_words():
    words = str(Estimate.of(120.0, 2**30))
    assert words == "about 2 min of processor time (30 s to 8 min) and 1.0 GiB of memory"


def test_a_learner_of_another_package_brings_its_own_formula():
    class Slow(lw.base.MetricLearner):
        _cost = Cost(lambda s: 1.0 * s.n, 1e9)

    class Unknown(lw.base.MetricLearner):
        pass

    assert Slow().estimate(np.zeros((10, 2))).seconds > 0
    with pytest.raises(NotImplementedError, match="Unknown has no cost formula"):
        Unknown().estimate(np.zeros((10, 2)))


RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"


def measured(name, row="likewise"):
    """Yield what a stored benchmark measured: the shape of X, and values by name."""
    for found in json.loads((RESULTS / f"{name}.json").read_text())["rows"]:
        if found["rival"] == row:
            values = {key: value["median"] for key, value in found["values"].items()}
            yield found["dataset"], found["shape"], values


LMNN_FITS = ["lmnn", "lmnn-reach", "lmnn-reach-mnist", "lmnn-reach-mnist-most", "lmnn-mnist-whole"]


@pytest.mark.parametrize("name", [*LMNN_FITS, "lmnn-pixels"])
def test_fits_of_lmnn_took_at_most_twice_or_half_of_the_estimate(name, monkeypatch):
    row = "likewise, converged" if "reach" in name else "likewise"
    for dataset, (n, d), values in measured(name, row):
        n -= 10_000 if "mnist" in dataset else 3 * n // 10  # rows that the fit was tested on
        # One thread of the two that the rate was measured with.
        monkeypatch.setattr(estimate, "machine_rate", lambda: values["product_flops"] / 2)  # noqa: B023
        X = np.broadcast_to(np.zeros(1, "f4" if "float32" in dataset else "f8"), (n, d))
        found = lw.LMNN().estimate(X, np.arange(n) % 10)
        assert found.interval == (found.seconds / 2, found.seconds * 2)
        assert found.interval[0] < values["cpu_s"] < found.interval[1]
        assert 0.5 < values["added_mb"] * 1e6 / found.n_bytes < 2


@pytest.mark.parametrize("learner", [lw.Whitening(), lw.RCA(), lw.FDA()], ids=repr)
def test_closed_forms_took_at_most_twice_or_half_of_the_estimate(learner, monkeypatch):
    name = f"closed-form-{type(learner).__name__.lower()}"
    for _, (n, d), values in measured(name):
        monkeypatch.setattr(estimate, "machine_rate", lambda: values["product_flops"] / 2)  # noqa: B023
        found = learner.estimate(np.broadcast_to(0.0, (n, d)), np.arange(n) % 10)
        assert found.interval[0] < values["cpu_s"] < found.interval[1]
        assert 0.5 < values["added_mb"] * 1e6 / found.n_bytes < 2


def test_nca_took_at_most_twice_or_half_of_the_estimated_memory():
    for _, (n, d), values in measured("nca"):
        found = lw.NCA(n_jobs=2).estimate(np.broadcast_to(0.0, (n, d)), np.arange(n) % 10)
        assert 0.5 < values["added_mb"] * 1e6 / found.n_bytes < 2


def test_a_file_that_is_read_in_blocks_needs_less_memory(tmp_path):
    rows = np.zeros((200_000, 50), dtype=np.float32)
    np.save(tmp_path / "rows.npy", rows)
    in_file = np.load(tmp_path / "rows.npy", mmap_mode="r")
    with lw.config_context(max_memory="1GB"):
        assert lw.LMNN().estimate(in_file).n_bytes < lw.LMNN().estimate(rows).n_bytes


@pytest.mark.slow
@pytest.mark.parametrize("learner", [lw.LMNN(), lw.NCA(), lw.ITML(), lw.PLML()], ids=repr)
def test_digits_take_about_as_long_as_estimated(learner):
    digits = load("digits")
    X = StandardScaler().fit_transform(digits.X)
    if "n_jobs" in learner.get_params():
        learner.set_params(n_jobs=1)
    low, high = learner.estimate(X, digits.y).interval
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learner.fit(X, digits.y)
    # Twice the interval that is promised: other machines have other caches.
    assert low / 2 < time.process_time() - start < 2 * high
