"""FDA against SciPy's generalised eigenproblem and scikit-learn's discriminant analysis."""

import numpy as np
import pytest
from scipy.linalg import eigh, subspace_angles
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

import likewise as lw


def scatters(X, y):
    """Within and between scatter by loops, both divided by the number of rows."""
    within, between = np.zeros((X.shape[1],) * 2), np.zeros((X.shape[1],) * 2)
    centre = X.mean(axis=0)
    for label in np.unique(y):
        mean = X[y == label].mean(axis=0)
        for row in X[y == label]:
            within += np.outer(row - mean, row - mean) / len(X)
            between += np.outer(mean - centre, mean - centre) / len(X)
    return within, between


@pytest.fixture(params=[load_iris, load_wine], ids=["iris", "wine"])
def data(request):
    X, y = request.param(return_X_y=True)
    return X[3:], y[3:]  # classes of different sizes


def test_rows_are_the_generalised_eigenvectors(data):
    X, y = data
    within, between = scatters(X, y)
    values, vectors = eigh(between, within)
    fitted = lw.FDA().fit(X, y)
    np.testing.assert_allclose(fitted.eigenvalues_, values[::-1][:2], rtol=1e-7)
    for row, expected in zip(fitted.components_, vectors.T[::-1], strict=False):
        sign = np.sign(row @ within @ expected)
        np.testing.assert_allclose(row, sign * expected, rtol=1e-5, atol=1e-8)
        assert row[np.abs(row).argmax()] > 0


def test_rows_are_scaled_to_unit_variance_within(data):
    X, y = data
    within, _ = scatters(X, y)
    L = lw.FDA().fit(X, y).components_
    np.testing.assert_allclose(L @ within @ L.T, np.eye(2), atol=1e-8)


def test_subspace_is_scikit_learns(data):
    X, y = data
    theirs = LinearDiscriminantAnalysis(solver="eigen").fit(X, y).scalings_[:, :2]
    assert subspace_angles(lw.FDA().fit(X, y).components_.T, theirs).max() < 1e-5


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_scale_of_the_data_divides_the_metric(data, scale):
    X, y = data
    plain, scaled = lw.FDA().fit(X, y), lw.FDA().fit(X * scale, y)
    np.testing.assert_allclose(scaled.eigenvalues_, plain.eigenvalues_, rtol=1e-8)
    np.testing.assert_allclose(scaled.components_ * scale, plain.components_, rtol=1e-6, atol=1e-9)


def test_a_shift_changes_nothing(data):
    X, y = data
    plain, shifted = lw.FDA().fit(X, y), lw.FDA().fit(X + 1e6, y)
    np.testing.assert_allclose(shifted.components_, plain.components_, rtol=1e-5, atol=1e-6)


def test_distances_do_not_depend_on_the_units_of_each_feature(data):
    X, y = data
    units = 10.0 ** np.linspace(-8, 8, X.shape[1])
    plain = lw.FDA().fit(X, y).pair_distance(X[:-1], X[1:])
    other = lw.FDA().fit(X * units, y).pair_distance(X[:-1] * units, X[1:] * units)
    np.testing.assert_allclose(other, plain, rtol=1e-7)


def test_a_constant_feature_has_no_weight(data):
    X, y = data
    L = lw.FDA().fit(np.insert(X, 1, 1e5, axis=1), y).components_
    assert not L[:, 1].any()
    np.testing.assert_allclose(np.delete(L, 1, axis=1), lw.FDA().fit(X, y).components_, rtol=1e-5)


def test_a_doubled_feature_changes_no_distance(data):
    X, y = data
    doubled = np.column_stack([X, X[:, 0]])
    np.testing.assert_allclose(
        lw.FDA().fit(doubled, y).pair_distance(doubled[:-1], doubled[1:]),
        lw.FDA().fit(X, y).pair_distance(X[:-1], X[1:]),
        rtol=1e-7,
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shift", [0.0, 100.0])
def test_collinear_means_give_one_direction(dtype, shift):
    """Three classes, but their means differ along one axis only: the second row is zero."""
    random = np.random.default_rng(0)
    cloud = random.integers(-50, 50, size=(40, 3)) / 16
    X = np.vstack([cloud + np.array([step, 0, 0]) for step in (0.0, 3.0, 9.0)]) + shift
    fitted = lw.FDA().fit(X.astype(dtype), np.repeat(["a", "b", "c"], 40))
    assert fitted.components_.shape == (2, 3)
    assert fitted.eigenvalues_[0] > 1
    assert fitted.eigenvalues_[1] == 0
    assert not fitted.components_[1].any()


# Features that differ between classes and vary in none, alone or as a difference of two others.
SEPARATING = {
    "one class": lambda noise, y: [(y == 1) * 1.0],
    "all classes": lambda noise, y: [y * 0.1],
    "two features": lambda noise, y: [(y == 1) * 1e-3, (y == 2) * 7.0],
    "difference": lambda noise, y: [noise, noise + (y == 1)],
}


def separable(kind):
    random = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [30, 40, 50])
    X = random.normal(size=(120, 3)) + 0.5 * y[:, None] * [1, 0, 0]
    return np.column_stack([X, *SEPARATING[kind](random.normal(size=120), y)]), y


@pytest.mark.filterwarnings("ignore::likewise.DegenerateMetricWarning")
@pytest.mark.parametrize("kind", SEPARATING)
def test_the_limit_of_no_shrinkage_where_classes_do_not_vary(kind):
    """A little variance is added to every feature; its own, or that between the classes."""
    X, y = separable(kind)
    within, between = scatters(X, y)
    added = np.where(np.diag(within) > 1e-20, np.diag(within), np.diag(between))
    values, vectors = eigh(between, within + 1e-7 * np.diag(added))
    fitted = lw.FDA(shrinkage=None).fit(X, y)
    n_infinite = np.count_nonzero(values > 1e5)
    assert np.count_nonzero(fitted.eigenvalues_ > 1e12) == n_infinite
    np.testing.assert_allclose(
        fitted.eigenvalues_[n_infinite:], values[::-1][n_infinite:2], rtol=1e-6, atol=1e-8
    )
    for own, limit in zip(fitted.components_, vectors.T[::-1], strict=False):
        limit = limit / np.linalg.norm(limit) * np.linalg.norm(own)
        sign = np.sign(own @ limit)
        np.testing.assert_allclose(own, sign * limit, atol=1e-5 * np.abs(own).max())


@pytest.mark.filterwarnings("ignore::likewise.DegenerateMetricWarning")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shrinkage", [None, 0.1, "auto"])
@pytest.mark.parametrize("kind", ["one class", "all classes", "two features"])
def test_a_feature_that_gives_the_class_decides(kind, shrinkage, dtype):
    X, y = separable(kind)
    known = (y == 1) if kind == "one class" else y
    model = lw.MetricKNN(3, metric=lw.FDA(shrinkage=shrinkage)).fit(
        X[::2].astype(dtype), known[::2]
    )
    assert model.score(X[1::2], known[1::2]) == 1.0


@pytest.mark.filterwarnings("ignore::likewise.DegenerateMetricWarning")
@pytest.mark.parametrize("kind", SEPARATING)
def test_units_change_no_distance_where_classes_do_not_vary(kind):
    X, y = separable(kind)
    units = 10.0 ** np.linspace(-6, 6, X.shape[1])
    plain = lw.FDA(shrinkage=None).fit(X, y).pair_distance(X[:-1], X[1:])
    other = lw.FDA(shrinkage=None).fit(X * units, y).pair_distance(X[:-1] * units, X[1:] * units)
    np.testing.assert_allclose(other, plain, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("n_samples", [60, 20_000])
def test_features_constant_within_classes_are_named(n_samples):
    """Also where the sum of many equal numbers is rounded."""
    y = np.arange(n_samples) % 3
    X = np.random.default_rng(0).normal(size=(n_samples, 4))
    X[:, 2] = np.array([0.1, 0.3, 0.7])[y]
    with pytest.warns(lw.DegenerateMetricWarning, match=r"column 2\. .* the largest weight"):
        fitted = lw.FDA().fit(X, y)
    assert fitted.components_[0].argmax() == 2


def test_more_features_than_rows_is_finite():
    X = np.random.default_rng(2).normal(size=(9, 30))
    fitted = lw.FDA().fit(X, np.repeat([0, 1, 2], 3))
    assert fitted.components_.shape == (2, 30)
    assert np.isfinite(fitted.components_).all()


def test_fewer_features_than_classes():
    random = np.random.default_rng(1)
    y = np.repeat(np.arange(5), 10)
    X = random.normal(size=(50, 2)) + y[:, None] * [3.0, (-1.0) ** 2] + (y == 2)[:, None] * 5
    assert lw.FDA().fit(X, y).components_.shape == (2, 2)


def test_float32_stays_float32_and_close(data):
    X, y = data
    small = lw.FDA().fit(X.astype(np.float32), y)
    assert small.components_.dtype == small.eigenvalues_.dtype == np.float32
    L = lw.FDA().fit(X, y).components_
    np.testing.assert_allclose(small.components_, L, rtol=1e-2, atol=1e-3 * np.abs(L).max())


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[0.0], [1.0]], [3, 3], r"y has one class \(3\), but FDA needs at least 2 different"),
        ([[0.0], [0.0], [1.0]], [0, 0, 1], "FDA needs two different ones in a class"),
        ([[0.0], [2.0], [1.0], [1.0]], [0, 0, 1, 1], "All classes have the same mean, but FDA"),
        ([[0.0], [2.0]], [0, 0, 1], "X has 2 rows but y has 3 labels"),
    ],
)
def test_errors(X, y, message):
    with pytest.raises(ValueError, match=message):
        lw.FDA().fit(X, y)
