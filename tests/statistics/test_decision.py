"""Decisions: three outcomes, and how much more data would decide."""

import math

import numpy as np
import pytest

from likewise.statistics import SignFlipTest, decide, sign_flip_max_test


def result_of(differences, **changes):
    """A test result with given differences, built by hand."""
    n_methods = len(differences)
    parts = {
        "row_variances": np.full(n_methods, 0.05),
        "repeat_variances": np.full(n_methods, 0.04),
        "fold_variances": np.zeros(n_methods),
        "n_rows": 1000,
        "n_repeats": 2,
        "n_folds": 5,
        "quantile": 2.0,
    } | changes
    variances = 2 * (parts["row_variances"] + parts["repeat_variances"] / parts["n_repeats"])
    variances = variances / parts["n_rows"] + parts["fold_variances"] / (parts["n_repeats"] * 5)
    return SignFlipTest(differences=np.array(differences), variances=variances, **parts)


def test_the_best_of_those_that_are_shown_to_be_better_is_used():
    # √V = 0.0118, so that 0.0237 is needed; the largest difference has too much variance.
    rows = np.array([0.05, 0.05, 5.0])
    decision = decide(result_of([0.03, 0.04, 0.05], row_variances=rows))
    assert decision.outcome == "use"
    assert decision.method == 1
    assert decision.difference == 0.04
    margin = 2 * math.sqrt(2 * 0.07 / 1000)
    assert decision.interval == pytest.approx((0.04 - margin, 0.04 + margin))
    assert decision.needed_repeats is decision.needed_rows is None


def test_no_difference_needs_every_method_below_two_points():
    small = {"row_variances": np.full(2, 0.005), "repeat_variances": np.zeros(2)}
    decision = decide(result_of([-0.01, 0.005], **small))
    assert decision.outcome == "no difference"
    assert decision.method == 1
    assert decision.upper == pytest.approx(0.005 + 2 * math.sqrt(2 * 0.005 / 1000))
    uncertain = small | {"row_variances": np.array([0.5, 0.005])}
    assert decide(result_of([-0.01, 0.005], **uncertain)).outcome == "undecided"
    assert decide(result_of([-0.01, 0.005], **small), relevant=0.01).outcome == "undecided"


@pytest.mark.parametrize("difference", [0.02, 0.0125, 0.004, -0.005])
def test_the_needed_repeats_or_rows_would_decide(difference):
    """Put the numbers into V again: it is just what is wanted."""
    test = result_of([difference], fold_variances=np.array([0.0004]))
    decision = decide(test)
    assert decision.outcome == "undecided"
    distance = difference if difference >= 0.01 else 0.02 - difference
    wanted = (distance / 2.0) ** 2

    def variance(n_repeats):
        return 2 * (0.05 + 0.04 / n_repeats) / 1000 + 0.0004 / (5 * n_repeats)

    assert test.variances[0] == pytest.approx(variance(2))
    if decision.needed_repeats is None:
        assert wanted <= 2 * 0.05 / 1000
    else:
        assert variance(decision.needed_repeats) <= wanted
        assert decision.needed_repeats == 3 or variance(decision.needed_repeats - 1) > wanted
    needed_rows = decision.needed_rows
    assert test.variances[0] * 1000 / needed_rows <= wanted
    assert needed_rows == 1001 or test.variances[0] * 1000 / (needed_rows - 1) > wanted


def test_methods_like_the_baseline_are_no_difference():
    folds = np.tile(np.arange(50) % 5, (2, 1))
    decision = decide(sign_flip_max_test(np.zeros((2, 50, 2)), folds))
    assert (decision.outcome, decision.difference, decision.interval) == (
        "no difference",
        0,
        (0, 0),
    )
