"""Losses: derivatives and conjugates against differences, convexity, extreme violations."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.losses import Hinge, Logistic, SmoothedHinge, SquaredHinge

LOSSES = [Hinge(), SquaredHinge(), Logistic(), SmoothedHinge(0.5), SmoothedHinge(1e-3)]
VIOLATIONS = np.concatenate([-np.logspace(-2, 2, 9), np.logspace(-2, 2, 9)])
violations = st.floats(-1e3, 1e3)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_derivative_by_differences(loss):
    step = 1e-6
    expected = (loss.value(VIOLATIONS + step) - loss.value(VIOLATIONS - step)) / (2 * step)
    np.testing.assert_allclose(loss.derivative(VIOLATIONS), expected, rtol=1e-5, atol=1e-8)


def test_formulas():
    v = np.array([-1.0, 0.0, 0.25, 3.0])
    np.testing.assert_array_equal(Hinge().value(v), [0, 0, 0.25, 3])
    np.testing.assert_array_equal(SquaredHinge().value(v), [0, 0, 0.0625, 9])
    np.testing.assert_allclose(Logistic().value(v), np.log(1 + np.exp(v - 1)), rtol=1e-14)
    np.testing.assert_array_equal(SmoothedHinge(0.5).value(v), [0, 0, 0.0625, 2.75])


@pytest.mark.parametrize("loss", LOSSES[:4], ids=repr)
def test_at_a_kink_the_derivative_is_the_left_one(loss):
    """What the protocol promises: 0 for the hinge at 0."""
    at, before = loss.derivative(np.array([0.0, -1e-12]))
    assert at == pytest.approx(before, abs=1e-9)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@given(a=violations, b=violations, share=st.floats(0, 1))
def test_values_are_convex_and_never_fall(loss, a, b, share):
    low, high, between = loss.value(np.array([min(a, b), max(a, b), share * a + (1 - share) * b]))
    assert low <= high
    at_a, at_b = loss.value(np.array([a, b]))
    chord = share * at_a + (1 - share) * at_b
    assert between <= chord + 1e-9 * max(1.0, chord)


@given(v=violations, smoothing=st.floats(1e-6, 10))
def test_the_smoothed_hinge_stays_just_below_the_hinge(v, smoothing):
    hinge, smooth = (loss.value(np.array([v]))[0] for loss in (Hinge(), SmoothedHinge(smoothing)))
    tiny = 1e-12 * max(1.0, abs(v))
    assert hinge - smoothing / 2 - tiny <= smooth <= hinge + tiny


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("violation", [-1e6, 1e6])
def test_extreme_violations_stay_finite(loss, violation):
    v = np.array([violation])
    with np.errstate(all="raise", under="ignore"):
        value, derivative = loss.value(v), loss.derivative(v)
    assert np.isfinite(value).all()
    assert np.isfinite(derivative).all()
    if violation < 0:
        assert value == derivative == 0
    else:
        assert value > 9e5
        assert derivative >= 1


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_float32_stays_float32(loss):
    v = np.array([-1.0, 0.3, 2.0], dtype=np.float32)
    assert loss.value(v).dtype == loss.derivative(v).dtype == np.float32


@pytest.mark.parametrize("smoothing", [0, -1.0, np.inf, np.nan])
def test_smoothing_must_be_positive(smoothing):
    with pytest.raises(
        ValueError, match="is not allowed: SmoothedHinge needs a finite number above"
    ):
        SmoothedHinge(smoothing)


DUAL = [Hinge(), SquaredHinge(), Logistic()]
P = np.array([0.05, 0.3, 0.5, 0.9])  # derivatives of a loss: arguments of its conjugate


@pytest.mark.parametrize("loss", DUAL, ids=repr)
def test_the_conjugate_is_the_supremum(loss):
    grid = np.linspace(-30, 30, 60_001)
    for p, found in zip(P, loss.conjugate(P), strict=True):
        assert found == pytest.approx((p * grid - loss.value(grid)).max(), abs=1e-5)


@pytest.mark.parametrize("loss", DUAL, ids=repr)
def test_derivatives_of_the_conjugate_by_differences(loss):
    step = 1e-5
    first = (loss.conjugate(P + step) - loss.conjugate(P - step)) / (2 * step)
    np.testing.assert_allclose(loss.conjugate_derivative(P), first, atol=1e-7)
    change = loss.conjugate_derivative(P + step) - loss.conjugate_derivative(P - step)
    np.testing.assert_allclose(loss.conjugate_curvature(P), change / (2 * step), rtol=1e-6)
