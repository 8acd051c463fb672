"""The sign-flip max test: by its formulas, against all sign vectors, and over fresh data."""

import itertools

import numpy as np
import pytest

from likewise import evaluation
from likewise.statistics import sign_flip_max_test


def outcomes(rng, n_rows=60, n_methods=3, n_repeats=2, n_folds=5):
    differences = rng.integers(-1, 2, (n_repeats, n_rows, n_methods)).astype(float)
    folds = rng.permuted(np.tile(np.arange(n_rows) % n_folds, (n_repeats, 1)), axis=1)
    return differences, folds


def fold_variance(differences, folds, n_folds):
    """τ² of one method, fold by fold, with loops."""
    means, expected = [], []
    for repeat, of_rows in zip(differences, folds, strict=True):
        for fold in range(n_folds):
            rows = [d for d, f in zip(repeat, of_rows, strict=True) if f == fold]
            mean = sum(rows) / len(rows)
            means.append(mean)
            expected.append(sum((d - mean) ** 2 for d in rows) / (len(rows) - 1) / len(rows))
    centre = sum(means) / len(means)
    between = sum((mean - centre) ** 2 for mean in means) / (len(means) - 1)
    return max(0, between - sum(expected) / len(expected))


def test_differences_and_variances_by_their_formulas():
    d, folds = outcomes(np.random.default_rng(0))
    d[..., 2] = (folds == 1) * 1.0  # one fold stands out
    test = sign_flip_max_test(d, folds)
    for j in range(3):
        row_means = [(d[0, i, j] + d[1, i, j]) / 2 for i in range(60)]
        tau2 = fold_variance(d[..., j], folds, 5)
        assert test.differences[j] == pytest.approx(sum(row_means) / 60)
        assert test.fold_variances[j] == pytest.approx(tau2)
        expected = 2 * sum(x * x for x in row_means) / 60**2 + tau2 / 10
        assert test.variances[j] == pytest.approx(expected)
    assert test.fold_variances[2] > 0.1
    np.testing.assert_allclose(test.margins, test.quantile * np.sqrt(test.variances))
    np.testing.assert_allclose(test.intervals.mean(axis=1), test.differences)
    np.testing.assert_array_equal(test.significant, test.intervals[:, 0] > 0)


def test_variance_components_add_up():
    d, folds = outcomes(np.random.default_rng(1), n_rows=400)
    test = sign_flip_max_test(d, folds)
    total = 2 * (test.row_variances + test.repeat_variances / 2) / 400 + test.fold_variances / 10
    np.testing.assert_allclose(total, test.variances, rtol=0.2)
    same = np.repeat(d[:1], 2, axis=0)
    test = sign_flip_max_test(same, folds)
    np.testing.assert_allclose(test.repeat_variances, 0)
    np.testing.assert_allclose(test.row_variances, (same[0] ** 2).mean(axis=0))


def all_maxima(units):
    scaled = units / np.sqrt((units**2).sum(axis=0))
    signs = np.array(list(itertools.product([-1, 1], repeat=len(units))))
    return (signs @ scaled).max(axis=1)


def test_the_quantile_is_that_of_all_sign_vectors():
    rng = np.random.default_rng(2)
    d, folds = rng.normal(size=(2, 12, 3)), np.tile(np.arange(12) % 2, (2, 1))
    test = sign_flip_max_test(d, folds, n_flips=40_000)
    maxima = all_maxima(d.mean(axis=0))
    assert (maxima > test.quantile + 1e-9).mean() == pytest.approx(0.05, abs=0.01)


def test_rows_without_a_difference_and_methods_like_the_baseline_change_nothing():
    d, folds = outcomes(np.random.default_rng(3))
    test = sign_flip_max_test(d, folds)
    padded = sign_flip_max_test(np.concatenate([d, np.zeros((2, 60, 2))], axis=2), folds)
    assert padded.quantile == test.quantile
    np.testing.assert_array_equal(padded.differences[3:], 0)
    assert not padded.significant[3:].any()
    nothing = sign_flip_max_test(np.zeros((2, 60, 2)), folds)
    assert nothing.quantile == 0
    assert not nothing.significant.any()


def test_copies_of_a_method_cost_nothing():
    d, folds = outcomes(np.random.default_rng(4))
    one = sign_flip_max_test(d[..., :1], folds)
    many = sign_flip_max_test(np.repeat(d[..., :1], 20, axis=2), folds)
    assert many.quantile == pytest.approx(one.quantile)
    assert sign_flip_max_test(d, folds).quantile > one.quantile


def test_groups_have_one_sign_and_their_sums_are_squared():
    rng = np.random.default_rng(5)
    groups = np.repeat(np.arange(12), 5)
    d = rng.normal(size=(2, 60, 3))
    folds = np.tile(np.repeat(np.arange(12) % 2, 5), (2, 1))
    test = sign_flip_max_test(d, folds, groups=groups, n_flips=40_000)
    sums = d.mean(axis=0).reshape(12, 5, 3).sum(axis=1)
    expected = 2 * (sums**2).sum(axis=0) / 60**2 + test.fold_variances / 4
    np.testing.assert_allclose(test.variances, expected)
    assert (all_maxima(sums) > test.quantile + 1e-9).mean() == pytest.approx(0.05, abs=0.01)
    alone = sign_flip_max_test(d, folds, groups=[f"row {i}" for i in range(60)])
    np.testing.assert_allclose(alone.variances, sign_flip_max_test(d, folds).variances)


def test_claims_without_a_difference_are_rare_and_a_difference_is_found():
    rng = np.random.default_rng(6)
    folds = np.tile(np.arange(400) % 5, (2, 1))
    wrong = []
    found = []
    for _ in range(50):
        rates = np.full(13, 0.2)
        null = (rng.random((2, 400, 1)) < 0.2) - (rng.random((2, 400, 13)) < rates).astype(float)
        wrong.append(sign_flip_max_test(null, folds, n_flips=2000).significant.any())
        rates[4] = 0.08
        better = (rng.random((2, 400, 1)) < 0.2) - (rng.random((2, 400, 13)) < rates).astype(float)
        test = sign_flip_max_test(better, folds, n_flips=2000)
        found.append(test.significant[4] and test.differences.argmax() == 4)
    assert np.mean(wrong) <= 0.05
    assert np.mean(found) >= 0.9


def test_seeds_decide():
    _, folds = outcomes(np.random.default_rng(7))
    d = np.random.default_rng(7).normal(size=(2, 60, 3))
    first, again, other = (
        sign_flip_max_test(d, folds, random_state=seed).quantile for seed in (0, 0, 1)
    )
    assert first == again != other
    assert first == pytest.approx(other, abs=0.1)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"differences": np.zeros((60, 3))}, r"differences has shape \(60, 3\)"),
        ({"differences": np.full((2, 60, 3), np.nan)}, "differences contains NaN"),
        ({"folds": np.zeros((2, 60), dtype=int)}, "at least two folds"),
        ({"folds": np.arange(60) % 5}, r"folds has shape \(60,\), but differences has 2 repeats"),
        ({"folds": np.stack([np.arange(60) % 5, np.arange(60) % 4])}, "as many in all repeats"),
        ({"groups": np.zeros(3)}, r"groups has shape \(3,\)"),
        ({"confidence": 1.0}, "confidence=1.0 is not allowed"),
        ({"n_flips": 5}, "n_flips=5 is not allowed"),
    ],
)
def test_bad_input(change, sentence):
    d, folds = outcomes(np.random.default_rng(8))
    with pytest.raises(ValueError, match=sentence):
        sign_flip_max_test(**{"differences": d, "folds": folds} | change)


def test_evaluation_has_it_too():
    assert evaluation.sign_flip_max_test is sign_flip_max_test
