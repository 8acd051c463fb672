"""Shrinkage and `n_components` of Whitening, RCA and FDA, against scikit-learn's Ledoit–Wolf."""

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
    if shrinkage == "auto":
        share = ledoit_wolf_shrinkage(rows / rows.std(axis=0), assume_centered=True)
        assert 0.01 < share < 0.99
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
    ours = lw.Whitening(3).fit_transform(X)
    assert ours.shape == (len(X), 3)
    np.testing.assert_allclose(
        np.linalg.norm(ours[1:] - ours[:-1], axis=1) * np.sqrt((len(X) - 1) / len(X)),
        np.linalg.norm(theirs[1:] - theirs[:-1], axis=1),
        rtol=1e-8,
    )


@pytest.mark.parametrize("n_components", [5, 6, 7, 8, 9, 10])
def test_few_rows_lose_no_direction_to_n_components(n_components):
    """Six rows have five directions: whoever asks for more gets them all."""
    X = np.random.default_rng(0).normal(size=(6, 10))
    some = lw.Whitening(n_components).fit(X)
    assert some.components_.shape == (n_components, 10)
    assert np.linalg.matrix_rank(some.components_) == 5
    expected = lw.Whitening().fit(X).mahalanobis_matrix()
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


@pytest.mark.parametrize("learner", [lw.RCA, lw.FDA])
def test_features_constant_within_classes_change_no_distance(learner, data):
    """Their means are rounded: what is left of them is no variation."""
    X, y = data
    wider = np.column_stack([X, np.array([0.1, 0.3, 0.7, 1.1])[y]])
    plain = learner(shrinkage="auto").fit(X, y).pair_distance(X[1:], X[:-1])
    with_constant = learner(shrinkage="auto").fit(wider, y).pair_distance(wider[1:], wider[:-1])
    np.testing.assert_allclose(with_constant, plain, rtol=1e-9)


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
