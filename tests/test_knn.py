"""MetricKNN against a slow, literal reading of its rule."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import likewise as lw
from likewise.neighbors import vote
from likewise.testing._data import blobs


def literal_vote(labels, n_classes):
    """Count the k nearest; if the lead is shared, take one neighbour fewer and count again."""
    for k in range(len(labels), 0, -1):
        counts = [list(labels[:k]).count(code) for code in range(n_classes)]
        if counts.count(max(counts)) == 1:
            return counts.index(max(counts)), counts
    raise AssertionError("one neighbour always decides")


@settings(deadline=None)
@given(
    labels=st.tuples(st.integers(0, 12), st.integers(1, 9)).flatmap(
        lambda shape: arrays(np.int64, shape, elements=st.integers(0, 3))
    )
)
def test_the_vote_is_the_literal_rule(labels):
    winners, counts = vote(labels, 4)
    assert counts.shape == (len(labels), 4)
    for row, winner, count in zip(labels, winners, counts, strict=True):
        assert (winner, count.tolist()) == literal_vote(row, 4)


@settings(deadline=None, max_examples=50)
@given(
    rows=st.integers(3, 25).flatmap(
        lambda n: arrays(np.float64, (n, 2), elements=st.integers(0, 3).map(float))
    ),
    data=st.data(),
)
def test_predictions_against_loops_on_grids_full_of_ties(rows, data):
    n = len(rows)
    y = np.array(data.draw(st.lists(st.sampled_from("abc"), min_size=n, max_size=n)))
    k = data.draw(st.integers(1, n))
    queries = data.draw(arrays(np.float64, (4, 2), elements=st.integers(-1, 4).map(float)))
    model = lw.MetricKNN(n_neighbors=k).fit(rows, y)
    classes = sorted(set(y))
    distances, index = model.kneighbors(queries)
    for place, query in enumerate(queries):
        ranked = sorted(range(n), key=lambda i: (((rows[i] - query) ** 2).sum(), i))[:k]
        assert index[place].tolist() == ranked
        np.testing.assert_allclose(distances[place] ** 2, ((rows[ranked] - query) ** 2).sum(axis=1))
        winner, counts = literal_vote([classes.index(y[i]) for i in ranked], len(classes))
        assert model.predict(queries[place : place + 1])[0] == classes[winner]
        shares = model.predict_proba(queries[place : place + 1])[0]
        np.testing.assert_allclose(shares, np.array(counts) / sum(counts))


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    random = np.random.default_rng(0)
    return X + random.normal(size=X.shape) * 1e-6, y  # no ties between distances


def test_one_neighbour_is_scikit_learns(iris):
    X, y = iris
    ours = lw.MetricKNN(n_neighbors=1).fit(X[::2], y[::2]).predict(X[1::2])
    theirs = KNeighborsClassifier(1).fit(X[::2], y[::2]).predict(X[1::2])
    np.testing.assert_array_equal(ours, theirs)


def test_probabilities_agree_with_predictions(iris):
    X, y = iris
    model = lw.MetricKNN(n_neighbors=10, metric=lw.FDA()).fit(X[::2], y[::2])
    shares = model.predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[shares.argmax(axis=1)], model.predict(X))


@pytest.mark.parametrize("metric", [lw.FDA(), lw.RCA(), make_pipeline(StandardScaler(), lw.RCA())])
def test_a_metric_is_learned_from_the_training_rows(iris, metric):
    X, y = iris
    model = lw.MetricKNN(n_neighbors=5, metric=metric).fit(X[::2], y[::2])
    learned = clone(metric).fit(X[::2], y[::2])
    plain = lw.MetricKNN(n_neighbors=5).fit(learned.transform(X[::2]), y[::2])
    distances, index = model.kneighbors(X[1::2])
    expected_distances, expected_index = plain.kneighbors(learned.transform(X[1::2]))
    np.testing.assert_array_equal(index, expected_index)
    np.testing.assert_allclose(distances, expected_distances)
    assert not hasattr(metric, "components_")  # the user's own object is left alone


def test_a_frozen_metric_is_used_as_it_is(iris):
    X, y = iris
    fitted = lw.Whitening().fit(X[:40])
    model = lw.MetricKNN(metric=FrozenEstimator(fitted)).fit(X[::2], y[::2])
    before = fitted.components_.copy()
    plain = lw.MetricKNN().fit(fitted.transform(X[::2]), y[::2])
    np.testing.assert_array_equal(model.predict(X[1::2]), plain.predict(fitted.transform(X[1::2])))
    np.testing.assert_array_equal(fitted.components_, before)


@pytest.mark.parametrize("classifier", [lw.MetricKNN, lw.EnergyClassifier])
def test_a_fitted_metric_is_fitted_again_with_a_warning(iris, classifier):
    X, y = iris
    fitted = lw.RCA().fit(X[::7], y[::7])
    with pytest.warns(UserWarning, match="metric=RCA is fitted already, .*sklearn.frozen.Fro"):
        model = classifier(metric=fitted).fit(X[::2], y[::2])
    expected = lw.RCA().fit(X[::2], y[::2]).components_
    np.testing.assert_array_equal(model.metric_.components_, expected)
    pipeline = make_pipeline(StandardScaler(), lw.RCA())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        classifier(metric=FrozenEstimator(fitted)).fit(X, y)
        classifier(metric=pipeline).fit(X, y)
        classifier(metric=lw.RCA()).fit(X, y)
        classifier(metric=FunctionTransformer()).fit(X, y)
    with pytest.warns(UserWarning, match="metric=Pipeline is fitted already"):
        classifier(metric=pipeline.fit(X, y)).fit(X, y)


@pytest.mark.parametrize("name", ["rca", "RCA", "Rca"])
@pytest.mark.parametrize("classifier", [lw.MetricKNN, lw.EnergyClassifier])
def test_a_metric_by_name(iris, classifier, name, tmp_path):
    X, y = iris
    model = classifier(metric=name).fit(X[::2], y[::2])
    expected = classifier(metric=lw.RCA()).fit(X[::2], y[::2])
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))
    assert clone(model).metric == name
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(lw.load(tmp_path / "model").predict(X), model.predict(X))


@pytest.mark.parametrize("k", [1, 4, 7])
def test_votes_weighted_by_distance_match_scikit_learn(iris, k):
    X, y = iris
    train, test = np.arange(150) % 3 > 0, np.arange(150) % 2 == 0  # some rows at distance 0
    ours = lw.MetricKNN(k, weights="distance").fit(X[train], y[train])
    theirs = KNeighborsClassifier(k, weights="distance", algorithm="brute").fit(X[train], y[train])
    np.testing.assert_array_equal(ours.predict(X[test]), theirs.predict(X[test]))
    np.testing.assert_allclose(
        ours.predict_proba(X[test]), theirs.predict_proba(X[test]), atol=1e-6
    )


def test_weighted_votes_at_tiny_distances_are_finite():
    model = lw.MetricKNN(3, weights="distance").fit([[0.0], [3e-160], [9.0]], list("abb"))
    shares = model.predict_proba([[1e-160], [0.0]])
    np.testing.assert_allclose(shares, [[2 / 3, 1 / 3], [1.0, 0.0]], rtol=1e-6)


def test_weights_reach_the_metric(iris):
    X, y = iris
    weights = np.random.default_rng(0).random(len(X))
    expected = lw.LMNN().fit(X, y, anchor_weight=weights).components_
    model = lw.MetricKNN(metric=lw.LMNN()).fit(X, y, anchor_weight=weights)
    np.testing.assert_array_equal(model.metric_.components_, expected)
    scaled = lw.MetricKNN(metric=StandardScaler()).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(scaled.metric_.mean_, np.average(X, axis=0, weights=weights))
    with pytest.raises(TypeError, match="sample_weight"):
        lw.MetricKNN(metric=lw.RCA()).fit(X, y, sample_weight=weights)


def test_weights_are_routed_as_requested(iris):
    X, y = iris
    weights = np.random.default_rng(0).random(len(X))
    with config_context(enable_metadata_routing=True):
        metric = lw.LMNN().set_fit_request(anchor_weight=True)
        search = GridSearchCV(lw.MetricKNN(metric=metric), {"n_neighbors": [3]}, cv=2)
        found = search.fit(X, y, anchor_weight=weights).best_estimator_.metric_
        expected = lw.LMNN().fit(X, y, anchor_weight=weights)
        np.testing.assert_array_equal(found.components_, expected.components_)
        metric = StandardScaler().set_fit_request(sample_weight=True)
        model = lw.MetricKNN(metric=metric).set_score_request(sample_weight=False)
        search = GridSearchCV(model, {"n_neighbors": [3]}, cv=2)
        found = search.fit(X, y, sample_weight=weights).best_estimator_.metric_
        np.testing.assert_allclose(found.mean_, np.average(X, axis=0, weights=weights))
        with pytest.raises(UnsetMetadataPassedError, match="anchor_weight"):
            lw.MetricKNN(metric=lw.LMNN()).fit(X, y, anchor_weight=weights)


def test_weights_without_a_metric_raise(iris):
    X, y = iris
    with pytest.raises(TypeError, match=r"^MetricKNN.fit got sample_weight, but metric=None"):
        lw.MetricKNN().fit(X, y, sample_weight=np.ones(len(X)))


def test_the_number_of_threads_changes_nothing(iris):
    X, y = iris
    answers = [
        lw.MetricKNN(4, metric=lw.RCA(), n_jobs=n_jobs).fit(X, y).kneighbors(X, 20)
        for n_jobs in (1, 2, None)
    ]
    for distances, index in answers[1:]:
        np.testing.assert_array_equal(distances, answers[0][0])
        np.testing.assert_array_equal(index, answers[0][1])


def test_duplicates_are_neighbours_in_order_of_their_rows():
    X = np.zeros((6, 2))
    model = lw.MetricKNN(n_neighbors=3).fit(X, list("abbbaa"))
    distances, index = model.kneighbors([[0.0, 0.0]])
    assert index.tolist() == [[0, 1, 2]]
    assert not distances.any()
    assert model.predict([[0.0, 0.0]]) == ["b"]


def test_far_from_the_origin_nothing_changes(iris):
    X, y = iris
    X = np.round(X * 1024) / 1024
    near = lw.MetricKNN(3, metric=lw.FDA()).fit(X[::2], y[::2]).predict(X[1::2])
    far = lw.MetricKNN(3, metric=lw.FDA()).fit(X[::2] + 1e6, y[::2]).predict(X[1::2] + 1e6)
    np.testing.assert_array_equal(far, near)


def test_float32_distances_for_float32_rows(iris):
    X, y = iris
    model = lw.MetricKNN(metric=lw.RCA()).fit(X.astype(np.float32), y)
    assert model.kneighbors(X.astype(np.float32))[0].dtype == np.float32
    assert model.kneighbors(X)[0].dtype == np.float64


def test_one_class_is_an_answer_too():
    model = lw.MetricKNN(1).fit([[0.0], [1.0]], ["only", "only"])
    assert model.predict([[5.0]]).tolist() == ["only"]
    assert model.predict_proba([[5.0]]).tolist() == [[1.0]]


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"n_neighbors": 0}, "n_neighbors=0 is not allowed: MetricKNN needs an integer of at"),
        ({"n_neighbors": 2.0}, "n_neighbors=2.0 is not allowed: MetricKNN needs an integer"),
        ({"n_neighbors": True}, "n_neighbors=True is not allowed"),
        (
            {"n_neighbors": 5},
            "n_neighbors=5 is not allowed: there are n_samples = 4 train",
        ),
        ({"metric": "lda"}, "metric='lda' is not allowed: MetricKNN needs None or the name of a m"),
        ({"metric": lw.FDA}, r"metric=<class .*FDA'> is not allowed: MetricKNN needs None or the "),
        ({"weights": "inverse"}, "weights='inverse' is not allowed: MetricKNN needs one of 'unif"),
        ({"n_jobs": 0}, "n_jobs=0 is not allowed: MetricKNN needs None or -1 for all cores, or"),
    ],
)
def test_errors_of_parameters(parameters, sentence):
    with pytest.raises(ValueError, match=sentence):
        lw.MetricKNN(**parameters).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])


@pytest.mark.parametrize("wanted", [0, 5, 1.5])
def test_errors_of_neighbours_to_look_up(wanted):
    model = lw.MetricKNN(1).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    with pytest.raises(ValueError, match=f"n_neighbors={wanted} is not allowed"):
        model.kneighbors([[0.0]], wanted)


def test_far_from_the_origin_in_single_precision():
    X, y = blobs()
    # Steps that single precision has at a million: both data sets hold the same differences.
    X = np.round(X.astype(np.float32) * 8) / 8
    near = lw.MetricKNN(3, metric=lw.RCA()).fit(X, y)
    far = lw.MetricKNN(3, metric=lw.RCA()).fit(X + np.float32(1e6), y)
    np.testing.assert_allclose(
        far.kneighbors(X + np.float32(1e6))[0], near.kneighbors(X)[0], rtol=1e-4, atol=1e-5
    )


def test_a_pipeline_may_be_the_metric():
    X, y = blobs()
    model = lw.MetricKNN(3, metric=make_pipeline(StandardScaler(), lw.FDA())).fit(X, y)
    assert model.score(X, y) > 0.5
