"""The scale of a stream: computed from its first pairs, then fixed."""

from copy import deepcopy

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

import likewise as lw
from likewise.constraints import Pairs, random_pairs

LEARNERS = [
    lw.PAMetric(),
    lw.PAMetric(variant="PA", psd="each"),
    lw.PAMetric(variant="PA-II", psd=7),
    lw.PAMetric(variant="PALS"),
    lw.PAMetric(init="identity"),
    lw.POLA(),
    lw.POLA(kernel="rbf", kernel_params={"gamma": 0.1}),
]
learners = pytest.mark.parametrize("learner", LEARNERS, ids=repr)


def events(d=5, n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = 7 * rng.normal(size=(40, d))
    y = np.arange(40) % 3
    X[:, 0] += 10 * y
    first = rng.integers(0, 40, n)
    index = np.column_stack([first, (first + rng.integers(1, 40, n)) % 40])
    X[6] = X[5]
    index[3] = index[11] = 5, 6  # differences of length zero have no scale
    return X, index, y[index[:, 0]] == y[index[:, 1]]


def expected_scale(sqdists):
    """Make the interquartile range of the squared distances 2, and their median 1 to 16."""
    lower, median, upper = np.percentile(sqdists, [25, 50, 75])
    squared = 2 / (upper - lower) if upper > lower else np.inf
    return min(max(squared, 1 / median), 16 / median) ** 0.5


def fresh(learner):
    return type(learner)(**learner.get_params())


def bits(model):
    return [array.tobytes() for array in (model._state.dense(), np.array(model._state.b))]


@pytest.mark.parametrize("psd", ["auto", "each", "end", 7])
def test_the_scale_is_that_of_the_first_64_pairs(psd):
    X, index, same = events()
    sqdists = np.square(X[index[:, 0]] - X[index[:, 1]]).sum(axis=1)
    positive = sqdists[sqdists > 0]
    model = lw.PAMetric(psd=psd)
    for i, j in index[:3]:
        model.learn_pair(X[i], X[j], True)
    assert model.scale_ == pytest.approx(expected_scale(sqdists[:3]))
    model.partial_fit_pairs(X, index[3:], same[3:])
    assert model.scale_ == pytest.approx(expected_scale(positive[:64]))
    assert lw.PAMetric(scale=0.3).partial_fit_pairs(X, index, same).scale_ == 0.3


@pytest.mark.parametrize("d", [5, 60])
@pytest.mark.parametrize("psd", ["each", "end"])
def test_equals_a_loop_in_the_units_of_the_data(d, psd):
    X, index, same = events(d)
    model = lw.PAMetric(variant="PA", psd=psd)
    M, b, sqdists = np.zeros((d, d)), 0.0, []
    for (i, j), similar in zip(index, same, strict=True):
        v, y = X[i] - X[j], 1 if similar else -1
        if v.any() and len(sqdists) < 64:
            sqdists.append(v @ v)
        s = expected_scale(sqdists)
        hinge = max(0.0, 1 - y * (b - v @ M @ v))
        assert model.learn_pair(X[i], X[j], bool(similar)) == pytest.approx(hinge, abs=1e-8)
        if not v.any() and y < 0:
            continue
        step = hinge / (1 + (s**2 * v @ v) ** 2)
        M, b = M - step * y * s**4 * np.outer(v, v), b + step * y
        if psd == "each":
            values, vectors = np.linalg.eigh(M)
            M, b = (vectors * np.maximum(values, 0)) @ vectors.T, max(b, 1.0)
    values, vectors = np.linalg.eigh(M)
    expected = (vectors * np.maximum(values, 0)) @ vectors.T
    np.testing.assert_allclose(model.mahalanobis_matrix(), expected, rtol=1e-6, atol=1e-10)
    assert model.b_ == pytest.approx(b)


@learners
@pytest.mark.parametrize("d", [5, 60])
def test_batches_equal_single_pairs(learner, d):
    X, index, same = events(d)
    loop, batch, parts = fresh(learner), fresh(learner), fresh(learner)
    for (i, j), similar in zip(index, same, strict=True):
        loop.learn_pair(X[i], X[j], bool(similar))
    batch.partial_fit_pairs(X, index, same)
    for start, stop in ((0, 1), (1, 40), (40, 100), (100, 120)):
        parts.partial_fit_pairs(X, index[start:stop], same[start:stop])
    for model in (batch, parts):
        assert model.scale_ == loop.scale_
        assert model.b_ == pytest.approx(loop.b_, rel=1e-10)
        distances = (m.pair_distance(X[1:], X[:-1]) for m in (model, loop))
        np.testing.assert_allclose(*distances, rtol=1e-7, atol=1e-9)


@learners
@pytest.mark.parametrize("stop", [1, 30, 80])
def test_resuming_gives_the_same_bits(learner, stop, tmp_path):
    X, index, same = events(60)
    model = fresh(learner).partial_fit_pairs(X, index[:stop], same[:stop])
    model.save(tmp_path / "model.safetensors")
    again = lw.load(tmp_path / "model.safetensors")
    assert again.scale_ == model.scale_
    for each in (model, again):
        each.partial_fit_pairs(X, index[stop:], same[stop:])
    assert bits(again) == bits(model)
    assert again.scale_ == model.scale_


@pytest.mark.parametrize("learner", [*LEARNERS[:4], lw.POLA()], ids=repr)
def test_the_units_of_the_data_do_not_matter(learner):
    X, index, same = events()
    model = fresh(learner).partial_fit_pairs(X, index, same)
    scaled = fresh(learner).partial_fit_pairs(X * 2.0**20, index, same)
    assert (scaled.mistakes_, scaled.n_updates_) == (model.mistakes_, model.n_updates_)
    np.testing.assert_allclose(scaled.components_ * 2.0**20, model.components_, rtol=1e-9)


@learners
def test_an_error_changes_nothing(learner):
    X, index, same = events()
    model = fresh(learner).partial_fit_pairs(X, index[:10], same[:10])
    before, scale = deepcopy(model._state), model.scale_
    worse = X.copy()
    worse[index[30, 0]] = np.nan
    for learn in (
        lambda: model.partial_fit_pairs(worse, index[10:], same[10:]),
        lambda: model.learn_pair(X[0], [np.nan] * 5, True),
    ):
        with pytest.raises(ValueError):
            learn()
        assert model.scale_ == scale
        np.testing.assert_array_equal(model._state.dense(), before.dense())
        np.testing.assert_array_equal(model._state.first_sqdists, before.first_sqdists)


@pytest.mark.parametrize("psd", ["each", "auto"])
@pytest.mark.parametrize("n_components", [4, 15, 50])
@pytest.mark.parametrize("options", [{}, {"C": 1.0}, {"variant": "PA"}, {"variant": "PA-II"}])
def test_few_errors_from_few_to_many_features(n_components, options, psd):
    """Near the best of a grid of scales on the stream and on new pairs; half are similar."""
    X, y = load_digits(return_X_y=True)
    X = PCA(n_components, whiten=True, random_state=0).fit_transform(X)
    stream, new = (
        shuffled_pairs(y[rows], n) for rows, n in ((slice(1200), 2000), (slice(1200, None), 1000))
    )
    first, second = (X[1200:][new.index[:, side]] for side in (0, 1))

    def error(scale):
        model = lw.PAMetric(scale=scale, psd=psd, **options).partial_fit_pairs(X[:1200], *stream)
        wrong = np.mean(model.predict_pairs(first, second) != new.same)
        return (model.mistakes_ / model.n_events_ + wrong) / 2

    grid = (2.0 ** np.arange(-4, 3)) / np.sqrt(2 * n_components)
    assert error("auto") <= min(error(scale) for scale in grid) + 0.02


def shuffled_pairs(y, n):
    pairs = random_pairs(y, n, random_state=0)
    order = np.random.default_rng(0).permutation(len(pairs))
    return Pairs(pairs.index[order], pairs.same[order])
