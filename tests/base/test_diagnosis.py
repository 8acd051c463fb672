"""Metrics of little use are announced, and good ones are not."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

import likewise as lw
from likewise.constraints import random_pairs

PAIR_LEARNERS = [
    lw.PAMetric(random_state=0),
    lw.POLA(max_iter=3, random_state=0),
    lw.DoubletSVM(),
    lw.LDML(max_iter=5),
    lw.PCML(max_iter=5),
    lw.NCML(max_iter=5),
    lw.MMC(max_iter=5),
    lw.DMLEig(max_iter=5),
    lw.ITML(max_iter=5),
]
pair_learners = pytest.mark.parametrize("learner", PAIR_LEARNERS, ids=lambda m: type(m).__name__)
OURS = (lw.OverfitWarning, lw.DegenerateMetricWarning)


def classes_in_noise(n_features=40, n_classes=8, n_samples=300, seed=0, spread=2.0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n_samples)
    X = rng.normal(size=(n_samples, n_features))
    X[:, :4] += spread * rng.normal(size=(n_classes, 4))[y]
    return X, y


def warnings_of(fit):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit()
    return [entry for entry in caught if issubclass(entry.category, OURS)]


@pair_learners
def test_few_pairs_for_many_features(learner):
    X, y = classes_in_noise()
    index, same = random_pairs(y, 60, random_state=0)
    (found, *_) = warnings_of(lambda: learner.fit_pairs(X, index, same))
    assert found.category is lw.OverfitWarning
    assert "learned from 60 pairs, but a metric of 40 features has 820" in str(found.message)
    assert found.filename == __file__


@pair_learners
def test_enough_pairs_for_the_features(learner):
    X, y = classes_in_noise(n_features=12)
    index, same = random_pairs(y, 400, random_state=0)
    found = warnings_of(lambda: learner.fit_pairs(X, index, same))
    assert not [entry for entry in found if entry.category is lw.OverfitWarning]


def test_few_triplets():
    X, _ = classes_in_noise()
    triplets = np.random.default_rng(0).permuted(np.tile(np.arange(300), (60, 1)), axis=1)[:, :3]
    with pytest.warns(lw.OverfitWarning, match="60 triplets"):
        lw.TripletSVM().fit_triplets(X, triplets)


def test_a_diagonal_metric_has_few_degrees_of_freedom():
    X, y = classes_in_noise()
    index, same = random_pairs(y, 60, random_state=0)
    assert not warnings_of(lambda: lw.MMC(diagonal=True).fit_pairs(X, index, same))


@pytest.mark.parametrize(
    "learner",
    [lw.POLA(kernel="rbf", max_iter=3), lw.DoubletSVM(kernel="rbf"), lw.ComposedMetric()],
    ids=repr,
)
def test_a_kernel_metric_has_no_fewer_degrees_of_freedom(learner):
    X, y = classes_in_noise()
    for n_pairs, category in ((60, lw.OverfitWarning), (200, None)):
        index, same = random_pairs(y, n_pairs, random_state=0)
        found = warnings_of(lambda: learner.fit_pairs(X, index, same))  # noqa: B023
        assert {entry.category for entry in found} - {lw.DegenerateMetricWarning} == (
            {category} if category else set()
        )


@pytest.mark.parametrize(
    "learner",
    [
        lw.DoubletSVM(C=100.0),
        lw.PCML(),
        lw.NCML(),
        lw.PAMetric("PA", max_iter=2, random_state=0),
        lw.POLA(random_state=0),
    ],
    ids=lambda m: type(m).__name__,
)
def test_few_support_pairs(learner):
    """Of pairs that one feature separates by far, few have a weight."""
    X = np.random.default_rng(0).normal(size=(300, 80))
    y = np.arange(300) % 2
    X[:, 0] += 30 * y
    index, same = random_pairs(y, 400, random_state=0)
    (found,) = warnings_of(lambda: learner.fit_pairs(X, index, same))
    is_svm = hasattr(learner, "support_pairs_")
    n_support = len(learner.support_pairs_) if is_svm else learner.n_updates_
    assert n_support < 40
    assert found.category is lw.OverfitWarning
    assert f"rests on {n_support} of 400 pairs, fewer than half of its 80" in str(found.message)


def test_few_triplets_of_lmnn():
    X, _ = classes_in_noise()
    triplets = np.random.default_rng(0).permuted(np.tile(np.arange(300), (60, 1)), axis=1)[:, :3]
    with pytest.warns(lw.OverfitWarning, match="LMNN learned from 60 triplets"):
        lw.LMNN(max_iter=3).fit_triplets(X, triplets)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ["PCML", "NCML"])
def test_a_threshold_that_nothing_is_below(name):
    """One similar pair in ten: the papers' optimum calls every pair dissimilar."""
    X, y = classes_in_noise(n_features=8, n_classes=10, n_samples=400, spread=0.5)
    index, same = unbalanced_pairs(y, 600)
    metric = getattr(lw, name)()
    (found,) = warnings_of(lambda: metric.fit_pairs(X, index, same))
    assert found.category is lw.DegenerateMetricWarning
    assert "as many similar as dissimilar pairs" in str(found.message)
    predicted = metric.pair_distance(X[index[:, 0]], X[index[:, 1]]) <= metric.threshold_
    assert (1 - predicted[same].mean() + predicted[~same].mean()) / 2 >= 0.45


def unbalanced_pairs(y, n):
    rng = np.random.default_rng(0)
    first = rng.integers(0, len(y), n)
    index = np.column_stack([first, (first + rng.integers(1, len(y), n)) % len(y)])
    same = y[index[:, 0]] == y[index[:, 1]]
    assert 0.05 < same.mean() < 0.2
    return index, same


@pytest.mark.parametrize(("size", "share"), [(1e-8, "100%"), (1e8, "0%")])
@pytest.mark.parametrize("way", ["fit_pairs", "partial_fit_pairs"])
@pytest.mark.parametrize(("psd", "remedy"), [("end", "psd='auto'"), ("auto", "scale='auto'")])
def test_an_online_threshold_that_is_too_small_or_too_large(size, share, way, psd, remedy):
    X, y = classes_in_noise(n_features=5, n_classes=2)
    index, same = random_pairs(y, 1200, random_state=0)
    init = size * np.eye(5), 1.0
    metric = lw.PAMetric(init=init, C=1e-20, psd=psd, scale=1.0, max_iter=1)
    (found,) = warnings_of(lambda: getattr(metric, way)(X, index, same))
    assert found.category is lw.DegenerateMetricWarning
    assert f"calls {share} of the similar and {share} of the dissimilar" in str(found.message)
    assert f"set {remedy}" in str(found.message)
    assert found.filename == __file__


def test_a_stream_is_looked_at_when_its_length_has_doubled():
    X, y = classes_in_noise(n_features=5, n_classes=2)
    index, same = random_pairs(y, 9000, random_state=0)
    order = np.random.default_rng(0).permutation(9000)
    metric = lw.PAMetric(init=(1e8 * np.eye(5), 1.0), C=1e-20, scale=1.0)
    warned_at = []
    for rows in np.split(order, 90):
        if warnings_of(lambda: metric.partial_fit_pairs(X, index[rows], same[rows])):  # noqa: B023
            warned_at.append(metric.n_events_)
    assert warned_at == [1000, 2000, 4000, 8000]


@pytest.mark.parametrize("learner", [lw.PAMetric(), lw.PAMetric(psd="each"), lw.POLA()], ids=repr)
def test_a_stream_that_learns_causes_no_warning(learner):
    X, y = load_digits(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    index, same = random_pairs(y, 3000, random_state=0)
    order = np.random.default_rng(0).permutation(3000)
    assert not warnings_of(lambda: learner.partial_fit_pairs(X, index[order], same[order]))
    assert not warnings_of(lambda: clone(learner).partial_fit(X, y))


@pytest.mark.parametrize("load", [load_iris, load_wine, load_digits])
@pytest.mark.parametrize(
    "name", ["RCA", "FDA", "Whitening", "PAMetric", "ITML", "DoubletSVM", "TripletSVM", "MMC"]
)
def test_ordinary_data_cause_no_warning(name, load):
    X, y = load(return_X_y=True)
    X, y = StandardScaler().fit_transform(X)[:600], y[:600]
    limits = {"MMC": {"max_iter": 10}, "ITML": {"max_iter": 10}}
    assert not warnings_of(lambda: getattr(lw, name)(**limits.get(name, {})).fit(X, y))


def test_feature_names_cause_no_warning():
    X, y = classes_in_noise(n_features=4)
    table = pd.DataFrame(X, columns=list("abcd"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        lw.PAMetric(random_state=0).fit(table, y)
        lw.DoubletSVM().fit(table, y)
