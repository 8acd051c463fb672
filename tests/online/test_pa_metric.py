"""PAMetric: streams, batches and model files give the same model for the same pairs."""

import pickle
import re

import numpy as np
import pytest

import likewise as lw
from likewise.constraints import random_pairs

PSD = ["end", "each", 3]
FEATURES = [3, 45]  # below and above the crossover to the eigenbasis for psd="each"


def data(d=3, n=40, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n, d)) / d**0.5 * 1.5).astype(dtype)
    pairs, same = random_pairs(rng.integers(0, 3, n), 120, random_state=seed)
    return X, pairs, same


def bits(model):
    """Return everything that a model has learned, to the last bit."""
    parts = []
    for name, value in sorted(vars(model).items()):
        if name != "_components_cache" and name not in model.get_params(deep=False):
            parts.append((name, pickle.dumps(value)))
    return parts


def test_bits_can_differ():
    X, pairs, same = data()
    model = lw.PAMetric().partial_fit_pairs(X, pairs, same)
    before = bits(model)
    assert before == bits(model)
    model._state.matrix[0, 0] = np.nextafter(model._state.matrix[0, 0], 9)
    assert before != bits(model)


def assert_same_model(one, other, rtol=1e-10):
    scale = np.abs(other._state.dense()).max()
    np.testing.assert_allclose(
        one._state.dense(), other._state.dense(), rtol=rtol, atol=rtol * scale
    )
    assert one.b_ == pytest.approx(other.b_, rel=rtol, abs=rtol)
    assert one.cumulative_loss_ == pytest.approx(other.cumulative_loss_, rel=rtol)
    assert (one.n_events_, one.n_updates_, one.mistakes_) == (
        other.n_events_,
        other.n_updates_,
        other.mistakes_,
    )


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
    model = lw.PAMetric(variant="PA-II", C=0.7).partial_fit_pairs(X, pairs, same)
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


def test_labels_that_cannot_be_compared():
    X, _, _ = data(n=4)
    model = lw.PAMetric()
    with pytest.raises(ValueError, match="y contains NaN"):
        model.partial_fit(X, [0.0, 1.0, np.nan, 1.0])
    with pytest.raises(ValueError, match="X has 4 rows but y has shape"):
        model.partial_fit(X, [0, 1])
    model.partial_fit(X, [0, 1, 0, 1])
    before = bits(model)
    with pytest.raises(ValueError, match="text and numbers"):
        model.partial_fit(X, ["0", "1", "0", "1"])
    assert bits(model) == before


@pytest.mark.parametrize(
    ("n", "c", "passes"), [(40, 2, 2), (150, 3, 3), (200, 2, 13), (2000, 2, 50)]
)
def test_fit_makes_the_papers_passes(n, c, passes):
    """At least two passes, then on until min(n (n - 2)/40, 50 r) were seen; r = 40c(c - 1)."""
    X = np.random.default_rng(0).normal(size=(n, 2))
    model = lw.PAMetric(random_state=0).fit(X, np.arange(n) % c)
    r = 40 * c * (c - 1)
    assert model.n_iter_ == passes
    assert model.n_events_ == passes * r >= min(n * (n - 2) // 40, 50 * r)
    assert passes == 2 or model.n_events_ - r < min(n * (n - 2) // 40, 50 * r)
    assert lw.PAMetric(max_iter=1, n_pairs=17).fit(X, np.arange(n) % c).n_events_ == 17


def test_fit_shuffles_only_if_shuffle_is_true():
    X, pairs, same = data()
    straight = lw.PAMetric(shuffle=False, max_iter=2, scale=1.0).fit_pairs(X, pairs, same)
    twice = lw.PAMetric().fit_stream([(X, pairs, same)] * 2)
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
    assert lw.PAMetric().partial_fit_pairs(X, pairs, same).scale_ == 1


def test_initial_model():
    X, pairs, same = data()
    M = np.diag([1.0, 4.0, 9.0])
    one = X[:1], X[1:2]
    quiet = {"tolerance": 1e9, "scale": 2.0}  # no pair changes anything
    for init, matrix, b in [
        (None, np.zeros((3, 3)), 0.0),
        ("identity", np.eye(3), 1.0),
        ((M, 2.5), M, 2.5),
        ((np.diag([1.0, -4.0, 9.0]), 3), np.diag([1.0, 0.0, 9.0]), 3.0),
        (lw.Euclidean().fit(X), np.eye(3), 1.0),
    ]:
        model = lw.PAMetric(init=init, **quiet).partial_fit_pairs(X, pairs, same)
        assert model.n_updates_ == 0
        np.testing.assert_allclose(model.mahalanobis_matrix(), matrix, atol=1e-12)
        assert model.b_ == b
        assert model.pair_distance(*one)[0] == pytest.approx(
            np.sqrt((X[0] - X[1]) @ matrix @ (X[0] - X[1]))
        )
    first = lw.PAMetric().partial_fit_pairs(X, pairs, same)
    second = lw.PAMetric(init=first, **quiet).partial_fit_pairs(X, pairs, same)
    np.testing.assert_allclose(second.mahalanobis_matrix(), first.mahalanobis_matrix(), atol=1e-12)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"init": (np.eye(2), 1.0)}, r"shape \(2, 2\), but 3 features need \(3, 3\)"),
        ({"init": (np.triu(np.ones((3, 3))), 1.0)}, "not symmetric"),
        ({"init": (np.full((3, 3), np.nan), 1.0)}, "NaN or infinity"),
        ({"init": (np.eye(3), np.inf)}, "NaN or infinity"),
        ({"init": "zero"}, "init='zero' is not allowed"),
        ({"init": np.eye(3)}, "is not allowed"),
        ({"C": 0.0}, "C=0.0 is not allowed"),
        ({"C": -1}, "C=-1 is not allowed"),
        ({"C": np.nan}, "C=nan is not allowed"),
        ({"variant": 1}, "variant=1 is not allowed"),
        ({"psd": 0}, "psd=0 is not allowed"),
        ({"psd": "never"}, "psd='never'"),
        ({"tolerance": -1.0}, "tolerance"),
        ({"scale": 0.0}, "scale"),
        ({"memory": 0}, "memory"),
    ],
)
def test_invalid_parameters_raise_clear_errors(parameters, words):
    X, pairs, same = data()
    for learn in (
        lambda model: model.learn_pair(X[0], X[1], True),
        lambda model: model.partial_fit_pairs(X, pairs, same),
        lambda model: model.partial_fit(X, np.arange(40) % 2),
        lambda model: model.fit_pairs(X, pairs, same),
    ):
        model = lw.PAMetric(**parameters)
        with pytest.raises(ValueError, match=words):
            learn(model)
        assert not hasattr(model, "components_")


def test_failed_refit_keeps_the_model():
    X, pairs, same = data()
    model = lw.PAMetric(record_every=50).fit_pairs(X, pairs, same)
    before, L = bits(model), model.components_.copy()
    model.set_params(init=(np.eye(2), 1.0))
    with pytest.raises(ValueError, match="3 features need"):
        model.fit_pairs(X * 7, pairs, same)
    assert bits(model) == before
    assert model.components_.tobytes() == L.tobytes()


@pytest.mark.parametrize("psd", PSD)
@pytest.mark.parametrize("d", FEATURES)
def test_invalid_events_leave_the_model_unchanged(d, psd):
    X, pairs, same = data(d)
    model = lw.PAMetric(psd=psd, record_every=10).partial_fit_pairs(X, pairs, same)
    model.partial_fit(X, np.arange(40) % 2)
    before = bits(model)
    good, short = X[0], X[0, :-1]
    invalid = X.copy()
    invalid[7, 1] = np.nan
    far = X.copy()
    far[pairs[-1, 0]] = 1e80
    for words, call in [
        ("finite", lambda: model.learn_pair(invalid[7], good, True)),
        ("finite", lambda: model.learn_pair(good, np.full(d, np.inf), True)),
        ("1e\\+80", lambda: model.learn_pair(np.full(d, 1e80), good, True)),
        ("shapes", lambda: model.learn_pair(short, short, True)),
        ("shapes", lambda: model.learn_pair(good, short, True)),
        ("shapes", lambda: model.learn_pair(good, [1.0], True)),
        ("shapes", lambda: model.learn_pair(X, X, True)),
        ("shapes", lambda: model.learn_pair(3.0, 4.0, True)),
        ("numbers", lambda: model.learn_pair(["a"] * d, good, True)),
        ("same=0 is not allowed", lambda: model.learn_pair(good, good, 0)),
        ("same='yes' is not allowed", lambda: model.learn_pair(good, good, "yes")),
        ("same=None is not allowed", lambda: model.learn_pair(good, good, None)),
        ("same=array", lambda: model.learn_pair(good, good, np.array([1, 1]))),
        ("NaN in 1 row", lambda: model.partial_fit_pairs(invalid, pairs, same)),
        ("NaN in 1 row", lambda: model.partial_fit(invalid, np.arange(40) % 2)),
        ("1e\\+80", lambda: model.partial_fit_pairs(far, pairs, same)),
        (f"{d} features", lambda: model.partial_fit_pairs(X[:, 1:], pairs, same)),
        ("same holds 2", lambda: model.partial_fit_pairs(X, pairs, same + 1)),
        ("row number 40", lambda: model.partial_fit_pairs(X, [[0, 40]], [True])),
    ]:
        with pytest.raises(ValueError, match=words):
            call()
        assert bits(model) == before, words


def test_invalid_first_event_leaves_the_learner_unfitted():
    X, pairs, same = data()
    for call in (
        lambda model: model.learn_pair([np.nan, 1.0], [0.0, 0.0], True),
        lambda model: model.learn_pair([], [], True),
        lambda model: model.partial_fit_pairs(X * 1e90, pairs, same),
    ):
        model = lw.PAMetric()
        with pytest.raises(ValueError):
            call(model)
        assert not hasattr(model, "components_")
        model.partial_fit_pairs(np.hstack([X, X]), pairs, same)
        assert model.n_features_in_ == 6


def test_batch_that_fails_midway_leaves_the_model_unchanged(monkeypatch):
    monkeypatch.setattr("likewise.online._metric_learner._CHUNK_VALUES", 16)
    X, pairs, same = data()
    X = np.vstack([X, np.full((1, 3), 1e80)])
    pairs[100] = 0, 40
    model = lw.PAMetric(record_every=10).partial_fit_pairs(X, pairs[:100], same[:100])
    before = bits(model)
    with pytest.raises(ValueError, match=re.escape("1e+80")):
        model.partial_fit_pairs(X, pairs, same)
    assert bits(model) == before


@pytest.mark.parametrize("psd", PSD)
def test_equal_samples_marked_dissimilar(psd):
    model = lw.PAMetric(psd=psd, init="identity")
    point = [1.0, 2.0]
    assert model.learn_pair(point, point, False) == 2.0
    assert (model.n_updates_, model.n_events_, model.mistakes_) == (0, 1, 1)
    assert (model.cumulative_loss_, model.b_) == (2.0, 1.0)
    assert (model.mahalanobis_matrix() == np.eye(2)).all()
    model = lw.PAMetric(psd=psd, C=10.0)
    assert model.learn_pair(point, point, True) == 1.0
    assert (model.n_updates_, model.b_) == (1, 1.0)


def test_same_may_be_a_boolean_or_a_sign():
    for yes, no in ((True, False), (1, -1), (np.True_, np.False_), (1.0, -1.0), (np.int8(1), -1)):
        model = lw.PAMetric()
        model.learn_pair([0.0], [1.0], yes)
        assert model.b_ > 0
        assert lw.PAMetric().learn_pair([0.0], [1.0], no) == 1.0


@pytest.mark.parametrize("psd", ["end", "each", 2])
@pytest.mark.parametrize("d", [2, 50])
def test_long_differences(d, psd):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, d)) * 1e70
    pairs, same = random_pairs(np.arange(60) % 2, 200, random_state=0)
    model = lw.PAMetric(psd=psd).partial_fit_pairs(X, pairs, same)
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
        np.testing.assert_allclose(L.T @ L, expected, rtol=1e-9, atol=1e-12)
        assert model.components_ is L  # computed once
    model.partial_fit_pairs(X.astype(np.float32), pairs, same)
    assert model.components_.dtype == np.float32


def test_psd_may_be_a_numpy_integer():
    X, pairs, same = data()
    plain = lw.PAMetric(psd=3).partial_fit_pairs(X, pairs, same)
    numpy = lw.PAMetric(psd=np.int64(3)).partial_fit_pairs(X, pairs, same)
    assert bits(plain) == bits(numpy)


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
