"""What held-out labelled rows say about maps, in loops."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from likewise.adapter import _labels
from likewise.adapter._evidence import Evidence, no_evidence
from likewise.adapter._labels import Labels


def test_average_precision_is_that_of_scikit_learn(rng):
    similarities = rng.normal(size=(30, 30))
    codes = rng.integers(4, size=30)
    alike = codes[:, None] == codes
    np.fill_diagonal(alike, False)
    np.fill_diagonal(similarities, -np.inf)
    found = _labels._average_precision(similarities, alike)
    for i in range(30):
        others = np.arange(30) != i
        wanted = average_precision_score(alike[i, others], similarities[i, others])
        assert found[i] == pytest.approx(wanted)


def test_a_row_like_no_other_has_no_average_precision():
    similarities = np.array([[-np.inf, 1.0], [1.0, -np.inf]])
    assert np.isnan(_labels._average_precision(similarities, np.zeros((2, 2), bool))).all()


def test_rows_are_found_down_to_the_depth_of_the_reference(rng):
    codes = np.array([0, 1, 0, 1, 1, 0])
    labels = Labels(codes, np.arange(6), None)
    tested = np.array([0, 2, 3, 4])
    among, to_reference = rng.normal(size=(4, 4)), rng.normal(size=(4, 10))
    outcome = labels._outcome([among.copy(), to_reference], tested, 3)
    right, found = np.zeros(6), np.zeros(6)
    for i in range(4):
        least = sorted(to_reference[i])[-3]
        for j in range(4):
            if i != j and among[i, j] >= least:
                for row in (tested[i], tested[j]):
                    found[row] += 1
                    right[row] += codes[tested[i]] == codes[tested[j]]
    outcome = outcome.of_rows(np.arange(6))
    assert (outcome.found == found).all()
    assert (outcome.right == right).all()
    assert np.isnan(outcome.average_precision[[1, 5]]).all()


def outcome(rng, n, quality):
    found = rng.integers(5, 15, size=n).astype(float)
    rows = np.arange(n)
    return _labels._Outcome(rows, rng.normal(quality, 0.1, n), np.floor(found * quality), found)


def test_gains_are_differences_of_means_and_ratios(rng):
    baseline = [outcome(rng, 40, 0.4) for _ in range(6)]
    better = [outcome(rng, 40, 0.6) for _ in range(6)]
    (precision, mean), (precision_error, mean_error) = _labels._compare(baseline, better)
    ratios = [
        sum(o.right.sum() for o in folds) / sum(o.found.sum() for o in folds)
        for folds in (baseline, better)
    ]
    assert precision == pytest.approx(ratios[1] - ratios[0])
    differences = np.mean(
        [b.average_precision - a.average_precision for a, b in zip(baseline, better, strict=True)],
        axis=0,
    )
    assert mean == pytest.approx(differences.mean())
    assert mean_error == pytest.approx(np.sqrt(2 * differences.var(ddof=1) / 40))
    assert 0 < precision_error < 0.1


def test_the_error_of_a_precision_is_that_of_repeated_draws(rng):
    """Rows are queries and found rows: the spread over draws of rows is about the error."""
    gains, errors = [], []
    for _ in range(300):
        skill = rng.uniform(0.3, 0.9, 60)
        outcomes = []
        for better in (0.0, 0.1):
            hits = np.triu(rng.random((60, 60)) < 0.2, 1)
            right = hits & (rng.random((60, 60)) < (skill[:, None] + skill) / 2 + better)
            outcomes.append(
                [
                    _labels._Outcome(
                        np.arange(60),
                        np.full(60, np.nan),
                        right.sum(0) + right.sum(1),
                        (hits.sum(0) + hits.sum(1)).astype(float),
                    )
                ]
            )
        gain, error = _labels._precision_gain(*outcomes)
        gains.append(gain)
        errors.append(error)
    assert np.std(gains) < np.mean(errors) < 2 * np.std(gains)


def test_few_found_rows_say_nothing(rng):
    few = [_labels._Outcome(np.arange(9), np.full(9, np.nan), np.ones(9), np.full(9, 2.0))]
    assert _labels._precision_gain(few, few) == (0.0, np.inf)


def test_equal_rows_are_held_out_together(rng):
    codes = np.repeat([0, 1], 20)
    items = np.concatenate([np.arange(20) // 2, 10 + np.arange(20) // 2])
    for held in Labels(codes, items, None)._halves(rng):
        for item in range(20):
            assert len(set(held[items == item])) == 1
        assert held[codes == 0].sum() == held[codes == 1].sum() == 10


def evidence(gains, errors, caution=1.5, max_weight=np.inf):
    keys = [("fda", 0.1), ("fda", 1.0), ("self-trained", 0.1)]
    criteria = ("precision", "map")
    return Evidence(
        keys, criteria, np.array(gains), np.array(errors), caution, 100, max_weight=max_weight
    )


def test_the_bound_is_the_least_over_criteria():
    found = evidence([[0.5, 0.1], [0.3, 0.3], [0.9, 0.9]], [[0.1, 0.1], [0.1, 0.1], [np.inf, 0.1]])
    assert np.allclose(found.bounds(), [-0.05, 0.15, -np.inf])
    assert found.best() == 1


def test_the_smallest_weight_that_is_nearly_as_good_is_taken():
    found = evidence([[0.29, 0.29], [0.3, 0.3], [0.31, 0.2]], np.zeros((3, 2)))
    assert found.best() == 0
    found = evidence([[0.2, 0.29], [0.3, 0.3], [0.31, 0.2]], np.zeros((3, 2)))
    assert found.best() == 1


def test_a_weight_is_no_larger_than_allowed():
    gains, errors = [[0.1, 0.1], [0.3, 0.3], [0.2, 0.2]], np.full((3, 2), 0.1)
    assert evidence(gains, errors).best() == 1
    for allowed in (0.99, 0.05):  # the smallest weight is always allowed
        assert evidence(gains, errors, max_weight=allowed).best() == 0
    gains[0] = [0.1, -0.1]
    assert evidence(gains, errors, max_weight=0.99).best() is None


def test_nothing_is_chosen_without_a_positive_bound():
    assert evidence(np.full((3, 2), 0.1), np.full((3, 2), 0.1)).best() is None
    assert no_evidence(("auc",), 2.0, 10).best() is None
    assert no_evidence(("auc",), 2.0, 10).needed() is None


def test_needed_judgements_shrink_the_error_to_the_gain():
    found = evidence([[0.1, 0.1], [-0.1, 0.1], [0.1, 0.1]], np.full((3, 2), 0.1))
    assert found.needed() == 230  # 1.5² × 100, rounded up to two digits


def test_the_interval_holds_for_all_maps():
    low, high = evidence(np.full((3, 2), 0.1), np.full((3, 2), 0.01)).interval(0, 0.95)
    assert (low, high) == pytest.approx((0.1 - 0.0239398, 0.1 + 0.0239398))
