"""`transform`, `pair_distance`, `kneighbors` and `predict` of Dask collections."""

import numpy as np
import pytest

import likewise as lw

pytest.importorskip("distributed", reason="needs likewise[dask]")

import dask.array as da
import dask.dataframe as dd
import pandas as pd
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError


@pytest.fixture(scope="module")
def metric(labelled):
    return lw.FDA().fit(*labelled)


def uneven(X):
    """Return X in chunks of different sizes, one of them empty, with its columns in two chunks."""
    rest = len(X) - 1000
    return da.from_array(X, chunks=((1, 999, rest), (2, X.shape[1] - 2)))


def with_empty_part(X):
    chunked = da.from_array(X, chunks=(500, -1))
    return da.concatenate([chunked[:500], chunked[:0], chunked[500:]])


@pytest.mark.parametrize("cut", [uneven, with_empty_part])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_transform_is_lazy_and_equal(labelled, metric, cut, dtype):
    X = labelled[0].astype(dtype)
    mapped = metric.transform(cut(X))
    assert isinstance(mapped, da.Array)
    assert mapped.shape == (len(X), 2)
    assert mapped.dtype == dtype
    computed = mapped.compute()
    assert computed.dtype == dtype
    rtol = 100 * np.finfo(dtype).eps
    np.testing.assert_allclose(computed, metric.transform(X), rtol=rtol, atol=rtol)


def test_integers_are_mapped_as_floats(metric):
    X = np.arange(60).reshape(10, 6)
    mapped = metric.transform(da.from_array(X, chunks=4))
    assert mapped.dtype == np.float64
    np.testing.assert_array_equal(mapped.compute(), metric.transform(X))


@pytest.mark.parametrize("sides", ["both", "first", "second"])
def test_pair_distance(labelled, metric, sides):
    A, B = labelled[0], labelled[0][::-1].copy()
    first = uneven(A) if sides != "second" else A
    second = da.from_array(B, chunks=(333, -1)) if sides != "first" else B
    distances = metric.pair_distance(first, second)
    assert isinstance(distances, da.Array)
    assert distances.shape == (len(A),)
    np.testing.assert_allclose(distances.compute(), metric.pair_distance(A, B), rtol=1e-12)


def test_pairs_of_different_length_raise(labelled, metric):
    X = da.from_array(labelled[0], chunks=500)
    with pytest.raises(ValueError, match=r"A has 2100 rows and B has 2099"):
        metric.pair_distance(X, X[1:])


def test_unknown_chunk_sizes(labelled, metric):
    X = labelled[0]
    chunked = da.from_array(X, chunks=(500, -1))
    unknown = chunked[chunked[:, 0] > 100]
    known = X[X[:, 0] > 100]
    np.testing.assert_allclose(metric.transform(unknown).compute(), metric.transform(known))
    zeros = metric.pair_distance(unknown, unknown)
    np.testing.assert_array_equal(zeros.compute(), np.zeros(len(known)))
    with pytest.raises(ValueError, match=r"unknown chunk sizes.*compute_chunk_sizes"):
        metric.pair_distance(unknown, chunked)


def test_neighbours_and_votes(labelled, metric):
    X, y = labelled
    knn = lw.MetricKNN(4, metric=lw.FDA()).fit(X[::2], np.array(["a", "b", "c"])[y[::2]])
    queries = with_empty_part(X[1::2])
    distances, index = knn.kneighbors(queries, 3)
    assert distances.shape == index.shape == (len(X) // 2, 3)
    expected = knn.kneighbors(X[1::2], 3)
    np.testing.assert_allclose(distances.compute(), expected[0], rtol=1e-10)
    np.testing.assert_array_equal(index.compute(), expected[1])
    np.testing.assert_array_equal(knn.predict(queries).compute(), knn.predict(X[1::2]))
    shares = knn.predict_proba(queries)
    assert shares.shape == (len(X) // 2, 3)
    np.testing.assert_array_equal(shares.compute(), knn.predict_proba(X[1::2]))


def test_dataframes_have_names(labelled):
    X, y = labelled
    table = pd.DataFrame(X, columns=list("abcdef"))
    metric = lw.FDA().fit(table, y)
    parts = dd.from_pandas(table, npartitions=3)
    mapped = metric.transform(parts)
    assert isinstance(mapped, da.Array)
    np.testing.assert_allclose(mapped.compute(), metric.transform(table), rtol=1e-12)
    with pytest.raises(ValueError, match="feature names"):
        metric.transform(parts[list("bacdef")])


@pytest.mark.usefixtures("no_client")
@pytest.mark.filterwarnings("error")
def test_names_of_features_reach_every_block(labelled):
    X, y = labelled
    table = pd.DataFrame(X, columns=list("abcdef"))
    parts = dd.from_pandas(table, npartitions=3)
    some = table[:200], y[:200]
    methods = [
        lw.FDA().fit(*some).pair_distance,
        lw.EmbeddingAdapter().fit(*some).pair_distance,
        lw.PAMetric(random_state=0).fit(*some).predict_pairs,
        lw.PairClassifier(max_pairs=2000, random_state=0).fit(*some).predict_pairs,
        lw.PairClassifier(max_pairs=2000, random_state=0).fit(*some).predict_proba_pairs,
    ]
    backwards = table[::-1].reset_index(drop=True)
    for method in methods:
        found = method(parts, dd.from_pandas(backwards, npartitions=3)).compute()
        np.testing.assert_allclose(found, method(table, backwards), rtol=1e-12)
    knn = lw.MetricKNN(metric=lw.FDA()).fit(*some)
    for found, expected in zip(knn.kneighbors(parts), knn.kneighbors(table), strict=True):
        np.testing.assert_array_equal(found.compute(), expected)


@pytest.mark.parametrize("learner", [lw.FDA(), lw.EmbeddingAdapter()], ids=repr)
@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_a_table_in_memory_of_a_dask_collection_is_an_error(labelled, learner, container):
    pytest.importorskip(container)
    X, y = labelled
    lazy = da.from_array(X, chunks=500)
    model = clone(learner).set_output(transform=container).fit(X[:300], y[:300])
    message = f"returns a Dask array, but its output is set to '{container}', which would gather"
    with pytest.raises(ValueError, match=message):
        model.transform(lazy)
    assert type(model.transform(X)).__module__.startswith(container)
    assert isinstance(model.pair_distance(lazy, lazy), da.Array)
    with sklearn.config_context(transform_output=container):
        assert isinstance(model.set_output(transform="default").transform(lazy), da.Array)
        with pytest.raises(ValueError, match=message):
            clone(learner).fit(X[:300], y[:300]).transform(lazy)


def test_wrong_features_raise_before_computing(metric):
    with pytest.raises(ValueError, match="5 features"):
        metric.transform(da.zeros((10, 5), chunks=5))
    with pytest.raises(ValueError, match="X has 1 dimension, but a table"):
        metric.transform(da.zeros(10, chunks=5))
    with pytest.raises(NotFittedError):
        lw.LMNN().transform(da.zeros((10, 5), chunks=5))


def test_other_methods_say_that_they_need_rows_in_memory(labelled):
    X, y = labelled
    with pytest.raises(ValueError, match=r"Dask collection, but this method of ITML needs rows in"):
        lw.ITML().fit(da.from_array(X, chunks=500), y)
    with pytest.raises(ValueError, match=r"this method of RCA needs rows in memory"):
        lw.RCA().fit_pairs(da.from_array(X, chunks=500), [[0, 1]], [True])


def test_scores_that_need_all_rows_do_not_gather_them(labelled, metric):
    X, y = labelled
    lazy = da.from_array(X, chunks=500)
    with pytest.raises(ValueError, match=r"X_train is a Dask collection, but this function needs"):
        lw.evaluation.knn_error(lazy, y, X, y)
    with pytest.raises(ValueError, match=r"X_test is a Dask collection"):
        lw.evaluation.knn_error(X, y, lazy, y, metric=metric)
    with pytest.raises(ValueError, match=r"X is a Dask collection, but compare needs rows in"):
        lw.evaluation.compare(lazy, y)
    with pytest.raises(ValueError, match=r"X is a Dask collection, but this function needs"):
        lw.evaluation.mean_average_precision(lazy, y)


def test_decisions_about_pairs_are_lazy(labelled):
    X, y = labelled
    A, B = X[:600], X[600:1200]
    online = lw.PAMetric(random_state=0).fit(X, y)
    pairs = lw.PairClassifier(max_pairs=2000, random_state=0).fit(X[:300], y[:300])
    for method in (online.predict_pairs, online.pair_distance, pairs.pair_distance):
        found = method(da.from_array(A, chunks=250), B)
        assert isinstance(found, da.Array)
        assert found.dtype == method(A, B).dtype
        np.testing.assert_allclose(found.compute(), method(A, B), rtol=1e-12)


def test_an_adapter_maps_lazily(labelled):
    X, y = labelled
    adapter = lw.EmbeddingAdapter(normalize=True, side="query").fit(X - 100, y)
    rows = with_empty_part(X)
    mapped = adapter.transform(rows)
    assert isinstance(mapped, da.Array)
    np.testing.assert_allclose(mapped.compute(), adapter.transform(X), rtol=1e-10, atol=1e-12)
    A, B = X, X[::-1].copy()
    expected = adapter.pair_distance(A, B)  # B is stored, which is not mapped
    for first, second in ((rows, B), (A, da.from_array(B, chunks=500)), (rows, uneven(B))):
        found = adapter.pair_distance(first, second)
        assert isinstance(found, da.Array)
        np.testing.assert_allclose(found.compute(), expected, rtol=1e-10, atol=1e-12)
    with pytest.raises(ValueError, match="B has 2100 rows and A has 2099, but both"):
        adapter.pair_distance(A[1:], da.from_array(B, chunks=500))


def test_a_gpu_that_is_set_is_not_ignored(labelled, monkeypatch):
    X, y = labelled
    monkeypatch.setattr("likewise.base.learner.require_device", lambda: None)
    with (
        lw.config_context(device="cuda"),
        pytest.raises(ValueError, match="X is a Dask collection, but device='cuda' is set"),
    ):
        lw.LMNN().fit(da.from_array(X, chunks=500), y)


def test_scores_of_pairs_get_one_number_per_pair(labelled, metric):
    A, B = labelled[0][:1000], labelled[0][1000:2000]
    same = labelled[1][:1000] == labelled[1][1000:2000]
    lazy = metric.pair_distance(da.from_array(A, chunks=300), B)
    here = metric.pair_distance(A, B)
    threshold = float(np.median(here))
    assert lw.statistics.error_rates(lazy, same, threshold) == lw.statistics.error_rates(
        here, same, threshold
    )
    curves = [lw.statistics.verification_curve(given, same) for given in (lazy, here)]
    assert curves[0].eer == curves[1].eer
