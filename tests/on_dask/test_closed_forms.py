"""Whitening, RCA and FDA of Dask collections: those of the gathered rows, from sums over blocks."""

import pickle

import numpy as np
import pytest

import likewise as lw
from likewise._runtime.blocks.engines import ClusterEngine, LocalEngine
from likewise.exceptions import OverfitWarning

pytest.importorskip("distributed", reason="needs likewise[dask]")

import dask
import dask.array as da
import dask.dataframe as dd
import distributed
import pandas as pd

LEARNERS = [
    lw.Whitening(),
    lw.Whitening(2, shrinkage=0.1),
    lw.RCA(),
    lw.RCA(2),  # three classes separate along two directions
    lw.FDA(),
    lw.FDA(shrinkage=None),
]


def same_metric(one, two, rtol=1e-10):
    np.testing.assert_allclose(one.components_, two.components_, rtol=rtol, atol=1e-12)


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
def test_the_metric_of_the_gathered_rows(client, labelled, learner):
    X, y = labelled
    chunked, labels = da.from_array(X, chunks=(800, 4)), da.from_array(y, chunks=1000)
    learned = learner.fit(X, y).components_
    np.testing.assert_allclose(
        learner.fit(chunked, labels).components_, learned, rtol=1e-9, atol=1e-12
    )


def test_nothing_is_gathered(client, labelled, monkeypatch):
    X, y = labelled
    received = []
    gather = ClusterEngine.gather

    def recorded(self, handles):
        results = gather(self, handles)
        received.extend(len(pickle.dumps(result)) for result in results)
        return results

    monkeypatch.setattr(ClusterEngine, "gather", recorded)
    lw.RCA(2).fit(da.from_array(X, chunks=300), da.from_array(y, chunks=300))
    assert len(received) > 10
    assert max(received) < X.nbytes / 10


def test_same_bits_for_any_chunks_and_without_a_cluster(client, labelled, request):
    X, y = labelled
    fitted = lw.FDA().fit(da.from_array(X, chunks=(600, -1)), y)
    other = lw.FDA().fit(da.from_array(X, chunks=(17, 2)), da.from_array(y, chunks=99))
    np.testing.assert_array_equal(fitted.components_, other.components_)
    request.getfixturevalue("no_client")
    local = lw.FDA().fit(da.from_array(X, chunks=(600, -1)), y)
    np.testing.assert_array_equal(fitted.components_, local.components_)


def test_few_rows_of_many_features(client):
    X = np.random.default_rng(0).normal(size=(12, 30))
    whitening = lw.Whitening(shrinkage=None)
    with pytest.warns(OverfitWarning):
        in_memory = whitening.fit(X).mahalanobis_matrix()
    with pytest.warns(OverfitWarning):
        blocked = whitening.fit(da.from_array(X, chunks=5)).mahalanobis_matrix()
    np.testing.assert_allclose(blocked, in_memory, atol=1e-10)


def test_dependent_features_get_weight_zero(client, labelled):
    X, _ = labelled
    X = np.column_stack([X, X[:, 0] - X[:, 1]])
    whitening = lw.Whitening(shrinkage=None).fit(X)
    blocked = lw.Whitening(shrinkage=None).fit(da.from_array(X, chunks=500))
    assert np.linalg.matrix_rank(blocked.components_) == 6
    np.testing.assert_allclose(
        blocked.mahalanobis_matrix(), whitening.mahalanobis_matrix(), rtol=1e-7, atol=1e-9
    )


def test_a_class_of_one_row_is_no_group(client, labelled):
    X, y = labelled
    y = y.copy()
    y[7] = 3
    same_metric(lw.RCA().fit(da.from_array(X, chunks=500), y), lw.RCA().fit(X, y), rtol=1e-8)


def test_dataframes_text_labels_and_unknown_sizes(client, labelled):
    X, y = labelled
    names = np.array(["one", "two", "three"])[y]
    table = pd.DataFrame(X, columns=list("abcdef"))
    table["label"] = names
    parts = dd.from_pandas(table, npartitions=4)
    kept = parts[parts.a > 99.5]
    fitted = lw.FDA().fit(kept[list("abcdef")], kept["label"])
    assert list(fitted.feature_names_in_) == list("abcdef")
    inside = X[:, 0] > 99.5
    same_metric(fitted, lw.FDA().fit(X[inside], names[inside]), rtol=1e-8)


def test_chunks_of_other_types_and_empty_ones(client, labelled):
    X, y = labelled
    rounded = np.round(X)
    chunked = da.from_array(rounded, chunks=(500, -1))
    mixed = chunked.map_blocks(
        lambda block, block_info: block.astype(np.int32 if block_info[0]["num-chunks"] else "f4"),
        dtype=np.float64,
        meta=np.empty((0, 0)),
    )
    parts = da.concatenate([mixed[:0], mixed[:800], mixed[800:800], mixed[800:]])
    same_metric(lw.FDA().fit(parts, y), lw.FDA().fit(rounded, y), rtol=1e-8)
    single = lw.FDA().fit(chunked.astype(np.float32), y)
    assert single.components_.dtype == np.float32


def test_the_client_that_holds_the_rows(client, labelled):
    """Rows of one cluster are learned from there, whatever the default client is."""
    X, y = labelled
    with distributed.Client(
        processes=False,
        n_workers=1,
        threads_per_worker=1,
        dashboard_address=None,
        set_as_default=False,
    ) as other:
        held = other.persist(da.from_array(X, chunks=700))
        fitted = lw.FDA().fit(held, y)
        same_metric(fitted, lw.FDA().fit(X, y), rtol=1e-8)
        with pytest.raises(ValueError, match="2 different Dask clients"):
            lw.FDA().fit(held, client.persist(da.from_array(y, chunks=700)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: (X[:, 0], y), "X has 1 dimension, but a table of rows"),
        (lambda X, y: (X[:0], y[:0]), r"n_samples=0"),
        (lambda X, y: (X, y[1:]), "X has 2100 rows but y has 2099 labels"),
        (lambda X, y: (X, y * 0), "y has one class"),
        (lambda X, y: (X, y + 0.5), "[Uu]nknown label type"),
        (lambda X, y: (X, da.where(y == 1, np.nan, y)), "y contains NaN"),
        (
            lambda X, y: (da.where(da.arange(2100, chunks=500)[:, None] == 1500, np.nan, X), y),
            r"contains NaN in row 1500, column 0;",
        ),
        (lambda X, y: (X * 1e200, y), "only values within"),
        (lambda X, y: (X * 1j, y), "Complex data not supported"),
    ],
)
def test_bad_input_is_one_sentence(client, labelled, change, message):
    X, y = labelled
    given = change(da.from_array(X, chunks=500), da.from_array(y, chunks=500))
    model = lw.FDA()
    with pytest.raises(ValueError, match=message):
        model.fit(*given)
    assert not hasattr(model, "components_")


def test_text_is_named(client):
    words = np.array([["1", "x"], ["2", "3"]], dtype=object)
    with pytest.raises(ValueError, match="X holds 'x', but only numbers are allowed"):
        lw.Whitening().fit(da.from_array(words, chunks=1))


@pytest.mark.usefixtures("no_client")
def test_without_a_cluster_a_chunk_is_computed_once(labelled):
    X, y = labelled
    loaded = []

    def load(part):
        loaded.append(len(part))
        return part

    parts = [da.from_delayed(dask.delayed(load)(part), part.shape, part.dtype) for part in (X, X)]
    lw.FDA().fit(da.concatenate(parts), np.concatenate([y, y]))
    assert 2 <= len(loaded) <= 3  # a block that begins in the first chunk may need the second one


@pytest.mark.usefixtures("no_client")
def test_without_a_cluster_n_jobs_is_that_of_the_learner(labelled, monkeypatch):
    X, y = labelled
    given = []
    monkeypatch.setattr(LocalEngine, "__init__", recorded(LocalEngine.__init__, given))
    lw.NCA(n_jobs=1, max_iter=1, tol=10.0).fit(da.from_array(X[:200], chunks=100), y[:200])
    assert given == [1]


def recorded(initialise, given):
    def recording(engine, n_jobs=None):
        given.append(n_jobs)
        initialise(engine, n_jobs)

    return recording
