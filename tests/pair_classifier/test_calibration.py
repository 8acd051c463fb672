"""Probabilities of pairs are calibrated on items that were not seen."""

import numpy as np
import pytest
import scipy.optimize
from sklearn.datasets import load_digits
from sklearn.isotonic import IsotonicRegression

import likewise as lw
from likewise.datasets import load
from likewise.pair_classifier._calibration import Calibration, calibrate


def balanced_errors(probability, same, n_bins=10):
    """Return expected calibration error and Brier skill where half of the pairs are same."""
    weights = np.where(same, 0.5 / same.sum(), 0.5 / (~same).sum())
    bins = np.minimum((probability * n_bins).astype(int), n_bins - 1)
    gaps = [abs((weights * (probability - same))[bins == b].sum()) for b in range(n_bins)]
    brier = (weights * (probability - same) ** 2).sum()
    return sum(gaps), 1 - brier / 0.25


def test_the_errors_of_known_probabilities():
    same = np.array([True, False] * 500)
    assert balanced_errors(np.full(1000, 0.5), same) == pytest.approx((0, 0))
    assert balanced_errors(same.astype(float), same) == pytest.approx((0, 1))
    error, skill = balanced_errors(np.full(1000, 0.9), same)
    assert (error, skill) == pytest.approx((0.4, 1 - 0.41 / 0.25))


def unseen_probabilities(metric, X, y, n_learned, n_repeats, by_class=False):
    """Return the probabilities of all pairs of unseen rows (or classes) of several repeats."""
    units = y if by_class else np.arange(len(y))
    found = []
    for repeat in range(n_repeats):
        chosen = np.random.default_rng(repeat).permutation(units.max() + 1)[:n_learned]
        learned = np.isin(units, chosen)
        judge = lw.PairClassifier(metric).fit(
            X[learned], y[learned], groups=y[learned] if by_class else None
        )
        rows, labels = X[~learned], y[~learned]
        first, second = np.triu_indices(len(rows), 1)
        probabilities = judge.predict_proba_pairs(rows[first], rows[second])
        np.testing.assert_allclose(probabilities.sum(axis=1), 1)
        found.append((probabilities[:, 1], labels[first] == labels[second]))
    return map(np.concatenate, zip(*found, strict=True))


@pytest.mark.parametrize("metric", [None, lw.FDA()], ids=repr)
def test_digits_that_were_not_seen(metric):
    X, y = load_digits(return_X_y=True)
    error, skill = balanced_errors(*unseen_probabilities(metric, X, y, 1200, 2))
    assert error <= 0.02
    assert skill >= 0.3


def test_faces_of_people_that_were_not_seen():
    try:
        faces = load("olivetti_dlib")
    except (OSError, ValueError):
        pytest.skip("needs olivetti_dlib in $LIKEWISE_DATA")
    found = unseen_probabilities(None, faces.X, faces.y, 30, 6, by_class=True)
    error, skill = balanced_errors(*found)
    assert error <= 0.02
    assert skill >= 0.3


def simulated(n_pairs, seed=0):
    rng = np.random.default_rng(seed)
    same = rng.random(n_pairs) < 0.2
    return rng.normal(2 * ~same, 1), same


def test_few_pairs_are_calibrated_by_platts_logistic_function():
    distances, same = simulated(800)
    found = calibrate(distances, same)
    assert not len(found.distances)
    n_same, n_different = same.sum(), (~same).sum()
    target = np.where(same, (n_same + 1) / (n_same + 2), 1 / (n_different + 2))
    weights = np.where(same, 0.5 / n_same, 0.5 / n_different)

    def loss(parameters):
        score = parameters[0] * distances + parameters[1]
        return weights @ (np.logaddexp(0, score) - target * score)

    best = scipy.optimize.minimize(loss, [0.0, 0.0], tol=1e-10)
    assert loss([found.slope, found.intercept]) == pytest.approx(best.fun, rel=1e-5)
    # The true log odds of two normal distributions of variance 1 with means 0 and 2.
    assert found.log_odds(np.array([0.0, 1.0, 2.0])) == pytest.approx([2, 0, -2], abs=0.4)


def test_many_pairs_are_calibrated_by_isotonic_regression():
    distances, same = simulated(20_000)
    found = calibrate(distances, same)
    weights = np.where(same, 0.5 / same.sum(), 0.5 / (~same).sum())
    expected = IsotonicRegression(increasing=False, out_of_bounds="clip").fit(
        distances, same, weights
    )
    grid = np.linspace(-2, 4, 50)
    probability = found.probability(grid, 0.5)
    assert probability == pytest.approx(expected.predict(grid), abs=1e-3)
    assert ((probability > 0) & (probability < 1)).all()
    assert (np.diff(probability) <= 0).all()


def test_the_prevalence_multiplies_the_odds():
    calibration = Calibration(-1.0, 1.0, np.empty(0), np.empty(0))
    distances = np.array([0.5, 1.0, 3.0])
    half, tenth = (calibration.probability(distances, share) for share in (0.5, 0.1))
    np.testing.assert_allclose(tenth / (1 - tenth), half / (1 - half) / 9)


def test_a_distance_that_says_the_opposite_says_nothing():
    distances, same = simulated(500)
    found = calibrate(-distances, same)
    assert found.probability(np.array([-3.0, 3.0]), 0.5) == pytest.approx([0.5, 0.5])


def test_prevalence_of_the_model_is_the_default():
    X, y = load_digits(return_X_y=True)
    judge = lw.PairClassifier(prevalence=0.1).fit(X[:300], y[:300])
    asked = judge.predict_proba_pairs(X[:5], X[5:10], prevalence=0.1)
    np.testing.assert_array_equal(judge.predict_proba_pairs(X[:5], X[5:10]), asked)
    half = judge.predict_proba_pairs(X[:5], X[5:10], prevalence=0.5)
    assert (half[:, 1] > asked[:, 1]).all()
