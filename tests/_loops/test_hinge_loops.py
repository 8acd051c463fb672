"""Loops over hinge losses: compiled against NumPy twins, and the twins against plain loops."""

import numpy as np
import pytest
from loop_backends import INSTRUCTIONS, _native, needs_native

from likewise import _loops
from likewise._loops.hinges import reference
from likewise._loops.hinges.types import Hinges
from likewise.losses import Hinge, SmoothedHinge

if INSTRUCTIONS:
    from likewise._loops.hinges import compiled


def group_case(n_groups, most, kind="random"):
    """Return squared distances of near and far pairs by group, and the shape of the hinge."""
    rng = np.random.default_rng(0)
    near_start, far_start = (
        np.append(0, np.cumsum(rng.integers(0, m, n_groups))).astype(np.int64)
        for m in (4, 3 * most)
    )
    near, far = (
        np.round(rng.exponential(2, start[-1]), 1 if kind == "tied" else 9)
        for start in (near_start, far_start)
    )
    shape = 1.0, 0.0 if kind == "kink" else 0.3
    return near, near_start, far, far_start, rng.exponential(size=n_groups), 0.4, 0.6, *shape


def assert_same(found, expected):
    """Compare arrays up to 1e-12 of the largest value of each."""
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12 * np.abs(b).max(initial=0))


def test_assert_same_can_fail():
    one = np.ones(3)
    assert_same((one, one), (one.copy(), one))
    for other in ((one * (1 + 1e-9), one), (one[:2], one), (one,)):
        with pytest.raises(AssertionError):
            assert_same((one, one), other)


@needs_native
@pytest.mark.parametrize("kind", ["random", "tied", "kink"])
@pytest.mark.parametrize(("n_groups", "most"), [(0, 1), (1, 1), (5, 1), (40, 3), (300, 17)])
def test_native_groups_match_reference(n_groups, most, kind):
    args = group_case(n_groups, most, kind)
    assert_same(compiled.group_hinges(*args), reference.group_hinges(*args))


def test_same_bits_for_any_number_of_threads():
    args = group_case(20_000, 3)
    first, *others = (_loops.group_hinges(*args, n_jobs=n_jobs) for n_jobs in (1, 2, 5))
    for other in others:
        assert [part.tobytes() for part in other] == [part.tobytes() for part in first]


@pytest.mark.parametrize("loss", [Hinge(), SmoothedHinge(0.4)], ids=str)
def test_group_hinges_are_the_losses_of_every_triplet(loss):
    smoothing = getattr(loss, "smoothing", 0.0)
    near, near_start, far, far_start, weights, pull, push, margin, _ = group_case(40, 3)
    value, near_derivative, far_derivative = np.zeros(40), np.zeros(len(near)), np.zeros(len(far))
    for group in range(40):
        for j in range(near_start[group], near_start[group + 1]):
            for k in range(far_start[group], far_start[group + 1]):
                violation = np.array(margin + near[j] - far[k])
                value[group] += loss.value(violation)
                near_derivative[j] += loss.derivative(violation)
                far_derivative[k] += loss.derivative(violation)
    assert value.any()
    near_weights, far_weights = (
        np.repeat(weights, np.diff(start)) for start in (near_start, far_start)
    )
    near_derivative = near_weights * (pull + push * near_derivative)
    far_derivative *= -push * far_weights
    args = near, near_start, far, far_start, weights, pull, push, margin, smoothing
    assert_same(reference.group_hinges(*args), (value, near_derivative, far_derivative))


@pytest.mark.parametrize("loops", [_loops, reference], ids=["chosen", "reference"])
def test_groups_in_given_memory(loops):
    args = group_case(40, 3)
    expected = loops.group_hinges(*args)
    memory = Hinges(*(np.full(len(part), np.nan) for part in expected))
    assert loops.group_hinges(*args, out=memory) is memory
    assert_same(memory, expected)


def test_bad_groups_raise():
    near, far = np.zeros(2), np.zeros(4)

    def hinges(near_start=(0, 2), far_start=(0, 4), weights=(1.0,), margin=1.0, smoothing=0.0):
        starts = (np.array(start, dtype=np.int64) for start in (near_start, far_start))
        near_start, far_start = starts
        args = near, near_start, far, far_start, np.array(weights), 0.5, 0.5
        return _loops.group_hinges(*args, margin, smoothing)

    for words, call in [
        ("near_start must rise from 0 to 2", lambda: hinges(near_start=(0, 3))),
        ("far_start must rise from 0 to 4", lambda: hinges(far_start=(0, 5, 4))),
        ("must have the same length", lambda: hinges(far_start=(0, 1, 4))),
        ("weights must hold 1 values, one per group", lambda: hinges(weights=(1.0, 2.0))),
        ("smoothing at least 0", lambda: hinges(smoothing=-1.0)),
    ]:
        with pytest.raises(ValueError, match=words):
            call()


@needs_native
def test_native_groups_check_for_themselves():
    out, bounds = np.zeros(2), np.array([0, 2])

    def hinges(
        near_start=bounds, far_start=bounds, weights=out[:1], value=out[:1], derivative=out, end=1
    ):
        pairs = out, near_start, out, far_start
        return _native.group_hinges(
            *pairs, weights, 0.5, 0.5, 1.0, 0.0, 0, end, value, derivative, out
        )

    hinges()
    for error, call in [
        (IndexError, lambda: hinges(near_start=bounds + 1)),
        (IndexError, lambda: hinges(far_start=np.array([-1, 2]))),
        (IndexError, lambda: hinges(end=2)),
        (ValueError, lambda: hinges(near_start=bounds[:0])),
        (ValueError, lambda: hinges(near_start=np.array([0, 1, 2]))),
        (ValueError, lambda: hinges(weights=out)),
        (ValueError, lambda: hinges(value=out)),
        (ValueError, lambda: hinges(derivative=out[:1])),
    ]:
        with pytest.raises(error):
            call()


def energy_case(name, n_points, sizes, k, kind="random"):
    """Squared distances and radii: random, on a grid, all equal, or of very different size."""
    random = np.random.default_rng(len(sizes) + k)
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    def draw(*shape):
        values = random.exponential(size=shape)
        if kind == "grid":
            return np.round(3 * values)
        if kind == "equal":
            return np.ones(shape)
        return values**8 if kind == "uneven" else values

    sqdist = draw(n_points, start[-1])
    shape = (n_points, len(sizes), k) if name == "anchor_hinges" else (k, start[-1])
    sqradii = draw(*shape)
    return lambda: ((sqdist, start, sqradii), {})


SIZES = [(1, 1), (2, 1, 3), (70, 0, 200, 65), (3,) * 40]


CASES = [
    (name, energy_case(name, n_points, sizes, k, kind))
    for name in ("anchor_hinges", "impostor_hinges")
    for n_points, k in ((0, 1), (4, 1), (5, 3))
    for sizes in SIZES
    for kind in ("random", "grid", "equal", "uneven")
]


def outcome(loop, case):
    """Return everything that a loop says and leaves behind."""
    args, options = case()
    found = loop(*args, **options)
    said = found if isinstance(found, tuple) else [] if found is None else [found]
    return [np.asarray(part, dtype=np.float64) for part in (*said, *args) if part is not None]


@needs_native
@pytest.mark.parametrize(("name", "case"), CASES, ids=lambda value: getattr(value, "real", value))
def test_native_energies_match_reference(name, case, instructions):
    found = outcome(getattr(compiled, name), case)
    expected = outcome(getattr(reference, name), case)
    for a, b in zip(found, expected, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12 * np.nanmax(np.abs(b), initial=0))


@needs_native
def test_bad_energies_are_refused():
    sqdist, start = np.ones((2, 3)), np.array([0, 1, 3])
    for wrong in ([0, 1, 2], [1, 1, 3], [0, 4, 3]):
        for loop, sqradii in (
            (compiled.anchor_hinges, np.ones((2, 2, 1))),
            (compiled.impostor_hinges, np.ones((1, 3))),
        ):
            loop(sqdist, start, sqradii)
            with pytest.raises(ValueError, match="rise from 0 to the number of columns"):
                loop(sqdist, np.array(wrong), sqradii)
    for sqradii in (np.ones((1, 2, 1)), np.ones((2, 3, 1)), np.ones((2, 2, 0))):
        with pytest.raises(ValueError, match="sqradii must have one row per row"):
            compiled.anchor_hinges(sqdist, start, sqradii)
    with pytest.raises(ValueError, match="sqradii must have one column per column"):
        compiled.impostor_hinges(sqdist, start, np.ones((1, 2)))
