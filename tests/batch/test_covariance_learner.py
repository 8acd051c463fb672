"""Shrinkage and `n_components` of Whitening, RCA and FDA, against scikit-learn's Ledoit–Wolf."""

import warnings

import numpy as np
import pytest
from scipy.linalg import eigh
from sklearn.covariance import ledoit_wolf_shrinkage
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

import likewise as lw

LEARNERS = [lw.Whitening, lw.RCA, lw.FDA]


@pytest.fixture(params=[(60, 5), (30, 40)], ids=["tall", "wide"])
def data(request):
    n_rows, n_features = request.param
    random = np.random.default_rng(7)
    y = np.arange(n_rows) % 4
    X = random.normal(size=(n_rows, n_features)) @ random.normal(size=(n_features, n_features))
    return X * 10.0 ** random.integers(-3, 4, n_features) + y[:, None], y


def class_centred(X, y):
    return X - np.stack([X[y == label].mean(axis=0) for label in range(4)])[y]


def shrunk_inverse(rows, shrinkage):
    """By the formula: correlations times 1 - shrinkage, the variances unchanged, inverted."""
    C = rows.T @ rows / len(rows)
    return np.linalg.inv((1 - shrinkage) * C + shrinkage * np.diag(np.diag(C)))


@pytest.mark.parametrize("shrinkage", [0.3, 1.0, "auto"])
@pytest.mark.parametrize("learner", [lw.Whitening, lw.RCA])
def test_the_shrunk_covariance_is_inverted(learner, shrinkage, data):
    X, y = data
    rows = X - X.mean(axis=0) if learner is lw.Whitening else class_centred(X, y)
    share = shrinkage
    if shrinkage == "auto" and len(X) < 5 * X.shape[1]:
        share = ledoit_wolf_shrinkage(rows / rows.std(axis=0), assume_centered=True)
        assert 0.01 < share < 0.99
    elif shrinkage == "auto":
        share = 0.0
    M = learner(shrinkage=shrinkage).fit(X, y).mahalanobis_matrix()
    size = 1 / np.sqrt(np.outer(rows.var(axis=0), rows.var(axis=0)))  # of each entry of M
    np.testing.assert_allclose(M / size, shrunk_inverse(rows, share) / size, rtol=1e-7, atol=1e-9)


def test_fda_solves_the_shrunk_eigenproblem(data):
    X, y = data
    X = X / class_centred(X, y).std(axis=0)
    within = np.linalg.inv(shrunk_inverse(class_centred(X, y), 0.3))
    means = X - class_centred(X, y) - X.mean(axis=0)
    values, vectors = eigh(means.T @ means / len(X), within)
    fda = lw.FDA(2, shrinkage=0.3).fit(X, y)
    np.testing.assert_allclose(fda.eigenvalues_, values[::-1][:2], rtol=1e-7)
    for own, other in zip(fda.components_, vectors.T[::-1], strict=False):
        np.testing.assert_allclose(own * np.sign(own @ other), other, atol=1e-6)


def test_whitening_keeps_the_principal_components(data):
    X, _ = data
    theirs = PCA(3, whiten=True).fit_transform(StandardScaler().fit_transform(X))
    ours = lw.Whitening(3, shrinkage=None).fit_transform(X)
    assert ours.shape == (len(X), 3)
    np.testing.assert_allclose(
        np.linalg.norm(ours[1:] - ours[:-1], axis=1) * np.sqrt((len(X) - 1) / len(X)),
        np.linalg.norm(theirs[1:] - theirs[:-1], axis=1),
        rtol=1e-8,
    )


@pytest.mark.filterwarnings("ignore::likewise.OverfitWarning")
@pytest.mark.parametrize("n_components", [5, 6, 7, 8, 9, 10])
def test_few_rows_lose_no_direction_to_n_components(n_components):
    """Six rows have five directions: whoever asks for more gets them all."""
    X = np.random.default_rng(0).normal(size=(6, 10))
    some = lw.Whitening(n_components, shrinkage=None).fit(X)
    assert some.components_.shape == (n_components, 10)
    assert np.linalg.matrix_rank(some.components_) == 5
    expected = lw.Whitening(shrinkage=None).fit(X).mahalanobis_matrix()
    np.testing.assert_allclose(some.mahalanobis_matrix(), expected, rtol=1e-9, atol=1e-12)


def test_rca_keeps_what_varies_most_in_units_of_the_variation_within():
    random = np.random.default_rng(0)
    y = np.arange(200) % 4
    X = random.normal(size=(200, 6)) * [1, 50, 1, 1, 1, 1]
    X[:, 2] += 40 * (y == 1)
    X[:, 3] += 5 * y
    rca = lw.RCA(2).fit(X, y)
    Z = X - X.mean(axis=0)
    kept = Z @ rca.components_.T
    np.testing.assert_allclose(
        class_centred(kept, y).T @ class_centred(kept, y) / 200, np.eye(2), atol=1e-9
    )
    variances = kept.T @ kept / 200
    assert variances[0, 0] > variances[1, 1] > 5
    assert abs(variances[0, 1]) < 1e-9 * variances[0, 0]
    full = Z @ lw.RCA().fit(X, y).components_.T
    ratios = np.linalg.eigvalsh(full.T @ full / 200)[::-1]
    np.testing.assert_allclose(np.diag(variances), ratios[:2], rtol=1e-9)


@pytest.mark.filterwarnings("ignore::likewise.OverfitWarning")
@pytest.mark.parametrize("learner", LEARNERS)
def test_no_shrinkage_is_zero_shrinkage(learner, data):
    X, y = data
    plain, zero = (learner(shrinkage=s).fit(X, y).components_ for s in (None, 0.0))
    np.testing.assert_array_equal(plain, zero)


@pytest.mark.parametrize("learner", LEARNERS)
def test_constant_features_keep_weight_zero(learner, data):
    X, y = data
    X = np.column_stack([X, np.full(len(X), 3.0)])
    L = learner(shrinkage="auto").fit(X, y).components_
    assert L.any()
    assert not L[:, -1].any()


@pytest.mark.parametrize("learner", LEARNERS)
def test_constant_features_change_no_distance(learner, data):
    X, y = data
    wider = np.column_stack([np.full((len(X), 4), [3.0, 0.0, -0.1, 1e5]), X])
    plain = learner(shrinkage="auto").fit(X, y).pair_distance(X[1:], X[:-1])
    with_constants = learner(shrinkage="auto").fit(wider, y).pair_distance(wider[1:], wider[:-1])
    np.testing.assert_allclose(with_constants, plain, rtol=1e-9)


def test_features_constant_within_classes_change_no_distance_of_rca(data):
    """Their means are rounded: what is left of them is no variation."""
    X, y = data
    wider = np.column_stack([X, np.array([0.1, 0.3, 0.7, 1.1])[y]])
    plain = lw.RCA(shrinkage="auto").fit(X, y).pair_distance(X[1:], X[:-1])
    with pytest.warns(lw.DegenerateMetricWarning, match=rf"column {X.shape[1]}\. .* weight zero"):
        rca = lw.RCA(shrinkage="auto").fit(wider, y)
    np.testing.assert_allclose(rca.pair_distance(wider[1:], wider[:-1]), plain, rtol=1e-9)


def test_shrinkage_helps_where_rows_are_few():
    gains = []
    for seed in range(8):
        random = np.random.default_rng(seed)
        y = np.arange(60) % 4
        centres = random.normal(size=(4, 30)) * 0.6
        X, new = (centres[y] + random.normal(size=(60, 30)) for _ in range(2))
        plain, shrunk = (
            lw.MetricKNN(metric=lw.RCA(shrinkage=s)).fit(X, y).score(new, y) for s in (None, "auto")
        )
        gains.append(shrunk - plain)
    assert np.mean(gains) > 0.04


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 9}, r"n_components=9 is too many: \w+ has at most [35] \("),
        ({"n_components": 0}, "n_components=0 is not allowed: .* at least 1"),
        ({"shrinkage": 1.5}, "shrinkage=1.5 is not allowed: .*'auto' or a number from 0 to 1"),
        ({"shrinkage": "oas"}, "shrinkage='oas' is not allowed"),
    ],
)
def test_errors(learner, options, message):
    X = np.random.default_rng(0).normal(size=(20, 5))
    with pytest.raises(ValueError, match=message):
        learner(**options).fit(X, np.arange(20) % 4)


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize(
    ("n_rows", "shrinks"), [(5 * 6 + 3, False), (5 * 6 + 4, False), (29, True)]
)
def test_shrinkage_is_automatic_where_samples_are_few(learner, n_rows, shrinks):
    """Exactly none from five independent samples per feature on, constant features aside."""
    random = np.random.default_rng(0)
    y = np.arange(n_rows) % 3
    X = np.column_stack([random.normal(size=(n_rows, 6)) + y[:, None], np.full(n_rows, 7.0)])
    automatic, plain = (
        learner().fit(X, y).components_,
        learner(shrinkage=None).fit(X, y).components_,
    )
    assert (automatic.tobytes() != plain.tobytes()) == shrinks


def test_few_similar_pairs_do_not_turn_distances_round():
    """30 pairs of 60 features: without shrinkage, new similar pairs are not closer."""
    random = np.random.default_rng(0)
    means = 1.5 * random.normal(size=(200, 60)) * (np.arange(60) < 20)
    first, second = means + random.normal(size=(200, 60)), means + random.normal(size=(200, 60))
    X = np.concatenate([first, second])
    pairs = np.column_stack([np.arange(30), np.arange(30) + 200])
    with pytest.warns(lw.OverfitWarning, match=r"RCA\(shrinkage='auto'\) .* shrinkage=0.9"):
        rca = lw.RCA().fit_pairs(X, pairs, np.ones(30, dtype=bool))
    similar = rca.pair_distance(first[100:], second[100:])
    dissimilar = rca.pair_distance(first[100:-1], second[101:])
    assert np.median(similar) < 0.9 * np.median(dissimilar)
    with pytest.warns(lw.OverfitWarning, match=r"60 features from 30 independent differences"):
        lw.RCA(shrinkage=None).fit_pairs(X, pairs, np.ones(30, dtype=bool))


@pytest.mark.parametrize(
    ("learner", "n_warnings"),
    [(lw.RCA(), 1), (lw.Whitening(), 1), (lw.FDA(), 0), (lw.RCA(shrinkage=0.9), 0)],
    ids=repr,
)
def test_fewer_samples_than_features_are_announced_unless_shrunk_enough(learner, n_warnings):
    X = np.random.default_rng(0).normal(size=(40, 60))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        learner.fit(X, np.arange(40) % 4)
    assert [entry.category for entry in caught] == n_warnings * [lw.OverfitWarning]
