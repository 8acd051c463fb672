"""Online steps on pairs: compiled against their NumPy twins, and the twins against plain loops."""

from functools import lru_cache

import numpy as np
import pytest
from loop_backends import INSTRUCTIONS, _native, needs_native

from likewise import _loops
from likewise._loops import pairs
from likewise._loops.pairs import reference, types
from likewise._loops.pairs.types import VARIANTS, LowRankMetric, StepRule

if INSTRUCTIONS:
    from likewise._loops.pairs import compiled

RULES = [
    StepRule(variant, C) for variant, C in zip(VARIANTS, (1.0, 0.05, 3.0, 0.3), strict=True)
] + [
    StepRule("PA", 1.0, relaxation=0.7),
    StepRule("PALS", 2.0, tolerance=0.02),
]
KINDS = ["random", "empty", "one", "zero vectors", "tiny", "huge", "repeated"]
FEATURES = [1, 5, 8, 13, 40]


def events_for(kind, d, seed=0, n=50):
    rng = np.random.default_rng(seed)
    n = {"empty": 0, "one": 1}.get(kind, n)
    V = rng.normal(size=(n, d)) / d**0.5
    if kind == "zero vectors":
        V[::3] = 0
    elif kind == "tiny":
        V *= 1e-120
    elif kind == "huge":
        V *= 1e70
    elif kind == "repeated":
        V = V[rng.integers(0, 5, n)].copy()
    return V, rng.choice([-1.0, 1.0], n), rng


def psd_matrix(rng, d, kind, scale=1.0):
    rank = d if kind != "random" else max(1, d // 2)
    root = rng.normal(size=(rank, d)) * scale
    M = root.T @ root
    return (M + M.T) / 2


def case_for(name, kind, d, rule, max_updates=10**9, seed=0):
    """Return fresh arguments of a loop on each call, because it changes them."""
    V, sign, rng = events_for(kind, d, seed)
    # A matrix that makes vᵀMv of the order of 1, whatever the length of v.
    scale = {"tiny": 1e60, "huge": 1e-70}.get(kind, 1.0)
    M = psd_matrix(rng, d, kind, scale)
    if name == "pair_differences":
        X = np.concatenate([V, rng.normal(size=(3, d)) * np.abs(V).max(initial=0)])
        X = X.astype(np.float32 if kind == "random" else np.float64)
        pairs = rng.integers(0, len(X), (len(V), 2))
        return lambda: (X, pairs, 0.7)
    if name == "triangle_quadratics":
        return lambda: (V, V @ np.tril(M), M.diagonal().copy())
    if name == "signed_rows":
        weights = np.where(rng.random(len(V)) < 0.2, 0.0, sign * rng.random(len(V)))
        return lambda: (V, weights)
    if name == "pair_step":
        V = V if len(V) else np.zeros((1, d))
        side = rng.normal(size=d) * np.abs(V).max(initial=0)
        return lambda: (M.copy(), 0.4, V[0] + side, side.copy(), 0.5, -1.0, rule)
    if name == "pair_steps":
        return lambda: (M.copy(), 0.4, V, sign, rule, max_updates)
    if name == "pair_block_steps":
        return lambda: (V, np.einsum("nd,de,ne->n", V, M, V), 0.4, sign, rule, max_updates)
    if name == "pair_gram_steps":
        q = np.einsum("nd,de,ne->n", V, M, V)
        return lambda: (V @ V.T, q.copy(), 0.4, sign, rule, max_updates)
    if name == "pair_psd_steps":
        return lambda: (M.copy(), 0.4, V, sign, rule)
    values = np.sort(rng.exponential(size=d)) * scale**2
    values[: d // 3] = 0
    return lambda: (
        LowRankMetric(values, np.zeros((60, d)), np.zeros(60), 0),
        *(0.4, V[:50], sign[:50], rule),
    )


def outcome(loop, args):
    """Return everything that a loop returns and changes, metrics as matrices."""
    found = loop(*args)
    parts = []
    for item in found if isinstance(found, tuple) else (found,):
        parts.extend(item if isinstance(item, tuple) else (item,))
    if isinstance(args[0], LowRankMetric):
        count = parts.pop()  # the rows of a matrix are not unique
        left = [args[0]._replace(used=count).dense()]
    else:
        left = [args[0], args[1]] if isinstance(args[1], np.ndarray) else [args[0]]
    return [np.asarray(part, dtype=np.float64) for part in (*parts, *left)]


def assert_same(found, expected, rtol, matrix_size=0.0):
    """Compare outcomes up to rtol of the largest value of each part, before or after."""
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert a.shape == b.shape
        with np.errstate(under="ignore"):
            size = np.abs(np.nan_to_num(b)).max(initial=matrix_size if b.ndim == 2 else 0)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * size)


def test_assert_same_can_fail():
    one = [np.ones(3), np.array(2.0)]
    assert_same(one, [part.copy() for part in one], 1e-12)
    for other in ([one[0] + 1e-9, one[1]], [one[0][:2], one[1]], [one[0]], [one[0], one[1] * 1.1]):
        with pytest.raises(AssertionError):
            assert_same(one, other, 1e-12)


@lru_cache
def expected_outcomes(name, kind, d):
    """The results of the twin for each rule; they serve all instruction sets."""
    return [
        outcome(getattr(reference, name), case_for(name, kind, d, rule, seed=number)())
        for number, rule in enumerate(RULES)
    ]


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e200])
def test_differences_that_are_not_finite_or_too_long_are_reported(bad):
    X = np.ones((3, 20))
    X[2, 7] = bad
    pairs = np.array([[0, 1], [1, 2], [2, 2]])
    assert not _loops.pair_differences(X, pairs, 1.0)[1] <= types.MAX_PAIR_SQNORM
    assert _loops.pair_differences(X, pairs[:1], 1.0)[1] == 0


@needs_native
def test_differences_of_rows_that_are_not_there():
    V = np.empty((1, 2))
    with pytest.raises(IndexError, match="within X"):
        _native.pair_differences(np.ones((3, 2)), np.array([[0, 3]]), 1.0, V)


@needs_native
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", FEATURES)
@pytest.mark.parametrize("name", [name for name in pairs.__all__ if "low" not in name])
def test_native_matches_reference(instructions, name, d, kind):
    for number, expected in enumerate(expected_outcomes(name, kind, d)):
        fresh = case_for(name, kind, d, RULES[number], seed=number)
        found = outcome(getattr(compiled, name), fresh())
        assert_same(found, expected, 1e-9, matrix_size=np.abs(fresh()[0]).max(initial=0))


@needs_native
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", FEATURES)
def test_native_in_an_eigenbasis_matches_reference(instructions, d, kind):
    """The compiled loop may stop earlier, for a new basis; up to there results are equal."""
    for number, rule in enumerate(RULES):
        metric, *rest, _ = case_for("low_rank_psd_steps", kind, d, rule, seed=number)()
        found = outcome(compiled.low_rank_psd_steps, (metric, *rest, rule))
        taken, (b, V, sign) = int(found[0]), rest
        assert taken >= min(1, len(V))
        expected = outcome(reference.low_rank_psd_steps, (metric, b, V[:taken], sign[:taken], rule))
        assert_same(found, expected, 1e-9, matrix_size=metric.values.max())


@needs_native
@pytest.mark.parametrize("name", ["pair_steps", "pair_block_steps", "pair_gram_steps"])
@pytest.mark.parametrize("max_updates", [0, 1, 2, 3, 17])
def test_cut_after_so_many_updates(name, max_updates):
    for rule in RULES:
        fresh = case_for(name, "random", 6, rule, max_updates)
        found = outcome(getattr(compiled, name), fresh())
        expected = outcome(getattr(reference, name), fresh())
        if name != "pair_steps":  # what lies behind the cut is not updated
            found[-1], expected[-1] = (x[-1][: int(x[0])] for x in (found, expected))
        assert_same(found, expected, 1e-10)
        taken, steps = int(expected[0]), expected[3]
        assert np.count_nonzero(steps) == max_updates
        if max_updates:
            assert steps[-1] != 0
        else:
            assert taken == 0


def test_twins_follow_the_definition():
    """One event at a time, from the formulas, with nothing shared with the twins."""
    rng = np.random.default_rng(5)
    for rule in RULES:
        M, b = psd_matrix(rng, 4, "full"), 0.3
        V, sign = rng.normal(size=(30, 4)), rng.choice([-1.0, 1.0], 30)
        V[3], sign[3] = 0, -1.0
        V[4], sign[4] = 0, 1.0
        found_M = M.copy()
        found = reference.pair_steps(found_M, b, V, sign, rule, 10**9)
        for k in range(30):
            v, y = V[k], sign[k]
            p = 1 - y * (b - v @ M @ v)
            s = 1 + np.linalg.norm(v) ** 4 + rule.relaxation
            tau = {
                "PA": max(p, 0) / s,
                "PA-I": min(rule.C, max(p, 0) / s),
                "PA-II": max(p, 0) / (s + 1 / (2 * rule.C)),
                "PALS": p / (s + 1 / (2 * rule.C)),
            }[rule.variant]
            if abs(tau) < rule.tolerance or (y < 0 and not v.any()):
                tau = 0.0
            M, b = M - tau * y * np.outer(v, v), b + tau * y
            np.testing.assert_allclose([found.losses[k], found.steps[k]], [p, tau], rtol=1e-9)
        np.testing.assert_allclose(found_M, M, rtol=1e-9, atol=1e-12)
        assert found.b == pytest.approx(b, rel=1e-9)


def test_step_leaves_the_pair_without_loss():
    """PA: the pair's loss becomes 0; PALS: p (1/2C) / (s + 1/2C); PA-II is max(0, PALS)."""
    rng = np.random.default_rng(6)
    for _ in range(50):
        d, y, C = rng.integers(1, 9), float(rng.choice([-1.0, 1.0])), 10 ** rng.uniform(-3, 2)
        M, v, b = psd_matrix(rng, d, "full"), rng.normal(size=d), rng.normal()
        p = 1 - y * (b - v @ M @ v)
        s, soft = 1 + (v @ v) ** 2, 1 / (2 * C)
        again = {}
        steps = {}
        for variant in VARIANTS:
            after, rule = M.copy(), StepRule(variant, C)
            loss, steps[variant], new_b = _loops.pair_step(after, b, v, 0 * v, 1.0, y, rule)
            assert loss == pytest.approx(p, rel=1e-12)
            again[variant] = 1 - y * (new_b - v @ after @ v)
        scale = 1e-12 * (1 + abs(p)) * s
        if p > 0:
            assert again["PA"] == pytest.approx(0, abs=scale)
        assert again["PALS"] == pytest.approx(p * soft / (s + soft), abs=scale)
        assert steps["PA-II"] == max(0, steps["PALS"])
        hard = _loops.pair_step(M.copy(), b, v, 0 * v, 1.0, y, StepRule("PA-II", 1e15))[1]
        assert hard == pytest.approx(steps["PA"], rel=1e-14)


@pytest.mark.parametrize("d", FEATURES)
@pytest.mark.parametrize("name", ["pair_step", "pair_steps", "pair_psd_steps"])
def test_matrix_stays_symmetric_to_the_last_bit(name, d):
    for rule in RULES:
        args = case_for(name, "random", d, rule)()
        getattr(_loops, name)(*args)
        assert args[0].tobytes() == args[0].T.tobytes()


def test_single_event_refuses_what_has_no_fourth_power():
    rule = StepRule("PA", 1.0)
    for loop in (_loops.pair_step, reference.pair_step):
        for first, scale in [
            ([np.nan, 0.0], 1.0),
            ([np.inf, 0.0], 1.0),
            ([1e76, 0.0], 1.0),
            ([1e60, 0.0], 1e20),
            ([1e200, 1.0], 1.0),
        ]:
            M = np.eye(2)
            loss, step, b = loop(M, 0.5, np.array(first), np.zeros(2), scale, 1.0, rule)
            assert np.isnan(loss)
            assert (step, b) == (0.0, 0.5)
            assert (np.eye(2) == M).all()
        assert loop(np.eye(2), 0.5, np.array([1e74, 0.0]), np.zeros(2), 1.0, 1.0, rule)[1] > 0


@needs_native
@pytest.mark.parametrize("variant", ["PA", "PALS"])
def test_no_small_negative_eigenvalue_is_missed(instructions, variant):
    """M of low rank and v almost in its range: the new eigenvalue lies just below zero."""
    for seed in range(1100, 1300):
        rng = np.random.default_rng(seed)
        d = int(rng.integers(2, 12))
        rank = int(rng.integers(1, d + 1))
        U = np.linalg.qr(rng.normal(size=(d, d)))[0][:, :rank]
        M = (U * 10.0 ** rng.uniform(-3, 0, rank)) @ U.T
        M = (M + M.T) / 2
        v = U @ rng.normal(size=rank) + 10.0 ** rng.uniform(-9, -3) * rng.normal(size=d)
        b, y = rng.choice([0.0, 3.0, -3.0]), rng.choice([1.0, -1.0])
        args = b, v[None].copy(), np.array([y]), StepRule(variant, 1.0)
        size = np.trace(M) + abs(1 - y * (b - v @ M @ v)) / (1 + (v @ v) ** 2) * (v @ v)
        found, expected = M.copy(), M.copy()
        compiled.pair_psd_steps(found, *args)
        reference.pair_psd_steps(expected, *args)
        assert np.linalg.eigvalsh(found)[0] >= -4e-13 * size
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * size)


@needs_native
def test_native_checks_for_itself():
    M, V, two, rule = np.eye(3), np.zeros((2, 3)), np.ones(2), (0, 1.0, 0.0, 0.0)
    out = np.zeros(2), np.zeros(2)
    steps, block = _native.pair_steps, _native.pair_block_steps
    side = np.zeros(3)
    for error, call in [
        (TypeError, lambda: steps(np.asfortranarray(M[:, :2]), 0.0, V, two, *rule, 9, *out)),
        (TypeError, lambda: steps(M.astype(np.float32), 0.0, V, two, *rule, 9, *out)),
        (TypeError, lambda: steps(M, 0.0, np.asfortranarray(V), two, *rule, 9, *out)),
        (TypeError, lambda: steps(M, 0.0, V, two.astype(int), *rule, 9, *out)),
        (ValueError, lambda: steps(M, 0.0, V, np.ones(3), *rule, 9, *out)),
        (ValueError, lambda: steps(M, 0.0, V, two, *rule, 9, out[0], np.zeros(1))),
        (ValueError, lambda: steps(np.eye(2), 0.0, V, two, *rule, 9, *out)),
        (ValueError, lambda: steps(M, 0.0, V, two, 4, 1.0, 0.0, 0.0, 9, *out)),
        (ValueError, lambda: block(V, np.zeros(3), 0.0, two, *rule, 9, *out)),
        (ValueError, lambda: _native.pair_gram_steps(V, two, 0.0, two, *rule, 9, *out)),
        (ValueError, lambda: _native.pair_psd_steps(np.eye(2), 0.0, V, two, *rule, *out)),
        (ValueError, lambda: _native.pair_step(M, 0.0, side, side[:2], 1.0, 1.0, *rule)),
        (ValueError, lambda: _native.pair_step(np.eye(2), 0.0, side, side, 1.0, 1.0, *rule)),
        (TypeError, lambda: _native.pair_step(M, 0.0, V[:, :1].ravel(), V, 1.0, 1.0, *rule)),
        (
            ValueError,
            lambda: _native.low_rank_psd_steps(side, M, side, 4, 0.0, V, two, *rule, *out),
        ),
        (
            ValueError,
            lambda: _native.low_rank_psd_steps(two, M, side, 0, 0.0, V, two, *rule, *out),
        ),
        (
            ValueError,
            lambda: _native.low_rank_psd_steps(side, M, two, 0, 0.0, V, two, *rule, *out),
        ),
    ]:
        with pytest.raises(error):
            call()


def test_rule_knows_its_variants():
    assert [StepRule(variant).code for variant in VARIANTS] == [0, 1, 2, 3]
    assert np.isfinite(types.MAX_PAIR_SQNORM**2)
