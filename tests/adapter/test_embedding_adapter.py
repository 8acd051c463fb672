"""EmbeddingAdapter recovers a known metric, keeps embeddings without one, and names bad input."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest

import likewise as lw
from likewise.constraints import random_pairs
from likewise.evaluation import precision_at_k

D, N_CLASSES, N_RELEVANT = 24, 8, 4


def embeddings(n, seed, noise=2.0, signal=1.0):
    """Return unit rows whose classes differ in 4 of 24 directions, and vary in the others."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(99).normal(size=(N_CLASSES, N_RELEVANT))
    y = rng.integers(N_CLASSES, size=n)
    X = noise * rng.normal(size=(n, D))
    X[:, :N_RELEVANT] = signal * centres[y] + 0.4 * rng.normal(size=(n, N_RELEVANT))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, y


@pytest.fixture(scope="module")
def train():
    return embeddings(1500, 0)


@pytest.fixture(scope="module")
def test():
    return embeddings(1000, 1)


def precision(X, y):
    return precision_at_k(X, y, 10, distance="cosine").value


@pytest.fixture(scope="module")
def pairs(train):
    return random_pairs(train[1], 800, distinct=True, random_state=0)


@pytest.fixture(scope="module")
def triplets(train):
    rng = np.random.default_rng(0)
    found = []
    while len(found) < 800:
        i, j, k = rng.choice(len(train[1]), 3, replace=False)
        if train[1][i] == train[1][j] != train[1][k]:
            found.append((i, j, k))
    return np.array(found)


@pytest.fixture(scope="module")
def lists(train):
    y = train[1]
    queries = np.arange(150)
    relevant = [np.setdiff1d(np.flatnonzero(y == y[q])[:6], [q]) for q in queries]
    irrelevant = [np.flatnonzero(y != y[q])[5 * q : 5 * q + 8] for q in queries]
    return queries, relevant, irrelevant


def fitted(kind, train, pairs, triplets, lists, **parameters):
    X, y = train
    adapter = lw.EmbeddingAdapter(**parameters)
    if kind == "labels":
        return adapter.fit(X[:300], y[:300], unlabelled=X[300:])
    if kind == "pairs":
        return adapter.fit_pairs(X, *pairs)
    if kind == "triplets":
        return adapter.fit_triplets(X, triplets)
    return adapter.fit_relevance(X, *lists)


@pytest.mark.parametrize("kind", ["labels", "pairs", "triplets", "lists"])
def test_a_known_metric_is_recovered(kind, train, test, pairs, triplets, lists):
    adapter = fitted(kind, train, pairs, triplets, lists)
    assert adapter.chosen_ != "identity"
    gained = precision(adapter.transform(test[0]), test[1]) - precision(*test)
    assert gained > 0.1
    low, high = adapter.gain_interval_
    assert low < adapter.gain_ < high
    assert f"{adapter.gain_:.3f}" in adapter.verdict_
    # The relevant directions are stretched.
    M = adapter.components_.T @ adapter.components_
    assert np.diag(M)[:N_RELEVANT].mean() > 1.5 * np.diag(M)[N_RELEVANT:].mean()


def test_more_labels_are_no_worse(train, test):
    X, y = train
    found = [
        precision(
            lw.EmbeddingAdapter().fit(X[:m], y[:m], unlabelled=X[m:]).transform(test[0]), test[1]
        )
        for m in (20, 200, 1000)
    ]
    assert found[0] == pytest.approx(precision(*test))
    assert found[0] < found[1] <= found[2] + 0.02


@pytest.mark.parametrize("kind", ["labels", "pairs", "triplets"])
def test_embeddings_without_structure_are_kept(kind):
    """A map is chosen by chance in few of the draws, for each kind of judgement."""
    n_adapted = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(400, 12))
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        y = rng.integers(4, size=400)
        adapter = lw.EmbeddingAdapter(random_state=seed)
        if kind == "labels":
            adapter.fit(X[:200], y[:200], unlabelled=X[200:])
        elif kind == "pairs":
            adapter.fit_pairs(X, *random_pairs(y, 300, distinct=True, random_state=seed))
        else:
            adapter.fit_triplets(X, np.argsort(rng.random((300, 400)), axis=1)[:, :3])
        n_adapted += adapter.chosen_ != "identity"
        if adapter.chosen_ == "identity":
            assert (adapter.gain_, adapter.gain_interval_) == (0.0, (0.0, 0.0))
            assert np.allclose(adapter.transform(X), X)
            assert adapter.verdict_.startswith("Keep your embeddings: no gain shown with")
    assert n_adapted <= 1


def test_few_judgements_keep_the_embeddings(train):
    X, y = train
    adapter = lw.EmbeddingAdapter().fit(X[:49], y[:49], unlabelled=X[49:])
    assert adapter.chosen_ == "identity"
    assert adapter.verdict_ == (
        "Keep your embeddings: 49 labelled rows cannot show a gain; at least 50 are needed."
    )
    assert adapter.n_needed_ is None
    assert len(adapter.cv_results_["family"]) == 0


def test_the_verdict_names_how_many_would_do():
    X, y = embeddings(700, 3, noise=3.0)
    adapter = lw.EmbeddingAdapter().fit(X[:60], y[:60], unlabelled=X[60:])
    assert adapter.chosen_ == "identity"
    if adapter.n_needed_ is not None:
        assert f"about {adapter.n_needed_} would show" in adapter.verdict_


def test_results_of_all_maps_are_kept(train):
    X, y = train
    adapter = lw.EmbeddingAdapter().fit(X[:300], y[:300], unlabelled=X[300:])
    results = adapter.cv_results_
    families = set(results["family"])
    assert families == {"centred", "fda", "self-trained"}
    chosen = (results["family"] == adapter.chosen_) & (results["weight"] == adapter.weight_)
    assert chosen.sum() == 1
    assert results["gain_precision"][chosen][0] == adapter.gain_
    best = results["bound"].argmax()
    assert results["bound"][best] > 0
    assert results["family"][best] == adapter.chosen_
    assert adapter.weight_ == 1 < results["weight"][best]  # what 300 rows allow


def test_without_unlabelled_rows_there_is_no_self_training(train):
    X, y = train
    adapter = lw.EmbeddingAdapter().fit(X[:400], y[:400])
    assert set(adapter.cv_results_["family"]) == {"centred", "fda"}
    assert adapter.chosen_ == "fda"


def test_a_learner_takes_part(train, pairs):
    X, y = train
    adapter = lw.EmbeddingAdapter("rca").fit(X[:300], y[:300])
    assert "metric" in adapter.cv_results_["family"]
    assert "metric" in lw.EmbeddingAdapter(lw.RCA()).fit_pairs(X, *pairs).cv_results_["family"]
    with pytest.raises(ValueError, match=r"metric=FDA has no fit_pairs, but it must learn from"):
        lw.EmbeddingAdapter("fda").fit_pairs(X, *pairs)
    with pytest.raises(ValueError, match=r"metric=LMNN is not a linear metric"):
        lw.EmbeddingAdapter(lw.LMNN(kernel="rbf", max_iter=2, tol=0.1)).fit(X[:100], y[:100])


def test_queries_alone(train, test, pairs):
    X, _ = train
    both = lw.EmbeddingAdapter().fit_pairs(X, *pairs)
    queries = lw.EmbeddingAdapter(side="query").fit_pairs(X, *pairs)
    assert queries.chosen_ != "identity"
    T, t = test
    gained = (
        precision_at_k(
            queries.transform(T[:300]), t[:300], corpus=T[300:], corpus_y=t[300:], distance="cosine"
        ).value
        - precision_at_k(
            T[:300], t[:300], corpus=T[300:], corpus_y=t[300:], distance="cosine"
        ).value
    )
    assert gained > 0.1
    distances = queries.pair_distance(T[:5], T[5:10])
    assert np.allclose(distances, np.linalg.norm(queries.transform(T[:5]) - T[5:10], axis=1))
    assert not np.allclose(distances, both.pair_distance(T[:5], T[5:10]))
    with pytest.raises(ValueError, match="side='query' needs rows of one length"):
        lw.EmbeddingAdapter(side="query").fit_pairs(X * np.arange(1, 1501)[:, None], *pairs)


def test_lengths_decide_whether_images_are_normalised(train):
    X, y = train
    stretched = X * np.linspace(1, 2, len(X))[:, None]
    assert lw.EmbeddingAdapter().fit(X[:60], y[:60]).normalize_
    assert not lw.EmbeddingAdapter().fit(stretched[:600], y[:600]).normalize_
    adapter = lw.EmbeddingAdapter(normalize=True).fit(stretched[:600], y[:600])
    assert np.allclose(np.linalg.norm(adapter.transform(stretched), axis=1), 1)


def test_euclidean_distances_are_adapted_without_normalising(train, test):
    scale = np.random.default_rng(5).uniform(1, 3, len(train[0]))
    X, y = train[0] * scale[:, None], train[1]
    adapter = lw.EmbeddingAdapter().fit(X[:500], y[:500], unlabelled=X[500:])
    assert not adapter.normalize_
    T = test[0] * scale[: len(test[0]), None]
    before = precision_at_k(T, test[1], 10).value
    assert precision_at_k(adapter.transform(T), test[1], 10).value >= before


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


def test_files_and_pickles_keep_the_map_but_not_the_data(train, tmp_path):
    X, y = train
    adapter = lw.EmbeddingAdapter().fit(X[:300], y[:300], unlabelled=X[300:])
    adapter.save(tmp_path / "adapter.safetensors")
    assert (tmp_path / "adapter.safetensors").stat().st_size < 60_000
    for copy in (lw.load(tmp_path / "adapter.safetensors"), pickle.loads(pickle.dumps(adapter))):
        assert (copy.transform(X) == adapter.transform(X)).all()
        assert copy.verdict_ == adapter.verdict_
        with pytest.raises(ValueError, match="This adapter was loaded from a file"):
            copy.learning_curve()


@pytest.mark.parametrize("kind", ["labels", "pairs", "triplets", "lists"])
def test_the_learning_curve_has_the_gains_of_parts(kind, train, pairs, triplets, lists):
    adapter = fitted(kind, train, pairs, triplets, lists)
    curve = adapter.learning_curve()
    n = {"labels": 300, "pairs": 800, "triplets": 800, "lists": 150}[kind]
    assert curve.n_judgements.tolist() == [round(n * share) for share in (0.125, 0.25, 0.5, 1)]
    assert curve.gains[-1] == pytest.approx(adapter.gain_, abs=0.1)
    assert curve.gains[-1] > 0
    assert curve.intervals.shape == (4, 2)
    assert ((curve.chosen == "identity") == (curve.gains == 0)).all()


def test_the_seed_decides_everything(train, pairs):
    X, _ = train
    maps = [lw.EmbeddingAdapter(n_jobs=n).fit_pairs(X, *pairs).components_ for n in (1, 2)]
    assert (maps[0] == maps[1]).all()


def test_the_map_is_exported(train):
    from likewise.base import AffineMap

    X, y = train
    adapter = lw.EmbeddingAdapter().fit(X[:300], y[:300], unlabelled=X[300:])
    found = AffineMap.from_model(adapter)
    assert np.allclose(found.transform(X), adapter.transform(X))
    assert found.normalize


@pytest.mark.parametrize("normalize", [True, False])
def test_the_parts_of_an_explanation_add_up_to_the_distance(train, test, normalize):
    X, y = train
    adapter = lw.EmbeddingAdapter(normalize=normalize).fit(X, y)
    assert adapter.chosen_ != "identity"
    a, b = test[0][:2]
    found = adapter.explain_pair(a, b)
    expected = adapter.pair_distance(test[0][:1], test[0][1:2])[0]
    assert found.distance == pytest.approx(expected)
    for parts in (found.feature_contributions, found.direction_contributions):
        assert parts.sum() == pytest.approx(expected**2)
    images = adapter.transform(test[0][:2])
    np.testing.assert_allclose(found.direction_contributions, (images[0] - images[1]) ** 2)
    if normalize:
        with pytest.raises(
            ValueError, match=r"threshold=1.0 is not allowed: explain_pair needs None"
        ):
            adapter.explain_pair(a, b, threshold=1.0)
    else:
        factors = adapter.explain_pair(a, b, threshold=1.1 * expected).factors
        moved = b + (a - b) * np.where(np.arange(D) == 0, factors[0], 1)
        assert adapter.pair_distance(b[None], moved[None])[0] == pytest.approx(1.1 * expected)


def test_queries_alone_cannot_be_explained(train, pairs):
    adapter = lw.EmbeddingAdapter(side="query").fit_pairs(train[0], *pairs)
    with pytest.raises(AttributeError, match="side='query' maps only one of two rows, but"):
        adapter.explain_pair(*train[0][:2])


def test_pairs_are_decided_on_top(train, test):
    adapter = lw.EmbeddingAdapter().fit(train[0][:500], train[1][:500], unlabelled=train[0][500:])
    from sklearn.frozen import FrozenEstimator

    judge = lw.PairClassifier(FrozenEstimator(adapter), "eer").fit(*test)
    plain = lw.PairClassifier("cosine", "eer").fit(*test)
    assert judge.fmr_ < plain.fmr_


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
