"""PairClassifier of Dask collections: the threshold of the gathered rows."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator

import likewise as lw
from likewise.constraints import random_pairs

pytest.importorskip("distributed", reason="needs likewise[dask]")

import dask.array as da
import dask.dataframe as dd
import distributed
import pandas as pd


def chunked(X):
    parts = da.from_array(X, chunks=((1, 499, len(X) - 500), (2, X.shape[1] - 2)))
    return da.concatenate([parts[:500], parts[:0], parts[500:]])


def assert_same(found, expected, rtol=1e-9):
    """The same threshold and promise, up to the rounding of sums over blocks."""
    assert found.threshold_ == pytest.approx(expected.threshold_, rel=rtol)
    assert found.promise_ == expected.promise_
    assert found.n_metric_items_ == expected.n_metric_items_
    assert found.n_threshold_pairs_ == expected.n_threshold_pairs_
    assert (found.fmr_, found.fnmr_) == pytest.approx((expected.fmr_, expected.fnmr_), abs=1e-3)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"metric": "cosine"},
        {"metric": lw.Euclidean()},
        {"metric": "fda"},
        {"metric": lw.RCA(), "refit": True},
        {"metric": FrozenEstimator(lw.FDA()), "target": "fmr<=0.1"},
        {"metric": lw.FDA(), "target": "fmr<=0.2", "max_pairs": 10**9},
    ],
    ids=str,
)
def test_the_threshold_of_the_gathered_rows(client, labelled, options):
    X, y = labelled[0][:900], labelled[1][:900]
    if isinstance(options.get("metric"), FrozenEstimator):
        options = {**options, "metric": FrozenEstimator(lw.FDA().fit(*labelled))}
    options = {"max_pairs": 20_000, **options}
    expected = lw.PairClassifier(**options).fit(X, y)
    found = lw.PairClassifier(**options).fit(chunked(X), da.from_array(y, chunks=300))
    assert_same(found, expected)
    if expected.metric_ is not None:
        np.testing.assert_allclose(
            found.metric_.transform(X), expected.metric_.transform(X), rtol=1e-8, atol=1e-9
        )


def test_subjects_and_dataframes(client, labelled):
    X, y = labelled
    table = pd.DataFrame(X, columns=list("abcdef"))
    groups = np.arange(len(X)) % 300
    options = {"metric": "fda", "max_pairs": 20_000}
    expected = lw.PairClassifier(**options).fit(table, y, groups=groups)
    parts = dd.from_pandas(table, npartitions=3)
    found = lw.PairClassifier(**options).fit(parts, y, groups=groups)
    assert_same(found, expected)
    assert list(found.feature_names_in_) == list("abcdef")
    labels = dd.from_pandas(pd.Series(y), npartitions=3)
    assert found.score(parts, labels) == pytest.approx(expected.score(table, y), abs=1e-3)


def test_no_rows_are_gathered(client, labelled, gathered_sizes):
    X, y = np.tile(labelled[0], (1, 10)), labelled[1]
    X[:, 6:] += np.random.default_rng(0).normal(size=(len(X), 54))
    judge = lw.PairClassifier("fda", max_pairs=1000).fit(da.from_array(X, chunks=500), y)
    judge.score(da.from_array(X, chunks=500), y)
    assert len(gathered_sizes) > 10
    assert max(gathered_sizes) <= 128 * 60  # the rows of the centre; X has 126 000 values


def test_same_bits_for_any_number_of_workers(client, labelled, request):
    X, y = labelled
    judge = lw.PairClassifier("fda", max_pairs=20_000)
    on_two = judge.fit(chunked(X), y).threshold_
    with distributed.Client(
        n_workers=3,
        threads_per_worker=1,
        processes=False,
        dashboard_address=None,
        set_as_default=False,
    ) as other:
        assert judge.fit(other.persist(da.from_array(X, chunks=170)), y).threshold_ == on_two
    request.getfixturevalue("no_client")
    assert judge.fit(chunked(X), y).threshold_ == on_two


def test_judged_pairs_gather_their_rows(client, labelled):
    X, y = labelled
    pairs, same = random_pairs(y[:400], 2000, distinct=True, random_state=0)
    numbers, renumbered = np.unique(pairs, return_inverse=True)
    renumbered = renumbered.reshape(pairs.shape)
    groups = np.arange(len(X)) // 2
    for options in ({}, {"metric": lw.ITML(max_iter=100, random_state=0)}):
        expected = lw.PairClassifier(**options).fit_pairs(
            X[numbers], renumbered, same, groups=groups[numbers]
        )
        found = lw.PairClassifier(**options).fit_pairs(chunked(X), pairs, same, groups=groups)
        assert found.threshold_ == expected.threshold_
        assert found.promise_ == expected.promise_
        score = found.score_pairs(chunked(X), pairs, same)
        assert score == pytest.approx(expected.score_pairs(X, pairs, same), abs=1e-3)


def test_decisions_are_lazy(client, labelled):
    X, y = labelled
    A, B = X[:600], X[600:1200]
    judge = lw.PairClassifier("fda", max_pairs=5000).fit(X, y)
    band = (0.9 * judge.threshold_, 1.1 * judge.threshold_)
    calls = [
        lambda A, B: judge.predict_pairs(A, B),
        lambda A, B: judge.predict_pairs(A, B, unsure=band),
        lambda A, B: judge.predict_proba_pairs(A, B),
        lambda A, B: judge.predict_proba_pairs(A, B, prevalence=0.01),
    ]
    for call in calls:
        expected = call(A, B)
        for first, second in ((chunked(A), B), (A, da.from_array(B, chunks=250))):
            found = call(first, second)
            assert isinstance(found, da.Array)
            assert found.shape == expected.shape
            assert found.dtype == expected.dtype
            computed = found.compute()
            if expected.dtype.kind == "f":
                np.testing.assert_allclose(computed, expected, rtol=1e-9)
            else:
                assert (computed == expected).mean() > 0.99
    with pytest.raises(ValueError, match="A has 600 rows and B has 599"):
        judge.predict_pairs(chunked(A), B[1:])


def test_errors_are_one_sentence(client, labelled):
    X, y = labelled
    lazy = da.from_array(X, chunks=500)
    with pytest.raises(
        ValueError, match=r"metric=PCA.* would gather its rows: a metric of likewise"
    ):
        lw.PairClassifier(PCA(2)).fit(lazy, y)
    with pytest.raises(ValueError, match="this method of ITML needs rows in memory"):
        lw.PairClassifier("itml").fit(lazy, y)
    judge = lw.PairClassifier(max_pairs=1000).fit(X, y)
    with pytest.raises(ValueError, match="5 features"):
        judge.score(lazy[:, 1:], y)
    with pytest.raises(ValueError, match="X has 2100 rows but y has 2099"):
        judge.score(lazy, y[1:])
    many = np.arange(100_000).reshape(-1, 2)
    with (
        lw.config_context(max_memory="100MB"),
        pytest.raises(MemoryError, match="PairClassifier, which gathers 100000 of the 200000 rows"),
    ):
        lw.PairClassifier().fit_pairs(
            da.zeros((200_000, 50), chunks=20_000), many, np.arange(len(many)) % 2 == 0
        )
