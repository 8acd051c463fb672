"""What several experiments share: rows, times, choices, and the number of runs."""

import time

import numpy as np
import pytest

from likewise.datasets import Dataset
from likewise.experiments import Size, Trial
from likewise.experiments._choice import choose
from likewise.experiments._rows import (
    all_rows,
    divided_by_deviation,
    held_out,
    random_rows,
    unit_rows,
)
from likewise.experiments._timing import mean_seconds, timed


def _work(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
    return "done"


def test_a_test_part_comes_after_the_training_part():
    X, y = np.arange(6.0).reshape(3, 2), np.array([0, 1, 0])
    both = Dataset(name="both", X=X, y=y, X_test=X[:1] + 10, y_test=y[:1] + 1)
    np.testing.assert_array_equal(all_rows(both)[0], [[0, 1], [2, 3], [4, 5], [10, 11]])
    np.testing.assert_array_equal(all_rows(both)[1], [0, 1, 0, 1])
    alone = Dataset(name="alone", X=X, y=y)
    assert all_rows(alone)[0] is X


def test_random_rows_are_distinct_and_in_order():
    found = random_rows(100, 30, np.random.default_rng(0))
    assert len(set(found.tolist())) == 30
    assert (np.diff(found) > 0).all()
    np.testing.assert_array_equal(random_rows(4, 9, np.random.default_rng(0)), range(4))


def test_held_out_rows_are_the_chosen_ones():
    X, y = np.arange(4.0)[:, None], np.arange(4)
    split = held_out(X, y, np.array([True, False, False, True]))
    assert (split.y.tolist(), split.y_test.tolist()) == ([1, 2], [0, 3])
    assert (split.X.ravel().tolist(), split.X_test.ravel().tolist()) == ([1, 2], [0, 3])


def test_scaled_rows():
    X = np.array([[0.0, 3.0], [4.0, 3.0]])
    scaled, other = divided_by_deviation(X, np.array([[2.0, 5.0]]))
    np.testing.assert_array_equal(scaled, [[0, 3], [2, 3]])
    np.testing.assert_array_equal(other, [[1, 5]])
    np.testing.assert_array_equal(unit_rows(np.array([[3, 4], [0, 0]])), [[0.6, 0.8], [0, 0]])


def test_times_are_processor_times():
    result, seconds = timed(lambda: _work(0.05))
    assert result == "done"
    assert 0.05 <= seconds < 0.5
    assert timed(lambda: time.sleep(0.1))[1] < 0.05
    calls = []
    spent = mean_seconds(lambda: calls.append(_work(0.02)), at_least=0.05)
    assert len(calls) == 3
    assert 0.02 <= spent < 0.2


def test_the_lowest_mean_error_is_chosen_and_the_first_of_equals():
    errors = {"first": [3.0, 1.0, 1.0], "second": [0.0, 1.0, 1.0]}
    assert choose("abc", errors.__getitem__, ["first"]) == "b"
    assert choose("abc", errors.__getitem__, ["first", "second"]) == "b"
    assert choose("abc", errors.__getitem__, ["second"]) == "a"
    assert choose("a", pytest.fail, ["first"]) == "a"


def test_data_sets_and_methods_may_have_fewer_runs():
    size = Size(
        ("a", "b"),
        ("x", "y"),
        runs=3,
        absent=frozenset({("b", "y")}),
        runs_of={"a": 2, ("a", "y"): 1},
    )
    assert list(size.trials()) == [
        Trial(0, "a", "x"),
        Trial(0, "a", "y"),
        Trial(0, "b", "x"),
        Trial(1, "a", "x"),
        Trial(1, "b", "x"),
        Trial(2, "b", "x"),
    ]
