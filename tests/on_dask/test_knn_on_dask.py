"""MetricKNN whose training rows are a Dask collection: the neighbours of the gathered rows."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator

import likewise as lw

pytest.importorskip("distributed", reason="needs likewise[dask]")

import dask.array as da
import dask.dataframe as dd
import pandas as pd


def chunked(X):
    parts = da.from_array(X, chunks=((1, 499, len(X) - 500), (2, X.shape[1] - 2)))
    return da.concatenate([parts[:500], parts[:0], parts[500:]])


@pytest.fixture(scope="module")
def named(labelled):
    """Training rows with repetitions, their names of classes, and queries."""
    X, y = labelled
    X = np.round(X)  # many distances are equal
    return X[:1500], np.array(["one", "two", "three"])[y[:1500]], X[1500:]


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("metric", [None, "fda", "frozen"])
def test_the_neighbours_of_the_gathered_rows(client, named, labelled, metric, weights):
    X, y, queries = named
    if metric == "frozen":
        metric = FrozenEstimator(lw.FDA().fit(*labelled))
    here = lw.MetricKNN(5, metric=metric, weights=weights).fit(X, y)
    there = lw.MetricKNN(5, metric=metric, weights=weights).fit(
        chunked(X), da.from_array(y, chunks=400)
    )
    distances, index = here.kneighbors(queries, 4)
    of_lazy = da.concatenate([da.from_array(queries, chunks=(170, 3)), chunked(X)[:0]])
    for found in (there.kneighbors(queries, 4), da.compute(*there.kneighbors(of_lazy, 4))):
        np.testing.assert_allclose(found[0], distances, rtol=1e-9, atol=1e-12)
        if metric is None:  # distances are exact, and ties are in the order of rows
            np.testing.assert_array_equal(found[0], distances)
            np.testing.assert_array_equal(found[1], index)
    agree = 1.0 if metric is None else 0.99  # rounding of the map may reorder ties
    for method in ("predict", "predict_proba"):
        expected = getattr(here, method)(queries)
        lazy = getattr(there, method)(of_lazy)
        assert isinstance(lazy, da.Array)
        assert lazy.shape == expected.shape
        for found in (getattr(there, method)(queries), lazy.compute()):
            assert found.dtype == expected.dtype
            same = found == expected if method == "predict" else np.isclose(found, expected)
            assert np.mean(same) >= agree
    truth = here.predict(queries)
    assert there.score(of_lazy, truth) >= agree


def test_dataframes_float32_and_unknown_sizes(client, named):
    X, y, queries = named
    table = pd.DataFrame(X, columns=list("abcdef"), dtype=np.float32)
    parts = dd.from_pandas(table, npartitions=4)
    labels = dd.from_pandas(pd.Series(y), npartitions=4)
    there = lw.MetricKNN(3).fit(parts, labels)
    here = lw.MetricKNN(3).fit(table, y)
    asked = dd.from_pandas(pd.DataFrame(queries, columns=list("abcdef")), npartitions=2)
    asked = asked[asked.a > 99]
    expected = here.predict(pd.DataFrame(queries, columns=list("abcdef"))[queries[:, 0] > 99])
    np.testing.assert_array_equal(there.predict(asked).compute(), expected)
    with pytest.raises(ValueError, match="feature names"):
        there.predict(asked[list("bacdef")])


def frames(X, y, npartitions):
    """Return a dataframe of unknown sizes, its named labels, and weights."""
    table = pd.DataFrame(X, columns=list("abcdef")).assign(y=y, weight=np.arange(len(y)) % 3)
    parts = dd.from_pandas(table, npartitions=npartitions)
    return parts[list("abcdef")], parts["y"], parts["weight"]


@pytest.mark.parametrize("kind", ["blocks", "memory", "several metrics"])
def test_score_of_dask_collections(client, named, kind):
    X, y, _ = named
    if kind == "several metrics":
        model = lw.MultiMetricLMNN(max_iter=2).fit(X[:200], y[:200])
    else:
        rows = da.from_array(X[:900], chunks=400) if kind == "blocks" else X[:900]
        model = lw.MetricKNN(metric=lw.FDA()).fit(rows, y[:900])
    X, y = X[900:], y[900:]
    weight = np.arange(len(y)) % 3
    expected = model.score(X, y, weight)
    assert expected not in (0, 1, model.score(X, y))
    table, labels, weights = frames(X, y, 3)
    lazy = da.from_array(X, chunks=(70, 5))
    column = da.from_array(y[:, None], chunks=200)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.filterwarnings("ignore", "X has feature names", UserWarning)
        for given in [
            (table, labels, weights),
            (table, y, weight),
            (lazy, labels, weight),
            (lazy, column, weights),
            (X, column[:, 0], weights),
            (lazy[lazy[:, 0] > -np.inf], y.tolist(), weight),
        ]:
            assert model.score(*given) == expected
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[599, 600"):
        model.score(lazy, y[1:])


def test_score_by_the_client_that_holds_the_rows(named):
    import distributed

    X, y, queries = named
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        knn = lw.MetricKNN(3).fit(client.persist(da.from_array(X, chunks=400)), y)
        lazy, truth = da.from_array(queries, chunks=100), knn.predict(queries)
        for given in [(lazy, truth), (lazy, client.persist(da.from_array(truth, chunks=70)))]:
            assert knn.score(*given) == 1


def test_no_rows_are_gathered(client, named, gathered_sizes):
    X, y, queries = named
    X, queries = np.tile(X, (1, 10)), np.tile(queries, (1, 10))
    knn = lw.MetricKNN(3, metric="rca").fit(da.from_array(X, chunks=400), y)
    knn.predict(queries[:50])
    assert len(gathered_sizes) > 3
    assert max(gathered_sizes) <= 128 * 60  # the rows of the centre; X has 90 000 values


def test_a_worker_is_lost_after_the_fit(named):
    import distributed

    X, y, queries = named
    expected = lw.MetricKNN(3).fit(X, y).kneighbors(queries)[1]
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        knn = lw.MetricKNN(3).fit(client.persist(da.from_array(X, chunks=400)), y)
        cluster.scale(1)
        np.testing.assert_array_equal(knn.kneighbors(queries)[1], expected)


@pytest.mark.usefixtures("no_client")
def test_without_a_cluster(named):
    X, y, queries = named
    knn = lw.MetricKNN(3).fit(da.from_array(X, chunks=400), y)
    expected = lw.MetricKNN(3).fit(X, y)
    np.testing.assert_array_equal(knn.predict(queries), expected.predict(queries))
    lazy = knn.kneighbors(da.from_array(queries, chunks=100))[1]
    np.testing.assert_array_equal(lazy.compute(), expected.kneighbors(queries)[1])


def test_errors_are_one_sentence(client, named, tmp_path):
    X, y, queries = named
    lazy = da.from_array(X, chunks=500)
    knn = lw.MetricKNN(3).fit(lazy, y)
    for store in (pickle.dumps, lambda model: model.save(tmp_path / "model.safetensors")):
        with pytest.raises(ValueError, match="training rows are not in memory, so that it cannot"):
            store(knn)
    with pytest.raises(ValueError, match=r"metric=PCA.* would gather its rows"):
        lw.MetricKNN(metric=PCA(2)).fit(lazy, y)
    with pytest.raises(ValueError, match="this method of ITML needs rows in memory"):
        lw.MetricKNN(metric="itml").fit(lazy, y)
    with pytest.raises(ValueError, match="n_neighbors=1501 is not allowed"):
        lw.MetricKNN(1501).fit(lazy, y)
    with pytest.raises(ValueError, match="n_neighbors=1501 is not allowed"):
        knn.kneighbors(queries, 1501)
    with pytest.raises(ValueError, match="5 features"):
        knn.predict(lazy[:, 1:])
    with pytest.raises(ValueError, match="X contains NaN"):
        knn.predict(da.where(lazy > 100, np.nan, lazy)).compute()
