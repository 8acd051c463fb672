"""Tests of methods over data sets, against SciPy, scikit-posthocs and published examples."""

import demsar
import numpy as np
import pytest
import scikit_posthocs
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from likewise.statistics import (
    average_ranks,
    critical_difference,
    friedman_holm,
    friedman_test,
    holm_correction,
    holm_test,
    iman_davenport_test,
    nemenyi_test,
)

tables = pytest.mark.parametrize(
    "table",
    [
        np.random.default_rng(0).normal(size=(12, 5)) + np.arange(5) / 2,
        np.random.default_rng(1).integers(0, 4, size=(9, 6)).astype(float),  # many ties
        np.random.default_rng(2).normal(size=(40, 3)),
    ],
    ids=["different", "ties", "alike"],
)


def test_demsar_ranks_and_friedman():
    ranks = average_ranks(demsar.AUC, higher_is_better=True)
    np.testing.assert_allclose(ranks, [3.143, 2.000, 2.893, 1.964], atol=5e-4)
    assert friedman_test(demsar.AUC, tie_correction=False).statistic == pytest.approx(
        9.28, abs=5e-3
    )
    found = iman_davenport_test(demsar.AUC, tie_correction=False)
    assert found.statistic == pytest.approx(3.69, abs=5e-3)
    assert found.degrees_of_freedom == (3, 39)
    assert scipy.stats.f.isf(0.05, 3, 39) == pytest.approx(2.85, abs=5e-3)
    assert found.p_value < 0.05


def test_demsar_nemenyi():
    assert critical_difference(4, 14) == pytest.approx(1.25, abs=5e-3)
    assert critical_difference(4, 14, alpha=0.1) == pytest.approx(1.12, abs=5e-3)
    p_values = nemenyi_test(average_ranks(demsar.AUC, higher_is_better=True), 14)
    assert p_values.min() > 0.05
    # At 0.1, C4.5 is worse than C4.5+m and C4.5+m+cf, and no other difference is shown.
    np.testing.assert_array_equal(np.argwhere(p_values < 0.1), [[0, 1], [0, 3], [1, 0], [3, 0]])


@pytest.mark.parametrize(
    ("alpha", "quantiles"),
    [
        (0.05, [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164]),
        (0.10, [1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920]),
    ],
)
def test_demsar_table_of_critical_values(alpha, quantiles):
    for n_methods, printed in enumerate(quantiles, start=2):
        error = np.sqrt(n_methods * (n_methods + 1) / (6 * 14))
        ours = critical_difference(n_methods, 14, alpha=alpha) / error
        assert ours == pytest.approx(printed, abs=1.1e-3)


def test_demsar_holm():
    found = friedman_holm(demsar.AUC, demsar.NAMES, control="C4.5", higher_is_better=True)
    # Printed: z is 2.342, 0.512 and 2.416; at 0.05 the first and the last difference are shown.
    _, with_m, with_cf, with_both = found.p_values[0]
    least = 3 * 2 * scipy.stats.norm.sf(2.416)
    assert with_both == pytest.approx(least, rel=2e-3)
    assert with_m == pytest.approx(max(least, 2 * 2 * scipy.stats.norm.sf(2.342)), rel=2e-3)
    assert with_cf == pytest.approx(2 * scipy.stats.norm.sf(0.512), rel=2e-3)
    assert max(with_m, with_both) < 0.05 < with_cf
    assert np.isnan(found.p_values[1, 2:]).all()


def test_published_ranks_of_running_times():
    """Tables 4 and 5 of the paper on online metric learning, Pérez-Suay et al. 2013."""
    names = ["PAI-", "PAII-", "PALS-", "PAII+", "PAI+", "ITML", "PALS+"]
    ranks = [1.49, 1.77, 2.87, 4.86, 4.93, 5.67, 6.40]
    p_values = holm_test(ranks, 15)
    columns = [names.index(name) for name in ("ITML", "PAI+", "PAII+", "PALS+")]
    table = p_values[:3][:, columns]
    below = np.array([[1e-5, 1e-3, 1e-3, 1e-7], [1e-4, 1e-3, 2e-3, 1e-7], [5e-3, 0.1, 0.12, 1e-3]])
    assert (table < below).all()
    # The ranks are printed with two decimals.
    assert table[1, 2] == pytest.approx(0.0011, rel=0.2)
    np.testing.assert_allclose(table[2, :3], [0.0046, 0.0967, 0.1112], rtol=0.05)


@tables
def test_friedman_as_in_scipy(table):
    theirs = scipy.stats.friedmanchisquare(*table.T)
    ours = friedman_test(table)
    np.testing.assert_allclose((ours.statistic, ours.p_value), theirs, rtol=1e-10)
    np.testing.assert_allclose(average_ranks(table), scipy.stats.rankdata(table, axis=1).mean(0))


@tables
def test_iman_davenport_is_the_analysis_of_variance_of_ranks(table):
    """F of the two-way analysis of variance without interaction, from its sums of squares."""
    ranks = scipy.stats.rankdata(table, axis=1)
    n, k = ranks.shape
    methods = n * ((ranks.mean(axis=0) - ranks.mean()) ** 2).sum()
    residual = (
        (ranks - ranks.mean(axis=0) - ranks.mean(1, keepdims=True) + ranks.mean()) ** 2
    ).sum()
    f = (methods / (k - 1)) / (residual / ((k - 1) * (n - 1)))
    ours = iman_davenport_test(table)
    assert ours.statistic == pytest.approx(f, rel=1e-10)
    assert ours.p_value == pytest.approx(scipy.stats.f.sf(f, k - 1, (k - 1) * (n - 1)))


@tables
def test_post_hoc_tests_as_in_scikit_posthocs(table):
    ranks = average_ranks(table)
    theirs = scikit_posthocs.posthoc_nemenyi_friedman(table).to_numpy()
    np.testing.assert_allclose(nemenyi_test(ranks, len(table)), theirs, rtol=1e-10)
    theirs = scikit_posthocs.posthoc_siegel_friedman(table, p_adjust="holm").to_numpy()
    np.testing.assert_allclose(holm_test(ranks, len(table)), theirs, rtol=1e-10)


@tables
def test_the_critical_difference_is_where_nemenyi_rejects(table):
    ranks = average_ranks(table)
    n_datasets, n_methods = table.shape
    apart = np.abs(ranks[:, None] - ranks) > critical_difference(n_methods, n_datasets)
    np.testing.assert_array_equal(nemenyi_test(ranks, n_datasets) < 0.05, apart)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.floats(0.001, 0.5))
def test_holm_rejects_as_the_procedure_does(p_values, alpha):
    """Step down from the smallest p-value and stop at the first that is too large."""
    rejected = np.zeros(len(p_values), dtype=bool)
    for step, test in enumerate(np.argsort(p_values, kind="stable")):
        if min(1, (len(p_values) - step) * p_values[test]) > alpha:
            break
        rejected[test] = True
    np.testing.assert_array_equal(holm_correction(p_values) <= alpha, rejected)


def test_two_methods():
    table = np.array([[1.0, 2.0], [1.0, 3.0], [4.0, 2.0], [1.0, 2.0]])
    assert friedman_test(table).statistic == pytest.approx((3 - 1) ** 2 / 4)
    assert holm_test(average_ranks(table), 4)[0, 1] == pytest.approx(friedman_test(table).p_value)


def test_all_scores_equal():
    assert friedman_test(np.ones((4, 3))).p_value == 1
    assert iman_davenport_test(np.ones((4, 3))).p_value == 1
    assert (holm_test(average_ranks(np.ones((4, 3))), 4) == 1).all()


def test_all_data_sets_agree():
    found = iman_davenport_test(np.tile(np.arange(7.0), (9, 1)))
    assert (found.statistic, found.p_value) == (np.inf, 0)


def test_control_of_the_level():
    """With equally good methods the tests reject in about 5 % of the cases."""
    rng = np.random.default_rng(0)
    tables = rng.normal(size=(2000, 15, 6))
    overall = np.mean([iman_davenport_test(table).p_value < 0.05 for table in tables])
    any_pair = np.mean([holm_test(average_ranks(t), 15).min() < 0.05 for t in tables])
    assert 0.035 < overall < 0.065
    assert any_pair < 0.05


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: average_ranks([1.0, 2.0]), r"scores has shape \(2,\), but it must have a row for"),
        (lambda: friedman_test([[1.0, 2.0]]), "at least two of both"),
        (lambda: iman_davenport_test([1.0]), r"scores has shape \(1,\)"),
        (lambda: friedman_test([[1.0, np.nan], [1, 2]]), "NaN"),
        (lambda: friedman_test([["a", "b"], ["c", "d"]]), "only real numbers"),
        (lambda: holm_test([1.0, 3.5, 2.0], 5), "average rank of each method"),
        (lambda: nemenyi_test([1.0], 5), "average rank of each method, at least two"),
        (lambda: holm_test([1.0, 2.0], 1), "n_datasets=1 is not allowed"),
        (lambda: holm_test([1.0, 2.0], 5, control=2), "control is 2, but it must be the position"),
        (lambda: critical_difference(1, 5), "n_methods=1 is not allowed"),
        (lambda: critical_difference(3, 5, alpha=1.0), r"alpha=1\.0 is not allowed"),
        (lambda: holm_correction([0.5, 1.5]), "numbers from 0 to 1"),
        (
            lambda: friedman_holm(demsar.AUC, ["a", "b"]),
            "2 different names, but there are 4 methods",
        ),
        (
            lambda: friedman_holm(demsar.AUC, control="x"),
            "control is 'x', but the methods are 0, 1",
        ),
    ],
)
def test_bad_input(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
