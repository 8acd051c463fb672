"""Pairs of several splits: areas, rates and their variances, against brute force and simulation."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from likewise.evaluation import verification_curve
from likewise.statistics import (
    auc_test,
    decide,
    dyadic_variance,
    place_pairs,
    rate_interval,
)


def scored(seed=0, n_items=40, item_effect=0.5, splits=3, shift=1.0, ties=False):
    """Pairs of items whose distances share item effects, and the splits that test them."""
    rng = np.random.default_rng(seed)
    units = np.stack(np.triu_indices(n_items, 1), axis=1)
    same = rng.random(len(units)) < 0.3
    a = rng.normal(size=n_items)
    distance = np.sqrt(item_effect / 2) * a[units].sum(axis=1)
    distance += np.sqrt(1 - item_effect) * rng.normal(size=len(units)) + shift * ~same
    if ties:
        distance = np.round(2 * distance)
    positions = np.array_split(rng.permutation(len(units)), splits)
    return units, same, distance, positions


@pytest.mark.parametrize("ties", [False, True])
def test_the_area_is_the_mean_of_the_splits_areas_by_their_same_pairs(ties):
    _, same, distance, positions = scored(ties=ties)
    placed = place_pairs([distance[p] for p in positions], positions, same)
    areas = [roc_auc_score(same[p], -distance[p]) for p in positions]
    expected = np.average(areas, weights=[same[p].sum() for p in positions])
    assert placed.auc().value == pytest.approx(expected)
    for split, area in enumerate(areas):
        for kind in (True, False):
            chosen = (placed.split == split) & (placed.same == kind)
            assert placed.placement[chosen].mean() == pytest.approx(area)


def test_with_one_split_rates_are_those_of_the_curve():
    _, same, distance, _ = scored()
    everything = np.arange(len(same))
    placed = place_pairs([distance], [everything], same)
    curve = verification_curve(distance, same)
    # Between two different pairs the order of same pairs is lost: up to one pair.
    assert placed.eer().value == pytest.approx(curve.eer, abs=1 / same.sum())
    assert placed.auc().value == pytest.approx(curve.auc)
    for fmr in (0.01, 0.05, 0.3):
        assert placed.fnmr_at(fmr).value == curve.fnmr_at(fmr)


def test_scales_of_splits_do_not_matter():
    _, same, distance, positions = scored()
    plain = place_pairs([distance[p] for p in positions], positions, same)
    factors = (1, 100, 0.01)
    scaled = place_pairs(
        [f * distance[p] for f, p in zip(factors, positions, strict=True)], positions, same
    )
    np.testing.assert_array_equal(plain.fmr, scaled.fmr)
    np.testing.assert_array_equal(plain.placement, scaled.placement)


def test_the_influence_on_the_area_is_its_derivative_in_the_weight_of_a_pair():
    _, same, distance, positions = scored(n_items=10, splits=2, ties=True)

    def area(weights):
        """The mean over splits of the weighted share of right comparisons, from the definition."""
        total = 0.0
        for p in positions:
            s, d = p[same[p]], p[~same[p]]
            right = (distance[s][:, None] < distance[d]) + (distance[s][:, None] == distance[d]) / 2
            share = weights[s] @ right @ weights[d] / (weights[s].sum() * weights[d].sum())
            total += share * len(s) / same.sum()
        return total

    found = place_pairs([distance[p] for p in positions], positions, same).auc()
    step = 1e-5
    for k in range(len(same)):
        up, down = np.ones(len(same)), np.ones(len(same))
        up[k], down[k] = 1 + step, 1 - step
        assert found.influence[k] == pytest.approx((area(up) - area(down)) / (2 * step), abs=1e-8)


def test_a_pair_that_is_tested_twice_has_the_sum_of_its_influences():
    _, same, distance, positions = scored()
    twice = [*positions, *positions]
    one = place_pairs([distance[p] for p in positions], positions, same).auc()
    two = place_pairs([distance[p] for p in twice], twice, same).auc()
    assert two.value == pytest.approx(one.value)
    np.testing.assert_allclose(two.influence, one.influence)


@pytest.mark.parametrize("item_effect", [0.0, 0.5])
@pytest.mark.parametrize("measure", ["auc", "eer", "fnmr"])
def test_variances_are_those_over_fresh_items(measure, item_effect):
    values, variances = [], []
    for seed in range(250):
        units, same, distance, positions = scored(seed, 60, item_effect, splits=1)
        placed = place_pairs([distance[positions[0]]], positions, same)
        found = placed.fnmr_at(0.05) if measure == "fnmr" else getattr(placed, measure)()
        values.append(found.value)
        variances.append(dyadic_variance(found.influence, units).variance)
    assert np.mean(variances) / np.var(values) == pytest.approx(1.1, abs=0.35)


def test_intervals_cover_the_rate_of_fresh_items():
    truth = place_pairs([scored(99, 700)[2]], [np.arange(700 * 699 // 2)], scored(99, 700)[1])
    covered = {"auc": 0, "eer": 0}
    for seed in range(200):
        units, same, distance, positions = scored(seed, 50, 0.5, splits=1)
        placed = place_pairs([distance[positions[0]]], positions, same)
        for measure in covered:
            low, high = rate_interval(placed, getattr(placed, measure)(), units)
            covered[measure] += low <= getattr(truth, measure)().value <= high
    assert min(covered.values()) >= 180, "95 % of 200, less what chance explains"


def test_a_perfect_metric_has_an_interval():
    units, same, _, positions = scored(splits=1)
    distance = 1.0 - same
    placed = place_pairs([distance[positions[0]]], positions, same)
    low, high = rate_interval(placed, placed.auc(), units)
    assert high == 1
    assert 0.5 < low < 0.95, "as many pairs as are disjoint, not all that were tested"


def test_the_test_has_the_brute_force_dyadic_variance_and_the_quantile_of_bonferroni():
    units, same, distance, positions = scored(n_items=14, splits=2)
    rng = np.random.default_rng(1)
    others = [distance + s * rng.normal(size=len(same)) for s in (0.3, 1.0, 3.0)]
    baseline, *placed = (
        place_pairs([d[p] for p in positions], positions, same) for d in (distance, *others)
    )
    test = auc_test(baseline, placed, units)
    for j, method in enumerate(placed):
        psi = method.auc().influence - baseline.auc().influence
        share = (units[:, None, :, None] == units[None, :, None, :]).any(axis=(2, 3))
        brute = 14 / 12 * max(psi @ psi, psi @ share @ psi)
        shares = np.array([same[p].sum() for p in positions]) / same.sum()
        excess = test.split_variances[j] * (shares**2).sum()
        assert test.variances[j] == pytest.approx(brute + excess)
        assert test.differences[j] == pytest.approx(method.auc().value - baseline.auc().value)
    from scipy.stats import t

    np.testing.assert_allclose(test.quantiles, t.ppf(1 - 0.05 / 3, test.degrees_of_freedom))
    np.testing.assert_allclose(test.margins, test.quantiles * np.sqrt(test.variances))
    np.testing.assert_array_equal(test.significant, test.intervals[:, 0] > 0)
    assert test.n_units == 14


def test_metrics_that_change_from_split_to_split_vary_more():
    """Between splits: the variance of the areas' differences, less the mean of their own."""
    units, same, distance, _ = scored(n_items=60)
    rng = np.random.default_rng(2)
    positions = np.array_split(rng.permutation(len(units)), 12)
    noise = rng.normal(size=len(same))
    factors = np.tile([0.0, 4.0], 6)
    changing = [distance[p] + f * noise[p] for f, p in zip(factors, positions, strict=True)]
    steady = [distance[p] + 2 * noise[p] for p in positions]
    base = [distance[p] for p in positions]
    placed = [place_pairs(d, positions, same) for d in (base, changing, steady)]
    test = auc_test(placed[0], placed[1:], units)
    gaps, explained = [], []
    for p, before, after in zip(positions, base, changing, strict=True):
        one, other = (place_pairs([d], [p], same).auc() for d in (before, after))
        gaps.append(roc_auc_score(same[p], -after) - roc_auc_score(same[p], -before))
        influence = (other.influence - one.influence)[p]
        explained.append(dyadic_variance(influence, units[p]).variance)
    expected = np.var(gaps, ddof=1) - np.mean(explained)
    assert test.split_variances[0] == pytest.approx(expected)
    assert expected > 10 * test.split_variances[1] >= 0


def test_three_outcomes_and_the_items_that_would_decide():
    units, same, distance, positions = scored(n_items=80, splits=1)
    rng = np.random.default_rng(0)
    noise = rng.normal(size=len(same))

    def against(other, base=distance + 2 * noise):
        placed = [place_pairs([d[positions[0]]], positions, same) for d in (base, other)]
        return auc_test(placed[0], [placed[1]], units)

    assert decide(against(distance)).outcome == "use"
    assert decide(against(distance + 2.01 * noise)).outcome == "no difference"
    few = slice(0, 60)
    placed = [
        place_pairs([d[few]], [np.arange(60)], same[few])
        for d in (distance + noise, distance + rng.normal(size=len(same)))
    ]
    test = auc_test(placed[0], [placed[1]], units[few])
    undecided = decide(test)
    assert undecided.outcome == "undecided"
    assert undecided.needed_repeats is None
    # With as many items, the margin would be the difference (or its distance to 2 points).
    difference = test.differences[0]
    distance_to = difference if difference >= 0.01 else 0.02 - difference
    wanted = test.n_units * (test.margins[0] / distance_to) ** 2
    assert undecided.needed_rows == pytest.approx(wanted, abs=1)


def test_a_method_that_never_differs_is_not_better():
    units, same, distance, positions = scored()
    placed = place_pairs([distance[p] for p in positions], positions, same)
    test = auc_test(placed, [placed], units)
    assert test.variances.tolist() == [0]
    assert not test.significant.any()
    assert decide(test).outcome == "no difference"


@pytest.mark.parametrize(
    ("distances", "sentence"),
    [([np.nan] * 4, "must be finite"), ([1.0] * 3, "need shape")],
)
def test_bad_distances(distances, sentence):
    with pytest.raises(ValueError, match=sentence):
        place_pairs([distances], [np.arange(4)], np.array([True, True, False, False]))
    with pytest.raises(ValueError, match="at least one of each is needed"):
        place_pairs([[1.0, 2.0]], [np.arange(2)], np.array([True, True]))
