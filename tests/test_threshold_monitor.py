"""A monitor of a promised rate: its evidence, its false alarms, and what an alarm says."""

import itertools
import pickle

import numpy as np
import pytest
from scipy.stats import binom, binomtest

import likewise as lw


def evidence(errors, rate):
    """The formula of the docstring, product by product."""
    alternatives = [rate * r for r in (1.2, 1.5, 2, 3, 5, 10) if rate * r < (1 + rate) / 2]
    alternatives.append((1 + rate) / 2)
    starts = []
    for position in range(len(errors)):
        if not starts or position >= 1.25 * starts[-1] + 1:
            starts.append(position)
    total = 1 / (len(starts) + 1)
    for k, start in enumerate(starts):
        products = [
            np.prod([r / rate if x else (1 - r) / (1 - rate) for x in errors[start:]])
            for r in alternatives
        ]
        total += np.mean(products) / (k + 1) / (k + 2)
    return total


def watch(errors, rate, **options):
    monitor = lw.ThresholdMonitor(f"fmr<={rate}", 0.5, **options)
    monitor.update_many(np.where(errors, 0.0, 1.0), np.zeros(len(errors), dtype=bool))
    return monitor


@pytest.mark.parametrize("rate", [0.01, 0.3, 0.9])
def test_evidence_is_that_of_the_formula(rate):
    errors = np.random.default_rng(0).random(60) < min(2 * rate, 0.95)
    monitor = watch(errors, rate, alpha=1e-9)
    np.testing.assert_allclose(monitor.e_value_, evidence(errors, rate), rtol=1e-9)
    assert (monitor.n_relevant_, monitor.n_errors_) == (60, errors.sum())


@pytest.mark.parametrize("rate", [0.1, 0.4])
@pytest.mark.parametrize("true_rate", [0.02, 0.1, 0.4])
def test_expected_evidence_is_at_most_one_where_the_promise_holds(rate, true_rate):
    """Over all sequences: exactly 1 at the promised rate, less below it, more above."""
    expected = 0.0
    for errors in itertools.product([False, True], repeat=9):
        n_errors = sum(errors)
        chance = true_rate**n_errors * (1 - true_rate) ** (9 - n_errors)
        expected += chance * watch(np.array(errors), rate, window=None).e_value_
    if true_rate == rate:
        assert expected == pytest.approx(1, rel=1e-10)
    else:
        assert (expected < 1) == (true_rate < rate)


def test_false_alarms_are_rare_for_ever_but_those_of_the_window_add_up():
    rng, alpha, n_runs = np.random.default_rng(1), 0.1, 150
    monitors = [watch(rng.random(600) < 0.05, 0.05, alpha=alpha) for _ in range(n_runs)]
    false_alarms = sum(monitor.alarm_ is not None for monitor in monitors)
    # Were they as frequent as alpha allows, more than that would be seen once in 10,000 times.
    assert false_alarms <= binom.ppf(1 - 1e-4, n_runs, alpha)
    assert sum(monitor.window_alarm_ is not None for monitor in monitors) > 3 * alpha * n_runs


@pytest.mark.slow
def test_false_alarms_over_five_thousand_pairs():
    rng, alpha, n_runs = np.random.default_rng(2), 0.05, 100
    count = sum(
        watch(rng.random(5000) < 0.02, 0.02, alpha=alpha, window=None).alarm_ is not None
        for _ in range(n_runs)
    )
    assert count <= binom.ppf(1 - 1e-4, n_runs, alpha)


def test_an_alarm_names_what_changed():
    rng = np.random.default_rng(3)
    same = rng.random(1500) < 0.5
    group = np.where(rng.random(1500) < 0.3, "ann", "bob")
    changed = (np.arange(1500) >= 900) & (group == "ann")
    distances = rng.normal(1, 0.2, 1500) + np.where(same, 0, 2) + np.where(same & changed, 1, 0)
    monitor = lw.ThresholdMonitor("fnmr<=0.05", 1.45)
    alarm = monitor.update_many(distances, same, group)
    assert alarm is monitor.alarm_
    assert alarm.rate == "fnmr"
    assert alarm.promised == 0.05
    assert 880 < alarm.since < 940 < alarm.raised_at
    assert alarm.group == "ann"
    assert alarm.rate_before < 0.05 < alarm.rate_after
    assert alarm.distance_before < alarm.distance_after
    after = same[alarm.since - 1 : alarm.raised_at]
    assert alarm.n_after == after.sum()
    assert alarm.message.startswith(
        f"FNMR is no longer at most 5%: from about pair {alarm.since} on"
    )
    assert alarm.message.endswith("; its errors rose most in group 'ann'.")
    assert alarm.e_value >= 20


def test_pairs_are_numbered_over_the_whole_stream():
    errors = np.arange(80) >= 40
    late, whole = watch(errors, 0.1, n_before=1000).alarm_, watch(errors, 0.1).alarm_
    assert (late.since, late.raised_at) == (whole.since + 1000, whole.raised_at + 1000)
    assert f"from about pair {late.since} on" in late.message


@pytest.mark.parametrize("groups", [None, ["ann"] * 30])
def test_a_group_alone_is_not_named(groups):
    monitor = lw.ThresholdMonitor("fmr<=0.1", 0.5)
    alarm = monitor.update_many(np.zeros(30), np.zeros(30, dtype=bool), groups)
    assert alarm.group is None
    assert "group" not in alarm.message


def test_only_pairs_that_the_rate_is_about_count():
    distances, same = [0.1, 0.1, 0.9, 0.9], [True, False, True, False]
    for target, relevant, errors in [
        ("fmr<=0.1", 2, 1),
        ("fnmr<=0.1", 2, 1),
        ("recall>=0.9", 2, 1),
        ("precision>=0.9", 2, 1),
    ]:
        monitor = lw.ThresholdMonitor(target, 0.5)
        assert monitor.update_many(distances, same) is None
        assert (monitor.n_pairs_, monitor.n_relevant_, monitor.n_errors_) == (4, relevant, errors)
    monitor = lw.ThresholdMonitor("precision>=0.9", 0.5)
    monitor.update_many([0.1, 0.1, 0.1, 0.9], [True, True, False, False])
    assert (monitor.n_relevant_, monitor.n_errors_) == (3, 1)


def test_the_baseline_is_an_exact_binomial_test_of_the_last_pairs():
    errors = np.arange(250) % 9 == 0
    monitor = watch(errors, 0.05, window=100)
    truth = binomtest(int(errors[-100:].sum()), 100, 0.05, alternative="greater").pvalue
    assert monitor.window_p_value_ == pytest.approx(truth, rel=1e-9)
    assert monitor.window_alarm_ is not None
    assert watch(errors[:99], 0.05, window=100).window_p_value_ == 1.0
    assert watch(np.zeros(100, dtype=bool), 0.05, window=100).window_p_value_ == 1.0


def test_a_change_from_the_first_pair_on_has_no_before():
    alarm = watch(np.ones(20, dtype=bool), 0.1).alarm_
    assert alarm.since == 1
    assert np.isnan(alarm.rate_before)
    assert "before" not in alarm.message


def test_one_by_one_and_pickled_it_is_the_same():
    rng = np.random.default_rng(4)
    distances, same = rng.random(300), rng.random(300) < 0.5
    at_once, one_by_one = (lw.ThresholdMonitor("fmr<=0.4", 0.5) for _ in range(2))
    at_once.update_many(distances, same)
    for distance, flag in zip(distances, same, strict=True):
        one_by_one = pickle.loads(pickle.dumps(one_by_one))
        one_by_one.update(distance, flag)
    assert vars(at_once).keys() == vars(one_by_one).keys()
    assert at_once.e_value_ == one_by_one.e_value_
    assert at_once.alarm_ == one_by_one.alarm_


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"target": "eer"}, r"target='eer' is not allowed: ThresholdMonitor needs a rate"),
        ({"target": "fmr<=2"}, r"the rate must be a number above 0 and below 1"),
        ({"threshold": np.nan}, r"threshold=nan is not allowed"),
        ({"alpha": 0}, r"alpha=0 is not allowed: ThresholdMonitor needs a number above 0"),
        ({"n_before": -1}, r"n_before=-1 is not allowed: .* an integer of at least 0"),
        ({"window": 0}, r"window=0 is not allowed: .* None or an integer of at least 1"),
    ],
)
def test_bad_parameters(arguments, message):
    with pytest.raises(ValueError, match=message):
        lw.ThresholdMonitor(**{"target": "fmr<=0.1", "threshold": 1.0} | arguments)


def test_bad_pairs_leave_the_monitor_as_it_was():
    monitor = lw.ThresholdMonitor("fmr<=0.1", 1.0)
    with pytest.raises(ValueError, match="distance is nan, but a finite number is needed"):
        monitor.update(np.nan, True)
    with pytest.raises(ValueError, match="same is 2, but True or False is needed"):
        monitor.update(1.0, 2)
    with pytest.raises(ValueError, match="distances must be finite"):
        monitor.update_many([1.0, np.inf], [True, False])
    with pytest.raises(ValueError, match="groups has 1 entries, but there are 2 pairs"):
        monitor.update_many([1.0, 2.0], [True, False], ["a"])
    assert monitor.n_pairs_ == 0
