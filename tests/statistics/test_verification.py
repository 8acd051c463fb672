"""Verification curves against double loops and scikit-learn."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from likewise.evaluation import error_rates, verification_curve


def rates_by_loops(distance, same, threshold):
    false_match = false_non_match = 0
    for d, s in zip(distance, same, strict=True):
        false_match += (not s) and d <= threshold
        false_non_match += s and d > threshold
    n_same = sum(same)
    return false_match / (len(same) - n_same), false_non_match / n_same


def auc_by_loops(distance, same):
    wins = [
        1.0 if p < n else 0.5 if p == n else 0.0
        for p, p_same in zip(distance, same, strict=True)
        for n, n_same in zip(distance, same, strict=True)
        if p_same and not n_same
    ]
    return sum(wins) / len(wins)


# Few distinct values, so that ties are common.
pairs = st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=2, max_size=40).filter(
    lambda drawn: len({same for _, same in drawn}) == 2
)


@given(pairs)
def test_rates_and_auc_equal_the_loops(drawn):
    distance, same = [float(d) for d, _ in drawn], [s for _, s in drawn]
    curve = verification_curve(distance, same)
    assert curve.thresholds.tolist() == [-np.inf, *sorted(set(distance))]
    expected = [rates_by_loops(distance, same, t) for t in curve.thresholds]
    np.testing.assert_allclose(np.c_[curve.fmr, curve.fnmr], expected)
    assert curve.auc == pytest.approx(auc_by_loops(distance, same))
    assert (curve.n_same, curve.n_different) == (sum(same), len(same) - sum(same))


@given(pairs)
def test_the_equal_error_rate_lies_on_both_lines(drawn):
    distance, same = [float(d) for d, _ in drawn], [s for _, s in drawn]
    curve = verification_curve(distance, same)
    # Both rates as functions of the step, drawn finely: where they meet is the definition.
    steps = np.arange(len(curve.fmr))
    fine = np.linspace(0, steps[-1], 20_001)
    gap = np.abs(np.interp(fine, steps, curve.fmr) - np.interp(fine, steps, curve.fnmr))
    at = fine[gap.argmin()]
    assert curve.eer == pytest.approx(np.interp(at, steps, curve.fmr), abs=5e-3)
    assert curve.eer == pytest.approx(np.interp(at, steps, curve.fnmr), abs=5e-3)


@given(pairs, st.floats(0, 1))
def test_choosing_a_threshold(drawn, fmr):
    distance, same = [float(d) for d, _ in drawn], [s for _, s in drawn]
    curve = verification_curve(distance, same)
    allowed = [t for t in curve.thresholds if rates_by_loops(distance, same, t)[0] <= fmr]
    assert curve.threshold_at(fmr) == max(allowed)
    assert curve.fnmr_at(fmr) == rates_by_loops(distance, same, max(allowed))[1]


def test_scikit_learn_agrees_on_many_pairs():
    rng = np.random.default_rng(0)
    same = rng.random(20_000) < 0.3
    distance = np.round(rng.normal(size=20_000) + ~same, 2)
    curve = verification_curve(distance, same)
    assert curve.auc == pytest.approx(roc_auc_score(same, -distance), abs=1e-12)
    false_match, true_match = curve.roc()
    assert (false_match[0], true_match[0], false_match[-1], true_match[-1]) == (0, 0, 1, 1)


@pytest.mark.parametrize(
    ("distance", "same", "eer", "auc"),
    [
        ([1, 2, 3, 4], [1, 1, 0, 0], 0.0, 1.0),
        ([1, 2, 3, 4], [0, 0, 1, 1], 1.0, 0.0),
        ([1, 1, 1, 1], [0, 1, 0, 1], 0.5, 0.5),
        ([1, 2, 2, 3], [1, 0, 1, 0], 0.25, 0.875),
    ],
)
def test_cases_known_by_heart(distance, same, eer, auc):
    curve = verification_curve(distance, same)
    assert (curve.eer, curve.auc) == (eer, auc)


@pytest.mark.parametrize(
    ("distance", "same", "sentence"),
    [
        ([1.0, 2.0], [True, True], "same has 2 same and 0 different pairs"),
        ([1.0, 2.0], [False, False], "same has 0 same and 2 different pairs"),
        ([], [], "same has 0 same and 0 different pairs"),
        ([1.0, np.nan], [True, False], "distance must be finite"),
        ([1.0, 2.0], [True], r"same has shape \(1,\), but 2 pairs need"),
        ([[1.0], [2.0]], [[True], [False]], "one distance per pair"),
        ([1.0, 2.0], [1, 2], "same holds 2, but only True/False"),
    ],
)
def test_bad_pairs(distance, same, sentence):
    with pytest.raises(ValueError, match=sentence):
        verification_curve(distance, same)


@pytest.mark.parametrize("fmr", [-0.1, 1.1, np.nan])
def test_a_rate_is_from_0_to_1(fmr):
    curve = verification_curve([1.0, 2.0], [True, False])
    with pytest.raises(ValueError, match="must be a rate from 0 to 1"):
        curve.fnmr_at(fmr)


@pytest.mark.parametrize("guarantee", ["approximate", "exact"])
def test_the_band_has_the_intervals_of_every_threshold(guarantee):
    rng = np.random.default_rng(0)
    items = np.stack(np.triu_indices(40, 1), axis=1)
    groups = np.arange(40) // 2
    same = groups[items[:, 0]] == groups[items[:, 1]]
    distance = rng.normal(size=len(items)).round(2) + 2 * ~same
    curve = verification_curve(
        distance, same, items=items, groups=groups, confidence=0.9, guarantee=guarantee
    )
    band = curve.band
    assert set(band.thresholds) <= set(curve.thresholds)
    assert len(band.thresholds) > 100
    for k in range(0, len(band.thresholds), 7):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of few degrees of freedom
            rates = error_rates(
                distance,
                same,
                band.thresholds[k],
                items=items,
                groups=groups,
                confidence=0.9,
                guarantee=guarantee,
            )
        found = [band.fmr_lower[k], band.fmr_upper[k], band.fnmr_lower[k], band.fnmr_upper[k]]
        assert found == pytest.approx([*rates.fmr_interval, *rates.fnmr_interval])
    assert verification_curve(distance, same).band is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"items": [[0, 1]]}, r"items has shape \(1, 2\), but \(3, 2\) is needed"),
        ({"groups": [0, 1, 2]}, "groups is given, but items"),
        ({"items": [[0, 1], [1, 2], [0, 2]], "groups": 5}, r"groups has shape \(\)"),
    ],
)
def test_items_and_groups_are_checked_without_a_confidence(changes, message):
    with pytest.raises(ValueError, match=message):
        verification_curve([0.1, 0.2, 0.3], [True, False, False], **changes)
