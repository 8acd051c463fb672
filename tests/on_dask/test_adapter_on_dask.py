"""EmbeddingAdapter of Dask collections: the map of the gathered rows, from few of them."""

import threading

import numpy as np
import pytest
from gathered import arrays_in

import likewise as lw
from likewise._runtime.blocks.engines import ClusterEngine
from likewise.adapter import _checked_sources, _rows
from likewise.adapter._blocked_source import BlockedSource
from likewise.adapter._items import equal_rows
from likewise.constraints import random_pairs

pytest.importorskip("distributed", reason="needs likewise[dask]")

import dask.array as da
import dask.dataframe as dd
import distributed
import pandas as pd

N_LABELLED = 300


@pytest.fixture(scope="module")
def embedded():
    """Unit rows whose classes differ in 4 of 24 directions, and vary in the others."""
    rng = np.random.default_rng(5)
    y = rng.integers(8, size=1500)
    X = 2 * rng.normal(size=(len(y), 24))
    X[:, :4] = rng.normal(size=(8, 4))[y] + 0.4 * rng.normal(size=(len(y), 4))
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


@pytest.fixture
def few_gathered(monkeypatch):
    """Let cross-validation sample 200 rows, so that most rows stay where they are."""
    monkeypatch.setattr(_rows, "MAX_OTHERS", 200)
    monkeypatch.setattr(_checked_sources, "MAX_OTHERS", 200)


def chunked(X):
    """Return X in uneven chunks, an empty one among them, with its columns in two."""
    parts = da.from_array(X, chunks=((1, 499, len(X) - 500), (10, X.shape[1] - 10)))
    return da.concatenate([parts[:500], parts[:0], parts[500:]])


def triplets_of(y):
    pairs, same = random_pairs(y[:400], 1600, distinct=True, random_state=1)
    n = min(same.sum(), (~same).sum())
    anchors = pairs[same][:n]
    other = np.array([np.flatnonzero(y[:400] != y[a])[k % 200] for k, (a, _) in enumerate(anchors)])
    return np.column_stack([anchors, other])


def fit(kind, X, y, labels=None):
    adapter = lw.EmbeddingAdapter()
    if kind == "labels":
        return adapter.fit(X, y if labels is None else labels)
    if kind == "unlabelled":
        return adapter.fit(X[:N_LABELLED], y[:N_LABELLED], unlabelled=X[N_LABELLED:])
    if kind == "pairs":
        return adapter.fit_pairs(X, *random_pairs(y[:400], 800, distinct=True, random_state=0))
    if kind == "triplets":
        return adapter.fit_triplets(X, triplets_of(y))
    queries = np.arange(150)
    relevant = [np.setdiff1d(np.flatnonzero(y == y[q])[:6], [q]) for q in queries]
    return adapter.fit_relevance(X, queries, relevant)


KINDS = ["labels", "unlabelled", "pairs", "triplets", "relevance"]


def assert_same(found, expected, rtol=0.0):
    """What cross-validation says has the same bits; the map does up to `rtol`."""
    assert found.chosen_ == expected.chosen_ != "identity"
    assert found.weight_ == expected.weight_
    np.testing.assert_allclose(found.gain_, expected.gain_, rtol=0, atol=rtol)
    np.testing.assert_allclose(found.components_, expected.components_, rtol=0, atol=10 * rtol)
    np.testing.assert_allclose(found.mean_, expected.mean_, rtol=0, atol=10 * rtol)
    assert found.components_.dtype == expected.components_.dtype
    assert found.verdict_ == expected.verdict_


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_few_rows_have_the_bits_of_rows_in_memory(no_client, embedded, kind, dtype):
    X, y = embedded[0].astype(dtype), embedded[1]
    assert_same(fit(kind, chunked(X), y), fit(kind, X, y))


@pytest.mark.usefixtures("few_gathered")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_many_rows_have_the_map_of_rows_in_memory(no_client, embedded, kind, dtype):
    """Sums over blocks are added in another order than sums over all rows."""
    X, y = embedded[0].astype(dtype), embedded[1]
    rtol = 1e-12 if dtype == np.float64 else 1e-5
    if kind == "relevance" and dtype == np.float64:
        rtol = 1e-7  # conjugate gradients, for more than 4000 products, magnify rounding
    assert_same(fit(kind, chunked(X), y), fit(kind, X, y), rtol)


@pytest.mark.usefixtures("few_gathered")
@pytest.mark.parametrize("lazy", ["labelled", "unlabelled", "both"])
def test_labelled_or_unlabelled_rows_may_be_in_memory(no_client, embedded, lazy):
    X, y = embedded
    some, others = X[:N_LABELLED], X[N_LABELLED:]
    expected = lw.EmbeddingAdapter().fit(some, y[:N_LABELLED], unlabelled=others)
    found = lw.EmbeddingAdapter().fit(
        some if lazy == "unlabelled" else da.from_array(some, chunks=70),
        y[:N_LABELLED],
        unlabelled=others if lazy == "labelled" else da.from_array(others, chunks=333),
    )
    assert_same(found, expected, 1e-12)


@pytest.mark.usefixtures("few_gathered")
@pytest.mark.parametrize("kind", KINDS)
def test_same_bits_for_any_number_of_workers_and_chunks(client, embedded, kind, request):
    X, y = embedded
    on_two = fit(kind, chunked(X), y)
    with (
        distributed.LocalCluster(
            n_workers=3, threads_per_worker=1, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as other,
    ):
        assert_same(fit(kind, other.persist(da.from_array(X, chunks=(170, 5))), y), on_two)
    request.getfixturevalue("no_client")
    assert_same(fit(kind, chunked(X), y), on_two)


@pytest.mark.usefixtures("few_gathered")
@pytest.mark.parametrize("kind", KINDS)
def test_only_sums_and_few_rows_are_gathered(client, embedded, kind, monkeypatch):
    X, y = embedded
    X = np.tile(X, (6, 1)) + 1e-3 * np.arange(6 * len(X))[:, None] / len(X)
    received = []
    gather = ClusterEngine.gather

    def recorded(self, handles):
        results = gather(self, handles)
        sizes = [array.nbytes for array in arrays_in(results) if array.ndim == 2]
        received.append(sum(n for n in sizes if n % (8 * X.shape[1]) == 0))
        return results

    monkeypatch.setattr(ClusterEngine, "gather", recorded)
    monkeypatch.setattr(_rows, "_MAX_REFERENCE", 50)
    monkeypatch.setattr("likewise.adapter._labels._MAX_HELD", 50)
    fit(kind, da.from_array(X, chunks=1000), np.tile(y, 6))
    assert len(received) > 10
    # Of 9000 rows, those of judgements and 200 others; each query has ten rows drawn at random.
    n_judged = {"labels": 0, "unlabelled": N_LABELLED, "relevance": 16 * 150}.get(kind, 400)
    assert max(received) <= (n_judged + 250) * X.shape[1] * X.itemsize < X.nbytes / 3


def test_a_killed_worker_changes_no_bit(embedded, few_gathered, kill_a_worker):
    X, y = embedded
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        rows = client.persist(chunked(X))
        undisturbed = fit("labels", rows, y)
        n_gathered = kill_a_worker(cluster, 20)
        assert_same(fit("labels", rows, y), undisturbed)
        assert n_gathered[0] > 20


def test_equal_rows_are_numbered_as_in_memory(no_client):
    rng = np.random.default_rng(0)
    X = rng.integers(-1, 2, size=(700, 5)) * 1.0
    X[X == 0] *= rng.choice([-1.0, 1.0], size=(X == 0).sum())  # zeros of both signs
    rows = lw.EmbeddingAdapter(), da.from_array(X, chunks=90)
    from likewise._runtime.blocks.validation import check_blocked_rows

    found = BlockedSource(check_blocked_rows(*rows)).equal_rows()
    np.testing.assert_array_equal(found, equal_rows(X))


@pytest.mark.usefixtures("few_gathered")
def test_dataframes_half_precision_and_unknown_sizes(no_client, embedded):
    X, y = embedded[0].astype(np.float16), embedded[1]
    table = pd.DataFrame(X, columns=[f"x{j}" for j in range(24)])
    table["label"] = y
    parts = dd.from_pandas(table, npartitions=4)
    kept = parts[parts.x5 > -0.3]
    rows = kept[list(table.columns[:-1])]
    found = lw.EmbeddingAdapter().fit(rows, kept["label"])
    inside = X[:, 5] > -0.3
    assert_same(found, lw.EmbeddingAdapter().fit(X[inside], y[inside]), 1e-5)
    assert list(found.feature_names_in_) == list(table.columns[:-1])
    assert found.components_.dtype == np.float32
    other = lw.EmbeddingAdapter().fit(rows, kept["label"], unlabelled=rows)
    assert other.normalize_
    with pytest.raises(ValueError, match="feature names"):
        lw.EmbeddingAdapter().fit(rows, kept["label"], unlabelled=rows[rows.columns[::-1]])


def test_lengths_of_all_rows_decide_about_the_cosine(no_client, embedded):
    X, y = embedded
    longer = X.copy()
    longer[1234] *= 2
    assert fit("pairs", da.from_array(X, chunks=400), y).normalize_
    assert not fit("pairs", da.from_array(longer, chunks=400), y).normalize_
    whole = np.rint(100 * X)
    assert fit("pairs", da.from_array(whole, chunks=400), y).normalize_ == (
        fit("pairs", whole, y).normalize_
    )


@pytest.mark.usefixtures("few_gathered")
@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda X, y: lw.EmbeddingAdapter("rca").fit(X, y),
            ValueError,
            "metric is given, but X is a Dask collection with 1500 labelled rows, and at most 200",
        ),
        (
            lambda X, y: lw.EmbeddingAdapter().fit_pairs(X, [[0, 1500]], [True]),
            ValueError,
            "1500",
        ),
        (
            lambda X, y: lw.EmbeddingAdapter().fit(X * 1e160, y),
            ValueError,
            "X holds values up to .* but only values within",
        ),
        (
            lambda X, y: lw.EmbeddingAdapter().fit(X, y, unlabelled=da.log(X * 0)),
            ValueError,
            "Input unlabelled contains infinity in row 0, column 0",
        ),
        (
            lambda X, y: lw.EmbeddingAdapter().fit(X, y, unlabelled=X[:, 1:]),
            ValueError,
            "23 features",
        ),
        (
            lambda X, y: fit("labels", X, y).learning_curve(),
            ValueError,
            "fitted to a Dask collection",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_bad_input_is_one_sentence(no_client, embedded, call, error, message):
    X, y = embedded
    with pytest.raises(error, match=message):
        call(da.from_array(X, chunks=400), y)


def test_rows_of_judgements_beyond_max_memory_are_not_gathered(no_client):
    X = da.zeros((200_000, 50), chunks=20_000)
    pairs = np.arange(100_000).reshape(-1, 2)
    with (
        lw.config_context(max_memory="100MB"),
        pytest.raises(MemoryError, match=r"gathers 100000 of the 200000 rows of a Dask collection"),
    ):
        lw.EmbeddingAdapter().fit_pairs(X, pairs, np.arange(50_000) % 2 == 0)


@pytest.mark.usefixtures("few_gathered")
def test_equal_rows_with_different_labels_are_counted(no_client, embedded):
    X, y = embedded
    twice = np.concatenate([X, X[:3]])
    labels = np.concatenate([y, (y[:3] + 1) % 8])
    with pytest.warns(UserWarning, match="3 rows of X are equal to another row with a different"):
        lw.EmbeddingAdapter().fit(da.from_array(twice, chunks=400), labels)


def test_fits_at_the_same_time(client, embedded, few_gathered):
    X, y = embedded
    alone = fit("labels", chunked(X), y), fit("pairs", chunked(X), y)
    found = {}
    threads = [
        threading.Thread(target=lambda kind=kind: found.update({kind: fit(kind, chunked(X), y)}))
        for kind in ("labels", "pairs")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert_same(found["labels"], alone[0])
    assert_same(found["pairs"], alone[1])
