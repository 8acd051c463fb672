"""EmbeddingAdapter recovers a known metric, and keeps embeddings without one."""

import pickle

import numpy as np
import pytest
from simulated_embeddings import N_RELEVANT, D, fitted

import likewise as lw
from likewise.constraints import random_pairs
from likewise.evaluation import precision_at_k


def precision(X, y):
    return precision_at_k(X, y, 10, distance="cosine").value


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
