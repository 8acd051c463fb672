"""Variances of averages over pairs that share items, against double sums."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pair_oracles import brute_force_degrees_of_freedom, brute_force_variance

from likewise.statistics import dyadic_variance
from likewise.statistics._rate_variances import RateVariances


@st.composite
def pairs_with_units(draw):
    """Pairs of a few items, with repetitions, and a subject for each item or none."""
    n_items = draw(st.integers(4, 9))
    items = draw(
        st.lists(
            st.tuples(st.integers(0, n_items - 1), st.integers(1, n_items - 1)),
            min_size=3,
            max_size=25,
        )
    )
    items = np.array([(first, (first + step) % n_items) for first, step in items])
    subjects = st.lists(st.integers(0, 5), min_size=n_items, max_size=n_items)
    groups = draw(st.none() | subjects.map(np.array))
    return items, groups


def units(items, groups):
    return items if groups is None else groups[items]


@given(pairs_with_units(), st.integers(0, 1000))
@settings(deadline=None)
def test_the_variance_is_the_double_sum(drawn, seed):
    items, groups = drawn
    influence = np.random.default_rng(seed).normal(size=len(items))
    found = dyadic_variance(influence, items, groups)
    touched = units(items, groups)
    assert found.n_units == len(np.unique(touched))
    if found.n_units < 3:
        assert found.variance == np.inf
        return
    assert found.variance == pytest.approx(brute_force_variance(influence, touched))
    assert found.degrees_of_freedom == pytest.approx(
        brute_force_degrees_of_freedom(influence, touched)
    )


@given(pairs_with_units())
@settings(deadline=None)
def test_the_whole_curve_is_the_double_sum_at_every_number_of_errors(drawn):
    items, groups = drawn
    touched = np.unique(units(items, groups), return_inverse=True)[1].reshape(items.shape)
    if touched.max() < 2:
        return
    n_pairs = len(items)
    numbers = np.arange(1, n_pairs)
    variance, freedom = RateVariances(touched, np.arange(n_pairs)).at(numbers)
    for k in numbers:
        residual = n_pairs * (np.arange(n_pairs) < k) - k  # whole numbers, so that zeros are zeros
        expected = brute_force_variance(residual.tolist(), touched) / n_pairs**4
        assert variance[k - 1] == pytest.approx(expected)
        assert freedom[k - 1] == pytest.approx(
            brute_force_degrees_of_freedom(residual.tolist(), touched), rel=1e-6
        )


def test_without_repeated_pairs_the_sum_over_pairs_is_binomial():
    rng = np.random.default_rng(0)
    items = np.stack(np.triu_indices(30, 1), axis=1)
    error = rng.random(len(items)) < 0.1
    influence = (error - error.mean()) / len(items)
    sums = np.bincount(items.ravel(), weights=np.repeat(influence, 2))
    rate, m = error.mean(), len(items)
    expected = 30 / 28 * max(rate * (1 - rate) / m, (sums**2).sum() - rate * (1 - rate) / m)
    assert dyadic_variance(influence, items).variance == pytest.approx(expected)


def test_items_may_be_named_and_pairs_turned():
    influence = [0.3, -0.1, -0.2]
    numbered = dyadic_variance(influence, [[0, 1], [2, 1], [1, 3]])
    named = dyadic_variance(influence, [["a", "b"], ["b", "c"], ["d", "b"]])
    assert named == numbered


@pytest.mark.parametrize(
    ("influence", "items", "groups", "message"),
    [
        ([1.0, np.nan], [[0, 1], [1, 2]], None, "influence must be one finite number per pair"),
        ([1.0], [[0, 1], [1, 2]], None, r"items has shape \(2, 2\), but \(1, 2\) is needed"),
        ([1.0], [[0.0, 1.0]], None, "items holds float64 values, but ids must be"),
        ([1.0, 2.0], [[0, 1], [2, 2]], None, r"items\[1\] pairs item 2 with itself"),
        ([1.0], [[0, 3]], [0, 1], "items must be positions in groups, 0 to 1, but it holds 3"),
        ([1.0], [["a", "b"]], [0, 1], "items must be positions in groups"),
        ([1.0], [[0, 1]], [0.0, np.nan], "groups must be finite"),
    ],
)
def test_bad_input_is_named(influence, items, groups, message):
    with pytest.raises(ValueError, match=message):
        dyadic_variance(influence, items, groups)
