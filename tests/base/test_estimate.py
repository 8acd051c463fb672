"""Estimates of time and memory: formulas for all methods, and what counts in them."""

import re
import time
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import likewise as lw
from likewise.base.costs import COSTS, Cost
from likewise.base.estimate import Estimate, expected_seconds, machine_rate
from likewise.datasets import load
from likewise.evaluation import estimate_compare
from likewise.methods import METHODS
from likewise.tables import TableEncoder, TableModel
from likewise.testing._data import blobs


def test_every_method_has_a_formula():
    assert set(COSTS) == set(METHODS)


@pytest.mark.parametrize("name", METHODS)
def test_more_rows_and_features_cost_more(name):
    learner = METHODS[name].learner()
    y = np.arange(100) % 5
    small = learner.estimate(np.zeros((100, 10)), y)
    for n, d in ((3000, 10), (100, 300)):
        large = learner.estimate(np.zeros((n, d)), np.arange(n) % 5)
        assert large.n_bytes > small.n_bytes
        assert large.seconds >= small.seconds
    low, high = small.interval
    assert 0 < low < small.seconds < high


def test_the_limit_of_iterations_counts():
    X = np.zeros((2000, 50))
    for learner in (lw.NCA, lw.LMNN, lw.PCML):
        assert learner(max_iter=2).estimate(X).seconds < learner().estimate(X).seconds


@pytest.mark.parametrize("learner", [lw.AROW, lw.CW, lw.PAM, lw.SecondOrderPerceptron])
def test_the_covariance_counts(learner):
    X, y = np.broadcast_to(0.0, (5000, 666)), np.arange(5000) % 10
    kinds = ("diagonal", 10, "full")
    costs = [learner(covariance=kind).estimate(X, y) for kind in kinds]
    assert 5 * costs[0].seconds < costs[1].seconds < costs[2].seconds / 5
    assert costs[0].n_bytes < costs[1].n_bytes < costs[2].n_bytes / 1.5
    assert learner().estimate(X, y).seconds == costs[0].seconds  # of so many features


def test_pairs_count():
    X = np.zeros((500, 30))
    few, many = (lw.ITML().estimate(X, n_pairs=m).seconds for m in (100, 100_000))
    assert many > 10 * few


def test_a_classifier_costs_its_metric_too():
    X, y = np.zeros((1000, 50)), np.arange(1000) % 3
    alone = lw.MetricKNN().estimate(X, y).seconds
    both = lw.MetricKNN(metric=lw.NCA()).estimate(X, y).seconds
    assert both == pytest.approx(alone + lw.NCA().estimate(X, y).seconds)


def seconds_of_fits(learner, X, y=None, n_pairs=None):
    """Return the estimated seconds, and without the fits of the metric."""
    alone = clone(learner).set_params(metric=None).estimate(X, y, n_pairs=n_pairs).seconds
    return learner.estimate(X, y, n_pairs=n_pairs).seconds, alone


def test_a_metric_is_fitted_whether_it_is_given_by_name_or_not():
    X, y = np.zeros((3000, 50)), np.arange(3000) % 3
    for owner in (lw.MetricKNN, lw.EnergyClassifier, lw.PairClassifier, lw.EmbeddingAdapter):
        named, given = (owner(metric=metric).estimate(X, y) for metric in ("lmnn", lw.LMNN()))
        assert named == given
        assert named.seconds > 0.5 * lw.LMNN().estimate(X[:1500], y[:1500]).seconds
    assert lw.EnergyClassifier().estimate(X, y) == lw.EnergyClassifier("LMNN").estimate(X, y)
    with pytest.raises(ValueError, match="metric='lmmn' is not allowed"):
        lw.MetricKNN(metric="lmmn").estimate(X, y)


def test_a_frozen_metric_costs_no_fit():
    X, y = np.zeros((1000, 50)), np.arange(1000) % 3
    frozen = FrozenEstimator(lw.LMNN(tol=0.5).fit(*blobs()))
    for owner in (lw.MetricKNN, lw.PairClassifier, lw.EmbeddingAdapter):
        for metric in (
            frozen,
            FrozenEstimator(make_pipeline(StandardScaler(), lw.LMNN()).fit(*blobs())),
        ):
            assert owner(metric=metric).estimate(X, y) == owner().estimate(X, y)
    nothing_to_learn = [lw.PairClassifier(metric) for metric in ("cosine", lw.Euclidean())]
    assert len({one.estimate(X, y) for one in [lw.PairClassifier(), *nothing_to_learn]}) == 1


def test_the_steps_of_a_pipeline_count():
    X, y = np.zeros((1000, 50)), np.arange(1000) % 3
    steps = make_pipeline(StandardScaler(), lw.NCA())
    assert lw.MetricKNN(metric=steps).estimate(X, y) == lw.MetricKNN(metric=lw.NCA()).estimate(X, y)


def test_an_adapter_fits_its_metric_to_six_halves_and_to_all_rows():
    X, y = np.zeros((2000, 50)), np.arange(2000) % 5
    both, alone = seconds_of_fits(lw.EmbeddingAdapter(lw.LMNN()), X, y)
    half, whole = (lw.LMNN().estimate(X[:n], y[:n]).seconds for n in (1000, 2000))
    assert both - alone == pytest.approx(6 * half + whole)


def test_an_adapter_fits_its_metric_to_folds_of_pairs():
    X = np.zeros((2000, 50))
    both, alone = seconds_of_fits(lw.EmbeddingAdapter("itml"), X, n_pairs=5000)
    fold = lw.ITML().estimate(X[:1600], n_pairs=3200).seconds
    whole = lw.ITML().estimate(X, n_pairs=5000).seconds
    assert both - alone == pytest.approx(15 * fold + whole)


@pytest.mark.parametrize(
    ("judged", "n_fits"), [("labels", 7), ("pairs in components", 6), ("pairs", 16)]
)
def test_an_adapter_fits_its_metric_as_often_as_is_estimated(judged, n_fits, monkeypatch):
    fits = []
    for name in ("fit", "fit_pairs"):
        fit = getattr(lw.RCA, name)
        monkeypatch.setattr(lw.RCA, name, lambda self, *a, fit=fit: fits.append(0) or fit(self, *a))
    rng = np.random.default_rng(0)
    y = np.arange(400) % 20
    X = rng.normal(size=(400, 8)) + 3 * rng.normal(size=(20, 8))[y]
    adapter = lw.EmbeddingAdapter(lw.RCA())
    if judged == "labels":
        adapter.fit(X, y)
    else:
        index = np.arange(400).reshape(-1, 2)
        if judged == "pairs":
            index = rng.integers(0, 400, (900, 2))
            index = index[index[:, 0] != index[:, 1]]
        adapter.fit_pairs(X, index, np.arange(len(index)) % 2 == 0)
    assert n_fits - 1 <= len(fits) <= n_fits  # the last one only if a map is chosen


def test_a_pair_classifier_fits_its_metric_to_the_other_part_of_the_rows():
    X, y = np.zeros((2000, 50)), np.arange(2000) % 5
    judge = lw.PairClassifier("nca", validation_fraction=0.25)
    part, whole = (lw.NCA().estimate(X[:n], y[:n]).seconds for n in (1500, 2000))
    found = judge.estimate(X, y).seconds
    assert found > part
    assert judge.set_params(refit=True).estimate(X, y).seconds - found == pytest.approx(whole)


def test_a_coarse_clock_of_processor_time_does_not_matter(monkeypatch):
    """As on Windows, where it has steps of 16 ms."""
    machine_rate.cache_clear()
    rate = machine_rate()
    machine_rate.cache_clear()
    monkeypatch.setattr(time, "thread_time", lambda: 0.0)
    monkeypatch.setattr(time, "process_time", lambda: 0.0)
    assert 0.2 < machine_rate() / rate < 5


def test_tables():
    table = pd.DataFrame({"a": np.arange(500.0), "b": ["x", "y"] * 250})
    rows = TableEncoder(encode=True).fit_transform(table)
    found = TableModel(lw.NCA(), encode=True).estimate(table, table["b"])
    assert found == lw.NCA().estimate(rows, table["b"])


def test_a_comparison_is_the_sum_of_its_fits():
    X, y = np.zeros((1000, 20)), np.arange(1000) % 4
    found = estimate_compare(X, y, ["NCA", "cosine"], n_repeats=3)
    one = lw.NCA().estimate(np.zeros((800, 20)), y[:800])
    assert found.seconds == pytest.approx(15 * one.seconds, rel=0.5)
    assert found.n_bytes == one.n_bytes


def test_a_kernel_needs_at_least_what_the_fit_asks_for():
    X, y = np.zeros((1500, 4)), np.arange(1500) % 2
    X[:, 0] = np.arange(1500)
    assert lw.LMNN(kernel="rbf").estimate(np.broadcast_to(0.0, (60_000, 50))).n_bytes > 107 * 2**30
    for learner in (lw.LMNN(kernel="rbf", budget=2), lw.DoubletSVM(kernel="linear")):
        with lw.config_context(max_memory="20MiB"), pytest.raises(MemoryError) as refused:
            learner.fit(X, y)
        asked = float(re.search(r"needs about (\S+) MiB", str(refused.value))[1])
        assert 1 <= learner.estimate(X, y).n_bytes / 2**20 / asked < 1.2


def test_a_budget_and_few_directions_cost_less():
    X, y = np.zeros((2000, 5)), np.arange(2000) % 2
    every = lw.LMNN(kernel="rbf").estimate(X, y)
    few = lw.LMNN(kernel="rbf", budget=20)
    linear, cubic = (lw.LMNN(kernel=name) for name in ("linear", "poly"))
    squared = lw.LMNN(kernel="poly", kernel_params={"degree": 2})
    for less in (few, linear, squared, cubic):
        assert 2 * less.estimate(X, y).n_bytes < every.n_bytes
        assert 3 * less.estimate(X, y).seconds < every.seconds
    assert squared.estimate(X, y).seconds < cubic.estimate(X, y).seconds
    assert lw.LMNN().estimate(X, y).seconds < linear.estimate(X, y).seconds


def test_a_kernel_within_another_estimator_counts():
    X, y = np.zeros((1000, 5)), np.arange(1000) % 2
    both = lw.MetricKNN(metric=lw.LMNN(kernel="rbf")).estimate(X, y)
    alone = lw.LMNN(kernel="rbf").estimate(X, y)
    assert both.seconds > alone.seconds
    assert both.n_bytes > alone.n_bytes
    found = expected_seconds(lw.LMNN(kernel="rbf", n_jobs=1), "fit", X, y)
    assert found == pytest.approx(alone.interval)


def test_an_online_learner_with_a_kernel_has_no_estimate():
    message = "POLA has no estimate with kernel='rbf', since its basis .*: only kernel=None is all"
    for learner in (lw.POLA(kernel="rbf"), lw.MetricKNN(metric=lw.POLA(kernel="rbf"))):
        with pytest.raises(NotImplementedError, match=message):
            learner.estimate(np.zeros((10, 2)))


def test_the_rate_is_measured_once():
    assert machine_rate() == machine_rate() > 1e7


def test_words():
    words = str(Estimate.of(120.0, 2**30))
    assert words == "about 2 min of processor time (30 s to 8 min) and 1.0 GiB of memory"
    words = str(Estimate.of(1.2e6, 2**40))
    assert words == "about 13.9 days of processor time (83 h to 55.6 days) and 1024.0 GiB of memory"
    for seconds, expected in (
        (99.4, "99 s"),
        (99.6, "1.7 min"),
        (5975, "1.7 h"),
        (359_000, "4.16 days"),
    ):
        assert str(Estimate.of(seconds, 2**30)).startswith(f"about {expected} of")


def test_a_learner_of_another_package_brings_its_own_formula():
    class Slow(lw.base.MetricLearner):
        _cost = Cost(lambda s: 1.0 * s.n, 1e9)

    assert Slow().estimate(np.zeros((10, 2))).seconds > 0
    with pytest.raises(NotImplementedError, match="Unknown has no cost formula"):
        Unknown().estimate(np.zeros((10, 2)))


@pytest.mark.parametrize("n_pairs", [-100, 0, 1.5, True, "9"])
def test_a_number_of_pairs_is_a_positive_integer(n_pairs):
    allowed = re.escape("needs None or an integer of at least 1.")
    with pytest.raises(ValueError, match=rf"n_pairs={n_pairs!r} is not allowed: ITML.* {allowed}"):
        lw.ITML().estimate(np.zeros((9, 2)), n_pairs=n_pairs)
    with pytest.raises(
        ValueError, match=rf"n_pairs={n_pairs!r} is not allowed: estimate_com.* {allowed}"
    ):
        estimate_compare(np.zeros((90, 2)), methods=["ITML"], n_pairs=n_pairs)


def test_there_is_a_label_for_every_row():
    X, y = np.zeros((90, 2)), np.arange(80) % 2
    message = "X has 90 rows but y has 80 labels; they must match."
    for fit in (lw.LMNN(), lw.MetricKNN(metric="nca")):
        with pytest.raises(ValueError, match=message):
            fit.estimate(X, y)
    with pytest.raises(ValueError, match=message):
        estimate_compare(X, y, ["RCA"])


def test_pairs_that_a_learner_draws_from_labels_count():
    X, y = np.zeros((5000, 30)), np.arange(5000) % 10
    for few, many in ((lw.ITML(n_pairs=100), lw.ITML()), (lw.PAMetric(n_pairs=100), lw.PAMetric())):
        assert 3 * few.estimate(X, y).seconds < many.estimate(X, y).seconds
    assert lw.ITML(n_pairs=900).estimate(X, y) == lw.ITML().estimate(X, n_pairs=900)
    once = lw.PAMetric(max_iter=1).estimate(X, y)
    assert 10 * once.seconds < lw.PAMetric().estimate(X, y).seconds


def test_the_expected_time_on_the_clock():
    X, y = np.zeros((1000, 50)), np.arange(1000) % 3
    low, high = expected_seconds(lw.NCA(n_jobs=1), "fit", X, y)
    assert (low, high) == lw.NCA().estimate(X, y).interval
    assert expected_seconds(lw.NCA(n_jobs=1), "fit", X, y=y) == (low, high)
    assert expected_seconds(lw.NCA(n_jobs=4), "fit", X, y)[1] == pytest.approx(0.325 * high)
    judge = lw.PairClassifier(lw.NCA(n_jobs=1))
    assert expected_seconds(judge, "fit", X, y)[1] == judge.estimate(X, y).interval[1]


def test_the_expected_time_of_pairs():
    X, pairs = np.zeros((500, 30)), np.zeros((2000, 2), dtype=int)
    found = lw.ITML().estimate(X, n_pairs=2000).interval
    assert expected_seconds(lw.ITML(), "fit_pairs", X, pairs, pairs[:, 0] == 0) == found
    named = {"same": pairs[:, 0] == 0, "pairs": pairs}
    assert expected_seconds(lw.ITML(), "fit_pairs", X, **named) == found


class Unknown(lw.base.MetricLearner):
    """A learner of another package, without a formula."""


@pytest.mark.parametrize(
    ("learner", "arguments"),
    [
        (lw.POLA(kernel="rbf"), ("fit", np.zeros((9, 2)), np.arange(9) % 2)),
        (lw.RCA(), ("fit_chunks", np.zeros((9, 2)), np.arange(9))),
        (Unknown(), ("fit", np.zeros((9, 2)), np.arange(9) % 2)),
        (lw.LMNN(), ("fit", np.zeros(9), np.arange(9) % 2)),
        (lw.LMNN(), ("fit", None, None)),
        (lw.LMNN(), ("fit", np.zeros((3, 2)), [1, "a", None])),
        (lw.LMNN(), ("fit", np.zeros((9, 2)), np.arange(8) % 2)),
        (lw.ITML(), ("fit_pairs", np.zeros((3, 2)), [], [])),
        (lw.ITML(), ("fit_pairs", np.zeros((3, 2)), 7, True)),
    ],
    ids=repr,
)
def test_no_time_is_expected_without_a_formula_or_of_invalid_arguments(learner, arguments):
    assert expected_seconds(learner, *arguments) is None


def test_a_file_that_is_read_in_blocks_needs_less_memory(tmp_path):
    rows = np.zeros((200_000, 50), dtype=np.float32)
    np.save(tmp_path / "rows.npy", rows)
    in_file = np.load(tmp_path / "rows.npy", mmap_mode="r")
    with lw.config_context(max_memory="1GB"):
        assert lw.LMNN().estimate(in_file).n_bytes < lw.LMNN().estimate(rows).n_bytes


def test_dask_arrays_are_read_in_blocks_and_dataframes_do_not_know_their_length():
    da = pytest.importorskip("dask.array", reason="needs likewise[dask]")
    dd = pytest.importorskip("dask.dataframe", reason="needs likewise[dask]")
    rows, y = np.zeros((200_000, 50), dtype=np.float32), np.arange(200_000) % 3
    lazy = da.from_array(rows, chunks=(50_000, 50))
    found, in_memory = lw.LMNN().estimate(lazy, y), lw.LMNN().estimate(rows, y)
    assert found.seconds == in_memory.seconds
    assert found.n_bytes < in_memory.n_bytes
    table = dd.from_pandas(pd.DataFrame(rows[:100]), npartitions=2)
    unknown = lazy[lazy[:, 0] > 0]
    for X in (table, unknown):
        with pytest.raises(ValueError, match="number of rows is not known"):
            lw.LMNN().estimate(X)


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
