"""Number types, odd rows and bad input of EmbeddingAdapter."""

import warnings

import numpy as np
import pandas as pd
import pytest
from simulated_embeddings import D

import likewise as lw


@pytest.mark.parametrize("dtype", [np.float16, np.int8])
def test_small_types_are_computed_in_single_precision(train, dtype):
    X, y = train
    small = np.round(100 * X).astype(dtype)
    adapter = lw.EmbeddingAdapter(normalize=True).fit(small[:300], y[:300], unlabelled=small[300:])
    assert adapter.components_.dtype == np.float32
    assert adapter.transform(small).dtype == np.float32
    assert adapter.chosen_ != "identity"


@pytest.mark.parametrize("dtype", [np.float16, np.int8])
def test_tables_of_small_types_are_computed_in_single_precision(train, dtype):
    X, y = train
    small = np.round(100 * X).astype(dtype)
    table = pd.DataFrame(small, columns=[f"f{j}" for j in range(D)])
    adapter = lw.EmbeddingAdapter(normalize=True).fit(table[:300], y[:300], unlabelled=table[300:])
    assert adapter.components_.dtype == np.float32
    assert adapter.transform(table).dtype == np.float32
    expected = lw.EmbeddingAdapter(normalize=True).fit(small[:300], y[:300], unlabelled=small[300:])
    assert (adapter.components_ == expected.components_).all()
    wide = table.astype({"f0": np.int32})
    assert lw.EmbeddingAdapter().fit(wide[:60], y[:60]).components_.dtype == np.float64


@pytest.mark.parametrize(("dtype", "size"), [(np.float32, 1e25), (np.float64, 1e200)])
def test_rows_whose_squares_overflow_are_named(train, dtype, size):
    X, y = train
    large = (size * X).astype(dtype)
    adapter = lw.EmbeddingAdapter(normalize=True)
    with pytest.raises(
        ValueError, match=r"^X holds values up to .* can be learned from.*: scale X"
    ):
        adapter.fit(large[:300], y[:300])
    assert not hasattr(adapter, "components_")
    with pytest.raises(ValueError, match=r"^unlabelled holds values up to"):
        adapter.fit(X[:300].astype(dtype), y[:300], unlabelled=large[300:])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fits = (1e10 * X[:300]).astype(dtype)
        assert lw.EmbeddingAdapter(normalize=True).fit(fits, y[:300]).chosen_ == "fda"


def test_dead_features_and_zero_rows_do_no_harm(train, test):
    X = np.hstack([train[0], np.full((1500, 1), 1e-33), np.zeros((1500, 2))])
    X[7] = 0
    adapter = lw.EmbeddingAdapter().fit(X[:300], train[1][:300], unlabelled=X[300:])
    assert adapter.chosen_ != "identity"
    images = adapter.transform(np.vstack([X, np.zeros((1, X.shape[1]))]))
    assert np.isfinite(images).all()


def test_equal_rows_with_different_labels_are_counted(train):
    X, y = train[0][:100].copy(), train[1][:100].copy()
    X[1], y[0], y[1] = X[0], 0, 1
    with pytest.warns(
        UserWarning, match="1 row of X is equal to another row with a different label"
    ):
        lw.EmbeddingAdapter().fit(X, y)
    with pytest.warns(UserWarning, match="1 pair of rows is marked both same and different"):
        lw.EmbeddingAdapter().fit_pairs(X, [[0, 1], [1, 0]], [True, False])


def test_minus_one_is_a_label_like_any_other(train):
    X, y = train
    shifted = lw.EmbeddingAdapter().fit(X[:300], y[:300] - 1)
    assert (shifted.components_ == lw.EmbeddingAdapter().fit(X[:300], y[:300]).components_).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda a, X, y: a.fit(X, np.zeros(len(X))), "y has one class"),
        (lambda a, X, y: a.fit(X, y[:-1]), "X has 1500 rows but y has 1499 labels"),
        (lambda a, X, y: a.fit(X[:60], y[:60], unlabelled=X[:, :3]), "unlabelled has 3 features"),
        (
            lambda a, X, y: a.fit(X[:60], y[:60], unlabelled=X * np.nan),
            "Input unlabelled contains NaN",
        ),
        (
            lambda a, X, y: a.fit_pairs(X, [[0, 1]], [True]),
            "1 same and 0 different pairs, but both",
        ),
        (lambda a, X, y: a.fit_pairs(X, [[0, 1500]], [True]), "holds row number 1500"),
        (lambda a, X, y: a.fit_triplets(X, [[0, 1]]), r"shape \(1, 2\), but \(n, 3\) is needed"),
        (
            lambda a, X, y: a.fit_relevance(X, [0, 1], [[2]]),
            "relevant has 1 lists, but there are 2",
        ),
        (lambda a, X, y: a.fit_relevance(X, [0], [[2]], [[2]]), "both relevant and irrelevant to"),
        (lambda a, X, y: a.fit_relevance(X, [0], [[0]], [[2]]), "which is in its own list"),
        (lambda a, X, y: a.fit_relevance(X, [0], [[]], [[2]]), "No query has both a relevant and"),
        (lambda a, X, y: a.fit_relevance(X, [9999], [[1]], [[2]]), "queries holds row number 9999"),
        (lambda a, X, y: a.fit_relevance(X, [[0]], [[1]], [[2]]), r"queries has shape \(1, 1\)"),
        (lambda a, X, y: a.set_params(side="left").fit(X, y), "side='left' is not allowed"),
        (lambda a, X, y: a.set_params(normalize="l2").fit(X, y), "normalize='l2' is not allowed"),
    ],
)
def test_bad_input_is_named_and_nothing_is_half_fitted(call, message, train):
    adapter = lw.EmbeddingAdapter()
    with pytest.raises(ValueError, match=message):
        call(adapter, *train)
    assert not hasattr(adapter, "components_")


def test_vectors_of_another_dimension_raise(train):
    X, y = train
    adapter = lw.EmbeddingAdapter().fit(X[:60], y[:60])
    with pytest.raises(ValueError, match="X has 3 features, but EmbeddingAdapter is expecting 24"):
        adapter.transform(X[:, :3])
    with pytest.raises(ValueError, match="A has 2 rows and B has 3"):
        adapter.pair_distance(X[:2], X[:3])


def test_further_vectors_of_another_dimension_are_named(train):
    X, y = train
    adapter = lw.EmbeddingAdapter()
    with pytest.raises(ValueError, match=r"^unlabelled has 3 features, but .* is expecting 24"):
        adapter.fit(X[:60], y[:60], unlabelled=X[:, :3])
    assert not hasattr(adapter, "components_")
    with pytest.raises(
        ValueError, match=r"^B has 3 features, but EmbeddingAdapter is expecting 24"
    ):
        adapter.fit(X[:60], y[:60]).pair_distance(X[:2], X[:2, :3])


def test_no_further_vectors_is_none(train):
    X, y = train
    expected = lw.EmbeddingAdapter().fit(X[:300], y[:300])
    for nothing in (X[:0], [], pd.DataFrame(X[:0])):
        found = lw.EmbeddingAdapter().fit(X[:300], y[:300], unlabelled=nothing)
        assert np.array_equal(found.components_, expected.components_)


def test_zero_rows_are_no_evidence(rng):
    """A zero row has the cosine 0 with all rows, which is no reason to find all of them."""
    X = rng.normal(size=(400, 12))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = rng.integers(4, size=400)
    X[:8], y[:8] = 0, 0
    adapter = lw.EmbeddingAdapter().fit(X[:200], y[:200], unlabelled=X[200:])
    assert adapter.normalize_
    assert np.abs(adapter.cv_results_["gain_precision"]).max() < 0.1
    assert np.isfinite(adapter.transform(X)).all()
    with pytest.warns(UserWarning, match="equal to another row with a different label"):
        nothing = lw.EmbeddingAdapter(normalize=True).fit(np.zeros((80, 3)), np.arange(80) % 2)
    assert nothing.chosen_ == "identity"


def test_unit_rows_rounded_to_one_byte_are_normalised(train):
    X, y = train
    rounded = np.round(127 * X).astype(np.int8)
    lengths = np.linalg.norm(rounded.astype(float), axis=1)
    assert np.ptp(lengths) > 0.01 * lengths.mean()
    adapter = lw.EmbeddingAdapter().fit(rounded[:300], y[:300])
    assert adapter.normalize_
    assert adapter.components_.dtype == np.float32
    assert not lw.EmbeddingAdapter().fit(X * lengths[:, None], y).normalize_


def test_more_dimensions_than_judgements(rng):
    X = rng.normal(size=(80, 200))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        adapter = lw.EmbeddingAdapter().fit(X, np.arange(80) % 4)
    assert np.isfinite(adapter.transform(X)).all()


def test_rows_that_are_all_equal_are_kept():
    X = np.ones((80, 3))
    with pytest.warns(UserWarning, match="equal to another row"):
        adapter = lw.EmbeddingAdapter().fit(X, np.arange(80) % 2)
    assert adapter.chosen_ == "identity"
