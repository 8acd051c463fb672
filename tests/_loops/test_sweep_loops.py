"""Passes over dual variables: compiled against their NumPy twins, and those against the dual."""

import math

import numpy as np
import pytest
from loop_backends import INSTRUCTIONS, needs_native

from likewise._loops.sweeps import reference

if INSTRUCTIONS:
    from likewise._loops.sweeps import compiled


def margin_case(d, triplets, curvature=0.0, upper_bound=0.7):
    random = np.random.default_rng(d)
    V = random.normal(size=(30, d))
    V[4] = 0
    n = 50
    far, near = random.integers(30, size=(2, n))
    near[3] = far[3]  # a matrix of zero
    X = np.einsum("ni,nj->nij", V[far], V[far])
    if triplets:
        X -= np.einsum("ni,nj->nij", V[near], V[near])
    sign = np.ones(n) if triplets else np.where(np.arange(n) % 2, 1.0, -1.0)
    multipliers = 0.05 * random.random(n)
    M = np.einsum("n,nij->ij", multipliers * sign, X)
    order, norms = random.permutation(n)[:40], (X**2).sum(axis=(1, 2))

    def fresh():
        return multipliers.copy(), np.zeros(n)

    return lambda: (
        (M.copy(), V, far, near if triplets else None, sign, norms, *fresh(), order),
        {
            "b": -0.5,
            "upper_bound": upper_bound,
            "curvature": curvature,
            "penalty": 0.0 if triplets else 1.5,
        },
    )


CASES = [("margin_sweep", margin_case(d, t)) for d in (1, 3, 8, 19, 40) for t in (False, True)] + [
    ("margin_sweep", margin_case(4, t, 0.3, math.inf)) for t in (False, True)
]


def outcome(loop, case):
    """Return everything that a loop returns and changes."""
    args, options = case()
    found = loop(*args, **options)
    said = found if isinstance(found, tuple) else [] if found is None else [found]
    return [np.asarray(part, dtype=np.float64) for part in (*said, *args) if part is not None]


@needs_native
@pytest.mark.parametrize(("name", "case"), CASES, ids=lambda value: getattr(value, "real", value))
def test_native_matches_reference(name, case, instructions):
    found = outcome(getattr(compiled, name), case)
    expected = outcome(getattr(reference, name), case)
    for a, b in zip(found, expected, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12 * np.nanmax(np.abs(b), initial=0))


@pytest.mark.parametrize("triplets", [False, True])
def test_a_margin_sweep_makes_each_multiplier_best_in_turn(triplets):
    """The dual objective, along one multiplier, has its maximum at the value that it gets."""
    args, options = margin_case(3, triplets, curvature=0.2)()
    M, V, far, near, sign, _, multipliers, _, order = args
    first = multipliers.copy()
    X = np.einsum("ni,nj->nij", V[far], V[far])
    if triplets:
        X = X - np.einsum("ni,nj->nij", V[near], V[near])

    def dual(values):
        A = np.einsum("n,nij->ij", values * sign, X)
        even = (values - first) @ sign
        charged = options["b"] * even + options["penalty"] * even**2 / 2
        return values.sum() - 0.1 * (values**2).sum() - (A**2).sum() / 2 - charged

    b = reference.margin_sweep(*args[:-1], order[:1], **options)
    k = order[0]
    for other in np.linspace(0, options["upper_bound"], 101):
        moved = multipliers.copy()
        moved[k] = other
        assert dual(moved) <= dual(multipliers) + 1e-12
    np.testing.assert_allclose(M, np.einsum("n,nij->ij", multipliers * sign, X), atol=1e-12)
    expected = options["b"] + options["penalty"] * float((multipliers - first) @ sign)
    assert b == pytest.approx(expected)


@needs_native
def test_bad_shapes_raise():
    floats = np.zeros(2)
    args, options = margin_case(3, True)()
    with pytest.raises(ValueError, match="M must be square"):
        compiled.margin_sweep(np.eye(4), *args[1:], **options)
    with pytest.raises(IndexError, match="order must hold numbers of constraints"):
        compiled.margin_sweep(*args[:-1], np.array([50]), **options)
    with pytest.raises(IndexError, match="far and near must be row numbers"):
        compiled.margin_sweep(*args[:3], args[3] + 30, *args[4:], **options)
    with pytest.raises(ValueError, match="one value per constraint"):
        compiled.margin_sweep(*args[:5], floats, *args[6:], **options)
