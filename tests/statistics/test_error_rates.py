"""Error rates with intervals: the rates by loops, the bounds by SciPy and by simulation."""

import warnings

import numpy as np
import pytest
import scipy.stats
from pair_oracles import all_pairs, brute_force_variance, simulate_scores

from likewise.statistics import ErrorRates, error_rates, pairs_needed, verification_curve
from likewise.statistics._disjoint_pairs import disjoint_pairs
from likewise.statistics._item_bootstrap import bootstrap_rates
from likewise.statistics._rate_bounds import rate_bounds
from likewise.statistics._rate_variances import RateVariances


@pytest.fixture
def scored():
    """Distances of all pairs of 40 items in 10 classes."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 10
    X = 2 * rng.normal(size=(10, 3))[y] + rng.normal(size=(40, 3))
    items = all_pairs(40)
    distances = np.linalg.norm(X[items[:, 0]] - X[items[:, 1]], axis=1)
    return distances, y[items[:, 0]] == y[items[:, 1]], items, y


def clopper_pearson(errors, n, confidence):
    low, high = scipy.stats.binomtest(errors, n).proportion_ci(confidence, method="exact")
    upper = scipy.stats.binomtest(errors, n, alternative="less").proportion_ci(
        confidence, method="exact"
    )
    return (low, high), upper.high


@pytest.mark.parametrize("threshold", [0.01, 1.5, 3.0, 100.0])
@pytest.mark.parametrize("guarantee", ["approximate", "exact", "bootstrap"])
def test_independent_pairs_have_clopper_and_pearsons_intervals(scored, threshold, guarantee):
    distances, same, _, _ = scored
    rates = error_rates(distances, same, threshold, guarantee=guarantee, confidence=0.9)
    for rate, interval, upper, wrong in (
        (rates.fmr, rates.fmr_interval, rates.fmr_upper, distances[~same] <= threshold),
        (rates.fnmr, rates.fnmr_interval, rates.fnmr_upper, distances[same] > threshold),
    ):
        assert rate == wrong.mean()
        expected, expected_upper = clopper_pearson(int(wrong.sum()), len(wrong), 0.9)
        assert interval == pytest.approx(expected, abs=1e-12)
        assert upper == pytest.approx(expected_upper)
    assert rates.n_items == 2 * len(same)
    assert rates.effective_pairs == ((~same).sum(), same.sum())
    disjoint = np.arange(2 * len(same)).reshape(-1, 2)
    assert (
        error_rates(distances, same, threshold, items=disjoint, guarantee=guarantee, confidence=0.9)
        == rates
    )


@pytest.mark.parametrize("grouped", [False, True])
def test_the_approximate_bounds_are_korn_and_graubards(scored, grouped):
    distances, same, items, y = scored
    groups = y if grouped else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # 10 subjects are few
        rates = error_rates(distances, same, 2.0, items=items, groups=groups)
    units = y[items] if grouped else items
    for kind, wrong, interval, upper, effective in (
        (~same, distances <= 2.0, rates.fmr_interval, rates.fmr_upper, rates.effective_pairs[0]),
        (same, distances > 2.0, rates.fnmr_interval, rates.fnmr_upper, rates.effective_pairs[1]),
    ):
        error = wrong[kind].astype(float)
        p = error.mean()
        influence = (error - p) / len(error)
        variance = brute_force_variance(influence, units[kind])
        assert effective == pytest.approx(p * (1 - p) / variance)
        sums = [influence[(units[kind] == u).any(axis=1)].sum() for u in np.unique(units[kind])]
        freedom = max(3, np.sum(np.square(sums)) ** 2 / np.sum(np.power(sums, 4)))
        for level, found in ((0.95, upper), (0.975, interval[1])):
            z, t = scipy.stats.norm.ppf(level), scipy.stats.t.ppf(level, freedom)
            n = p * (1 - p) / variance * (z / t) ** 2
            assert found == pytest.approx(scipy.stats.beta.ppf(level, p * n + 1, (1 - p) * n))
        assert interval[0] == pytest.approx(scipy.stats.beta.ppf(0.025, p * n, (1 - p) * n + 1))
    assert rates.n_items == 40


def test_exact_bounds_are_those_of_disjoint_pairs(scored):
    distances, same, items, y = scored
    rates = error_rates(distances, same, 2.0, items=items, guarantee="exact", random_state=3)
    # Drawn from the pairs as they are given, not from the sorted ones.
    chosen = disjoint_pairs(items[~same], np.random.default_rng(3))
    n_chosen = int(chosen.sum())
    assert len(np.unique(items[~same][chosen])) == 2 * n_chosen
    assert rates.effective_pairs == (n_chosen, 20)
    n_errors = int((distances[~same][chosen] <= 2.0).sum())
    assert rates.fmr_upper == pytest.approx(clopper_pearson(n_errors, n_chosen, 0.95)[1])
    grouped = error_rates(distances, same, 2.0, items=items, groups=y, guarantee="exact")
    assert grouped.effective_pairs == (5, 10), "one pair of two subjects, one within each subject"
    assert grouped.fmr_upper > rates.fmr_upper


def test_exact_intervals_hold_the_rate_of_all_pairs():
    # The errors are those of one item with many pairs, of which one is among disjoint pairs.
    star = np.column_stack([np.zeros(200, dtype=int), np.arange(1, 201)])
    others = np.arange(1, 1201).reshape(-1, 2)
    items = np.r_[star, others, [[2000, 2001]]]
    distances = np.r_[np.zeros(200), np.ones(600), 0.0]
    same = np.arange(801) == 800
    rates = error_rates(distances, same, 0.5, items=items, guarantee="exact")
    assert rates.fmr == rates.fmr_upper == rates.fmr_interval[1] == 0.25
    curve = verification_curve(distances, same, items=items, confidence=0.95, guarantee="exact")
    assert curve.band.fmr_upper.tolist() == [0.25, 1.0]


def test_disjoint_pairs_are_those_of_a_loop_in_random_order():
    rng = np.random.default_rng(1)
    units = rng.integers(0, 30, size=(200, 2))  # with pairs within a subject
    used, expected = set(), []
    for k in np.random.default_rng(7).permutation(len(units)):
        if not used & set(units[k]):
            used |= set(units[k])
            expected.append(k)
    chosen = disjoint_pairs(units, np.random.default_rng(7))
    assert np.flatnonzero(chosen).tolist() == sorted(expected)


def test_without_errors_all_guarantees_use_disjoint_pairs(scored):
    distances, same, items, _ = scored
    bounds = {
        guarantee: error_rates(distances, same, 1e-6, items=items, guarantee=guarantee)
        for guarantee in ("approximate", "exact", "bootstrap")
    }
    for rates in bounds.values():
        assert (rates.fmr, rates.fnmr, rates.fnmr_upper) == (0, 1, 1)
        n_different, n_same = map(int, rates.effective_pairs)
        assert 15 <= n_different <= 20, "most of the 20 that are possible"
        assert 15 <= n_same <= 20
        assert rates.fmr_upper == pytest.approx(clopper_pearson(0, n_different, 0.95)[1])
        assert rates.fnmr_interval[0] == pytest.approx(clopper_pearson(n_same, n_same, 0.95)[0][0])


def test_bootstrap_rates_are_those_of_a_loop():
    rng = np.random.default_rng(0)
    units = rng.integers(0, 12, size=(60, 2))
    numbers = np.array([0, 7, 7, 30, 60])
    found = bootstrap_rates(units, numbers, random_state=5, n_replicates=4)
    rng = np.random.default_rng(5)
    for row in found:
        draws = np.bincount(rng.integers(12, size=12), minlength=12)
        weights = [draws[a] if a == b else draws[a] * draws[b] for a, b in units]
        expected = [sum(weights[:k]) / sum(weights) for k in numbers]
        assert row == pytest.approx(expected)


def test_bootstrap_bounds_are_recentred_quantiles(scored):
    distances, same, items, _ = scored
    rates = error_rates(distances, same, 2.0, items=items, guarantee="bootstrap", random_state=4)
    wrong = distances[~same] <= 2.0
    ordered = items[~same][np.argsort(~wrong, kind="stable")]
    replicates = bootstrap_rates(ordered, np.array([wrong.sum()]), 4)[:, 0]
    shift = wrong.mean() - replicates.mean()
    assert rates.fmr_upper == pytest.approx(np.quantile(replicates, 0.95) + shift)
    assert rates.fmr_interval == pytest.approx(np.quantile(replicates, [0.025, 0.975]) + shift)


N_POPULATIONS = 300


def coverage(rho, subjects, clusters, guarantee="approximate", fmr=0.01):
    """Return how often the bound of simulated populations holds, clustered by `clusters`."""
    pairs = all_pairs(len(subjects))
    pairs = pairs[subjects[pairs[:, 0]] != subjects[pairs[:, 1]]]
    covered = 0
    for number in range(N_POPULATIONS):
        scores = simulate_scores(np.random.default_rng([number, 9]), subjects, pairs, rho)
        wrong = scores <= scipy.stats.norm.ppf(fmr)
        variances = RateVariances(clusters[pairs], np.argsort(~wrong, kind="stable"))
        bounds = rate_bounds(variances, len(pairs), np.array([wrong.sum()]), guarantee)
        covered += bounds.upper(0.95)[0] >= fmr
    return covered / N_POPULATIONS


def test_the_bound_covers_where_that_of_independent_pairs_does_not():
    # The benchmark `pair-coverage` has the exact numbers; 3.5 standard errors of 92.5% are 5.3%.
    items = np.arange(120)
    assert coverage(0.5, items, items) > 0.925 - 0.053
    pairs = all_pairs(120)
    naive = 0
    for number in range(N_POPULATIONS):
        scores = simulate_scores(np.random.default_rng([number, 9]), items, pairs, 0.5)
        wrong = int((scores <= scipy.stats.norm.ppf(0.01)).sum())
        naive += clopper_pearson(wrong, len(pairs), 0.95)[1] >= 0.01
    assert naive / N_POPULATIONS < 0.85


def test_subjects_are_what_the_bound_is_clustered_by():
    subjects = np.arange(200) // 5
    by_subject = coverage(0.5, subjects, subjects)
    by_item = coverage(0.5, subjects, np.arange(200))
    assert by_subject > 0.92 - 0.055
    assert by_item < by_subject - 0.05


@pytest.mark.parametrize("seed", range(6))
def test_exact_bounds_hold_for_every_fixed_random_state(seed):
    items, n_populations, covered = all_pairs(60), 250, 0
    distances, same = np.empty(len(items) + 1), np.arange(len(items) + 1) == len(items)
    with_same = np.r_[items, [[0, 1]]]
    threshold = scipy.stats.norm.ppf(0.2)
    for number in range(n_populations):
        rng = np.random.default_rng([number, 4])
        distances[:-1] = simulate_scores(rng, np.arange(60), items, 0.3)
        distances[-1] = -9.0
        rates = error_rates(
            distances, same, threshold, items=with_same, guarantee="exact", random_state=seed
        )
        covered += rates.fmr_upper >= 0.2
    assert covered / n_populations >= 0.93


def test_few_degrees_of_freedom_cause_a_warning():
    rng = np.random.default_rng(0)
    items = all_pairs(60)
    same = rng.random(len(items)) < 0.3
    distances = rng.random(len(items))
    # All errors are pairs of item 0.
    distances[~same & (items[:, 0] == 0)] = -1.0
    distances[~same & (items[:, 0] > 0)] = 2.0
    with pytest.warns(UserWarning, match="Few items cause most of the errors.* 3.0 degrees"):
        rates = error_rates(distances, same, 0.5, items=items)
    assert isinstance(rates, ErrorRates)
    with pytest.warns(UserWarning, match="Few subjects cause most of the errors"):
        error_rates(distances, same, 0.5, items=items, groups=np.arange(60) // 2)


@pytest.mark.parametrize(("errors", "expected"), [(0, 2995), (1, 4742), (30, 40686)])
def test_pairs_needed(errors, expected):
    assert pairs_needed(0.001, 0.95, errors) == expected
    assert clopper_pearson(errors, expected, 0.95)[1] <= 0.001
    assert clopper_pearson(errors, expected - 1, 0.95)[1] > 0.001


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"distances": [0.1, np.nan, 0.3]}, "distances must be finite"),
        ({"distances": [[0.1, 0.2, 0.3]]}, r"distances has shape \(1, 3\)"),
        ({"distances": ["a", "b", "c"]}, "distances holds 'a', but only real numbers"),
        ({"same": [1, 1, 1]}, "same has 3 same and 0 different pairs, but at least one of each"),
        ({"same": [False] * 3}, "same has 0 same and 3 different pairs"),
        ({"same": [1, 0]}, r"same has shape \(2,\), but 3 pairs"),
        ({"threshold": np.nan}, "threshold is nan, but a finite number"),
        ({"threshold": "a"}, "threshold is 'a', but a finite number"),
        ({"threshold": None}, "threshold is None, but a finite number"),
        ({"items": [[0, 1], [1, 2]]}, r"items has shape \(2, 2\), but \(3, 2\)"),
        ({"items": [[0, 1], [1, 1], [1, 2]]}, r"items\[1\] pairs item 1 with itself"),
        ({"groups": [0, 1, 2]}, "groups is given, but items"),
        ({"items": [["a", None], ["b", "c"], ["a", "c"]]}, "items holds None, but no value may"),
        ({"items": np.array([["a", "b"], ["b", np.nan], ["a", "c"]], object)}, "items holds nan"),
        ({"items": [[0, 1], [1, 2], [0, 2]], "groups": [0, 1]}, "items must be positions"),
        ({"items": [[0, 1], [1, 2], [0, 2]], "groups": 5}, r"groups has shape \(\), but one subj"),
        (
            {"items": [[0, 1], [1, 2], [0, 2]], "groups": ["a", None, "b"]},
            "groups holds None, but no value may be missing",
        ),
        (
            {"items": [[0, 1], [1, 2], [0, 2]], "groups": np.array(["a", "b", np.nan], object)},
            "groups holds nan, but no value may be missing",
        ),
        ({"confidence": 1.0}, "confidence=1.0 is not allowed: error_rates needs"),
        ({"guarantee": "sure"}, "guarantee='sure' is not allowed"),
    ],
)
def test_bad_input_is_named(changes, message):
    arguments = {"distances": [0.1, 0.2, 0.3], "same": [True, False, False], "threshold": 0.25}
    with pytest.raises(ValueError, match=message):
        error_rates(**{**arguments, **changes})


@pytest.mark.parametrize("target", [0, 1, -0.1, "x"])
def test_a_target_rate_is_above_0_and_below_1(target):
    with pytest.raises(ValueError, match="target="):
        pairs_needed(target)
