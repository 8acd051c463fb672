"""PAMetric: streams, batches and model files give the same model for the same pairs."""

import numpy as np
import pytest
from pa_metric_cases import FEATURES, PSD, assert_same_model, bits, data
from sklearn.datasets import load_digits
from sklearn.preprocessing import StandardScaler

import likewise as lw
from likewise.constraints import random_pairs


def test_bits_can_differ():
    X, pairs, same = data()
    model = lw.PAMetric().partial_fit_pairs(X, pairs, same)
    before = bits(model)
    assert before == bits(model)
    model._state.matrix[0, 0] = np.nextafter(model._state.matrix[0, 0], 9)
    assert before != bits(model)


def test_assert_same_model_can_fail():
    X, pairs, same = data()
    one, other = (lw.PAMetric().partial_fit_pairs(X, pairs, same) for _ in range(2))
    assert_same_model(one, other)
    other._state.matrix[0, 0] *= 1 + 1e-6
    with pytest.raises(AssertionError):
        assert_same_model(one, other)
    other = lw.PAMetric().partial_fit_pairs(X, pairs, same)
    other._state.n_updates += 1
    with pytest.raises(AssertionError):
        assert_same_model(one, other)


@pytest.mark.parametrize("psd", PSD)
@pytest.mark.parametrize("d", [*FEATURES, 130])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_one_by_one_equals_a_batch(d, psd, dtype):
    X, pairs, same = data(d, dtype=dtype)
    one, many = lw.PAMetric(psd=psd, scale=1.5), lw.PAMetric(psd=psd, scale=1.5)
    losses = [one.learn_pair(X[i], X[j], bool(s)) for (i, j), s in zip(pairs, same, strict=True)]
    many.partial_fit_pairs(X, pairs[:50], same[:50]).partial_fit_pairs(X, pairs[50:], same[50:])
    assert_same_model(one, many)
    assert sum(losses) == pytest.approx(many.cumulative_loss_, rel=1e-10)
    assert many.components_.dtype == dtype
    assert many.transform(X).dtype == dtype


def test_counts_follow_a_loop():
    X, pairs, same = data()
    model = lw.PAMetric(variant="PA-II", C=0.7, psd="end", scale=1.0).partial_fit_pairs(
        X, pairs, same
    )
    M, b, mistakes, loss, updates = np.zeros((3, 3)), 0.0, 0, 0.0, 0
    for (i, j), similar in zip(pairs, same, strict=True):
        v, y = X[i] - X[j], 1 if similar else -1
        q = v @ M @ v
        mistakes += (q <= b) != similar
        hinge = max(0.0, 1 - y * (b - q))
        loss += hinge
        updates += hinge > 0
        tau = hinge / (1 + (v @ v) ** 2 + 1 / 1.4)
        M, b = M - tau * y * np.outer(v, v), b + tau * y
    assert (model.mistakes_, model.n_updates_) == (mistakes, updates)
    assert model.cumulative_loss_ == pytest.approx(loss, rel=1e-10)
    assert model.b_ == pytest.approx(b, rel=1e-10)
    assert model.threshold_ == pytest.approx(max(1, b) ** 0.5)
    values, vectors = np.linalg.eigh(M)
    nearest = (vectors * np.maximum(values, 0)) @ vectors.T
    np.testing.assert_allclose(model.mahalanobis_matrix(), nearest, rtol=1e-9, atol=1e-12)
    far = model.pair_distance(X[:20], X[20:]) <= model.threshold_
    assert (model.predict_pairs(X[:20], X[20:]) == far).all()


@pytest.mark.parametrize("labels", [np.arange(40) % 3, np.array(["cat", "dog", "cow"] * 14)[:40]])
def test_labelled_samples_are_paired_with_the_last_ones(labels):
    X, _, _ = data()
    pairs = [(j, i) for i in range(40) for j in range(max(0, i - 4), i)]
    same = [labels[i] == labels[j] for i, j in pairs]
    expected = lw.PAMetric().partial_fit_pairs(X, pairs, same)
    for cuts in ([40], [1, 2, 20, 40], [13, 14, 15, 16, 40], list(range(1, 41))):
        model = lw.PAMetric(memory=4)
        for begin, end in zip([0, *cuts], cuts, strict=False):
            model.partial_fit(X[begin:end], labels[begin:end])
        assert_same_model(model, expected)


@pytest.mark.parametrize(
    ("n", "c"), [(136, 4), (178, 3), (214, 4), (272, 3), (290, 20), (350, 2), (624, 3), (682, 2)]
)
def test_fit_makes_the_papers_passes(n, c):
    """The sizes of the paper's Table 1, where n is the whole set and half of it is learned from."""
    X = np.random.default_rng(0).normal(size=(n // 2, 2))
    model = lw.PAMetric(random_state=0).fit(X, np.arange(n // 2) % c)
    r = 40 * c * (c - 1)
    existing = n // 2 * (n // 2 - 1) // 2
    if c == 20:
        assert (r, existing) == (15200, 10440), "more pairs than there are"
    r = min(r, existing)
    t = min(n * (n - 2) // 40, 50 * r)
    assert t == min(existing // 5, 50 * r), "a fifth of all pairs"
    assert model.n_events_ % r == 0
    assert max(2 * r, t) <= model.n_events_ < max(2 * r + 1, t + r)
    assert model.n_iter_ == model.n_events_ // r
    if n == 350:
        assert model.n_iter_ == 39


@pytest.mark.parametrize("learner", [lw.PAMetric, lw.POLA, lw.ITML, lw.MMC, lw.DMLEig])
def test_fit_of_many_classes_draws_no_more_than_100_000_pairs(learner, monkeypatch):
    drawn = []
    learn = "_fit_passes" if hasattr(learner, "_fit_passes") else "_learn"
    keep = lambda self, X, pairs, random: drawn.append(len(pairs)) or self  # noqa: E731
    monkeypatch.setattr(learner, learn, keep)
    monkeypatch.setattr("likewise.batch._pair_learner.diagnosed", lambda metric, X, pairs: metric)
    X = np.random.default_rng(0).normal(size=(1000, 2))
    learner().fit(X, np.arange(1000) % 500)
    assert drawn == [100_000]


@pytest.mark.parametrize(("d", "period"), [(3, 100), (130, 130)])
def test_auto_projects_after_a_hundred_updates_or_as_many_as_features(d, period):
    X, pairs, same = data(d, n=300)
    pairs, same = random_pairs(np.arange(300) % 7, 600, random_state=0)
    auto = lw.PAMetric().partial_fit_pairs(X, pairs, same)
    assert auto.n_updates_ > 2 * period
    assert bits(auto) == bits(lw.PAMetric(psd=period).partial_fit_pairs(X, pairs, same))
    assert bits(auto) != bits(lw.PAMetric(psd="end").partial_fit_pairs(X, pairs, same))


def test_new_pairs_are_decided_by_default_as_well_as_with_a_projection_of_each_update():
    X, y = load_digits(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    pairs, same = random_pairs(y[:900], 6000, random_state=0)
    new, same_new = random_pairs(y[900:], 3000, random_state=0)
    errors = {}
    for psd in ("auto", "each", "end"):
        model = lw.PAMetric(psd=psd).partial_fit_pairs(X[:900], pairs, same)
        predicted = model.predict_pairs(X[900:][new[:, 0]], X[900:][new[:, 1]])
        errors[psd] = np.mean(predicted != same_new)
    assert errors["auto"] < errors["each"] + 0.02
    assert errors["auto"] < errors["end"] - 0.02


def test_fit_draws_distinct_pairs(monkeypatch):
    X, y = np.random.default_rng(0).normal(size=(100, 3)), np.arange(100) % 5
    seen = []
    keep = lw.PAMetric._fit_passes
    monkeypatch.setattr(
        lw.PAMetric, "_fit_passes", lambda self, *args: seen.append(args[1]) or keep(self, *args)
    )
    lw.PAMetric(random_state=0).fit(X, y)
    index, same = seen[0]
    assert len({tuple(sorted(pair)) for pair in index.tolist()}) == len(index) == 800
    assert same.mean() == 0.5
    assert lw.PAMetric(max_iter=1, n_pairs=17).fit(X, y).n_events_ == 17
    with pytest.warns(UserWarning, match="n_pairs=5000, but 100 labels have 4950 distinct pairs"):
        lw.PAMetric(n_pairs=5000, max_iter=1).fit(X, y)


def test_fit_shuffles_only_if_shuffle_is_true():
    X, pairs, same = data()
    straight = lw.PAMetric(shuffle=False, max_iter=2, scale=1.0).fit_pairs(X, pairs, same)
    twice = lw.PAMetric(scale=1.0).fit_stream([(X, pairs, same)] * 2)
    assert_same_model(straight, twice)
    shuffled = [lw.PAMetric(random_state=seed).fit_pairs(X, pairs, same) for seed in (0, 0, 1)]
    assert bits(shuffled[0]) == bits(shuffled[1]) != bits(shuffled[2])


def test_fit_stream_takes_both_kinds_of_batches():
    X, pairs, same = data()
    y = np.arange(40) % 3
    model = lw.PAMetric().fit_stream(iter([(X, pairs, same), (X, y), (X[:5], y[:5])]))
    expected = lw.PAMetric().partial_fit_pairs(X, pairs, same).partial_fit(X, y)
    assert_same_model(model, expected.partial_fit(X[:5], y[:5]))


# Powers of two: a loss of exactly zero stays one, so even the updates are the same in number.
@pytest.mark.parametrize("factor", [2.0**-27, 2.0**-10, 2.0**17, 2.0**27])
def test_auto_scale_undoes_any_scale(factor):
    X, pairs, same = data()
    plain = lw.PAMetric(random_state=0).fit_pairs(X, pairs, same)
    scaled = lw.PAMetric(random_state=0).fit_pairs(X * factor, pairs, same)
    assert_same_model(scaled, plain, rtol=1e-8)
    np.testing.assert_allclose(scaled.components_ * factor, plain.components_, atol=1e-8)
    length2 = np.square(X[pairs[same, 0]] - X[pairs[same, 1]]).sum(axis=1)
    assert plain.scale_ == pytest.approx(np.median(length2) ** -0.5)


@pytest.mark.parametrize("psd", ["end", "each", 2])
@pytest.mark.parametrize("d", [2, 50])
def test_long_differences(d, psd):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, d)) * 1e70
    pairs, same = random_pairs(np.arange(60) % 2, 200, random_state=0)
    model = lw.PAMetric(psd=psd, scale=1.0).partial_fit_pairs(X, pairs, same)
    assert np.isfinite(model.components_).all()
    assert np.isfinite(model.cumulative_loss_)
    with pytest.raises(ValueError, match="1e\\+75"):
        model.learn_pair(X[0] * 1e10, X[1], True)
    # What counts is the length after scaling.
    shrunk = lw.PAMetric(psd=psd, scale=1e-60).partial_fit_pairs(X * 1e10, pairs, same)
    assert np.isfinite(shrunk.components_).all()
    with pytest.raises(ValueError, match="1e\\+55"):
        lw.PAMetric(scale=1e20).partial_fit_pairs(X, pairs, same)


@pytest.mark.parametrize("psd", PSD)
@pytest.mark.parametrize("d", FEATURES)
def test_save_load_continue_gives_the_same_bits(d, psd, tmp_path):
    X, pairs, same = data(d, n=60)
    y = np.array(["a", "b", "long label"])[np.arange(60) % 3]

    def learn(model, part):
        if part == 0:
            return model.fit(X, y)
        if part == 1:
            for (i, j), s in zip(pairs[:40], same, strict=False):
                model.learn_pair(X[i], X[j], bool(s))
            return model
        if part == 2:
            return model.partial_fit(X[:31], y[:31])
        if part == 3:
            return model.partial_fit_pairs(X, pairs, same).partial_fit(X[31:], y[31:])
        return model.fit(X, y)  # continues with the state of the generator

    def fresh():
        random = np.random.RandomState(3)
        return lw.PAMetric(psd=psd, record_every=25, n_pairs=50, random_state=random)

    stayed, stopped = fresh(), fresh()
    for part in range(5):
        learn(stayed, part)
        learn(stopped, part)
        if part % 2:
            stopped.components_  # noqa: B018 - asking for L must not change what follows
        stopped.save(tmp_path / "model.safetensors")
        stopped = lw.load(tmp_path / "model.safetensors")
        assert bits(stayed) == bits(stopped)
        assert stayed.components_.tobytes() == stopped.components_.tobytes()
        for name, column in stayed.history_.items():
            assert column.tobytes() == stopped.history_[name].tobytes()


def test_history():
    X, pairs, same = data()
    one, many = (lw.PAMetric(record_every=25) for _ in range(2))
    for (i, j), s in zip(pairs, same, strict=True):
        one.learn_pair(X[i], X[j], bool(s))
    many.partial_fit_pairs(X, pairs[:60], same[:60]).partial_fit_pairs(X, pairs[60:], same[60:])
    for name in ("n_events", "predictive_error", "effective_dimension"):
        np.testing.assert_allclose(one.history_[name], many.history_[name])
    assert many.history_["n_events"].tolist() == [25, 50, 75, 100]
    part = lw.PAMetric().partial_fit_pairs(X, pairs[:75], same[:75])
    assert many.history_["predictive_error"][2] == part.mistakes_ / 75
    values = np.linalg.eigvalsh(part._state.dense())
    assert many.history_["effective_dimension"][2] == (values > values[-1] * 1e-6).sum()
    assert not hasattr(part, "history_")


@pytest.mark.parametrize("psd", PSD)
def test_components_follow_the_updates(psd):
    X, pairs, same = data()
    model = lw.PAMetric(psd=psd)
    for (i, j), s in zip(pairs[:30], same, strict=False):
        model.learn_pair(X[i], X[j], bool(s))
        L = model.components_
        values, vectors = np.linalg.eigh(model._state.dense())
        expected = (vectors * np.maximum(values, 0)) @ vectors.T
        np.testing.assert_allclose(L.T @ L, expected * model.scale_**2, rtol=1e-9, atol=1e-12)
        assert model.components_ is L  # computed once
    model.partial_fit_pairs(X.astype(np.float32), pairs, same)
    assert model.components_.dtype == np.float32


@pytest.mark.parametrize("psd", ["end", "each"])
@pytest.mark.parametrize("d", [384, 768, pytest.param(1536, marks=pytest.mark.slow)])
def test_embeddings(d, psd):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, d)).astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    pairs, same = random_pairs(np.arange(80) % 4, 60, random_state=0)
    one, many = (lw.PAMetric(psd=psd, C=1.0) for _ in range(2))
    many.partial_fit_pairs(X, pairs, same)
    for (i, j), s in zip(pairs, same, strict=True):
        one.learn_pair(X[i], X[j], bool(s))
    assert_same_model(one, many, rtol=1e-8)
    assert many.n_updates_ > 30
    M = many._state.dense()
    assert (M == M.T).all()
