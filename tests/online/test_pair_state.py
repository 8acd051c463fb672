"""The updates of (M, b) against plain loops: the same steps on every code path."""

from copy import deepcopy
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise._loops.pairs.types import VARIANTS, StepRule
from likewise.online import _pair_state
from likewise.online._pair_state import (
    PairState,
    differences_in_range,
    learn_differences,
    learn_one_difference,
    learn_one_pair,
)

PSD = ["end", "each", 1, 3]


def plain_loop(M, b, V, sign, rule, psd, watch=lambda M, b: None):
    """Return the result of one event at a time, with `eigh` for every projection."""
    M, losses, since = M.copy(), [], 0
    for v, y in zip(V, sign, strict=True):
        p = 1 - y * (b - v @ M @ v)
        losses.append(p)
        s = 1 + (v @ v) ** 2 + rule.relaxation
        soft = 1 / (2 * rule.C)
        tau = {
            "PA": max(p, 0) / s,
            "PA-I": min(rule.C, max(p, 0) / s),
            "PA-II": max(p, 0) / (s + soft),
            "PALS": p / (s + soft),
        }[rule.variant]
        if tau == 0 or abs(tau) < rule.tolerance or (y < 0 and not v.any()):
            continue
        M, b, since = M - tau * y * np.outer(v, v), b + tau * y, since + 1
        if psd == "each" or since == psd:
            values, vectors = np.linalg.eigh(M)
            M, b, since = (vectors * np.maximum(values, 0)) @ vectors.T, max(1.0, b), 0
        watch(M, b)
    return M, b, np.array(losses)


def stream(d, n, seed, spread=1.0):
    rng = np.random.default_rng(seed)
    V = rng.normal(size=(n, d)) * spread / d**0.5
    return V, rng.choice([-1.0, 1.0], n)


def start(d, psd, seed=0):
    root = np.random.default_rng(seed).normal(size=(max(1, d // 2), d)) / d
    return PairState.start(root.T @ root, 0.7, psd)


def assert_equals_loop(state, before, V, sign, rule, psd, rtol=1e-10):
    M, b, losses = plain_loop(before.dense(), before.b, V, sign, rule, psd)
    dense = state.dense()
    assert dense.tobytes() == np.ascontiguousarray(dense.T).tobytes()
    np.testing.assert_allclose(dense, M, rtol=rtol, atol=rtol * max(np.abs(M).max(), 1e-3))
    assert state.b == pytest.approx(b, rel=rtol, abs=rtol)
    hinge = np.maximum(losses, 0)
    assert state.cumulative_loss == pytest.approx(hinge.sum(), rel=rtol)
    assert state.mistakes == np.count_nonzero(np.where(sign > 0, losses > 1, losses >= 1))
    assert state.n_events == len(V)


def test_the_comparison_can_fail():
    V, sign = stream(4, 30, 0)
    rule, before = StepRule("PA"), start(4, "end")
    state = deepcopy(before)
    learn_differences(state, V, sign, rule, "end")
    assert_equals_loop(state, before, V, sign, rule, "end")
    for change in (
        lambda s: s.matrix.__setitem__((0, 1), s.matrix[0, 1] * (1 + 1e-8)),
        lambda s: setattr(s, "b", s.b * (1 + 1e-8)),
        lambda s: setattr(s, "mistakes", s.mistakes + 1),
        lambda s: setattr(s, "cumulative_loss", s.cumulative_loss * (1 + 1e-8)),
    ):
        changed = deepcopy(state)
        change(changed)
        with pytest.raises(AssertionError):
            assert_equals_loop(changed, before, V, sign, rule, "end")


@pytest.fixture(params=["as shipped", "small", "large"])
def path(request, monkeypatch):
    """Each code path, at a size where the plain loop is fast."""
    if request.param != "as shipped":
        large = request.param == "large"
        monkeypatch.setattr(_pair_state, "_LOOP_FEATURES", 0 if large else 1000)
        monkeypatch.setattr(_pair_state, "_LOOP_FEATURES_PSD", 0 if large else 1000)
        monkeypatch.setattr(_pair_state, "_BLOCK_PAIRS", 11 if large else 96)
        monkeypatch.setattr(_pair_state, "_MIN_BLOCK_PAIRS", 2 if large else 8)
    return request.param


@pytest.mark.parametrize("psd", PSD)
@pytest.mark.parametrize("variant", VARIANTS)
def test_block_equals_loop(path, variant, psd):
    for d, batch, tolerance in product((1, 3, 8, 21), (1, 7, 1000), (0.0, 0.05)):
        rule = StepRule(variant, 0.3, tolerance=tolerance)
        V, sign = stream(d, 60, seed=d, spread=1.3)
        V[5], sign[5] = 0, -1.0
        V[6], sign[6] = 0, 1.0
        before = start(d, psd)
        state = deepcopy(before)
        for begin in range(0, len(V), batch):
            learn_differences(
                state, V[begin : begin + batch], sign[begin : begin + batch], rule, psd
            )
        assert_equals_loop(state, before, V, sign, rule, psd)


@pytest.mark.parametrize("psd", PSD)
@pytest.mark.parametrize("d", [40, 41, 128, 129])
def test_both_sides_of_the_crossovers(d, psd):
    rule = StepRule("PA-I", 0.5)
    V, sign = stream(d, 250 if psd == "end" else 60, seed=d, spread=1.5)
    before = start(d, psd)
    state = deepcopy(before)
    learn_differences(state, V, sign, rule, psd)
    assert_equals_loop(state, before, V, sign, rule, psd)


@pytest.mark.parametrize("psd", PSD)
def test_one_by_one_equals_many(path, psd):
    V, sign = stream(13, 80, seed=2, spread=1.4)
    rule, before = StepRule("PALS", 0.4), start(13, psd)
    many, single, pairwise = (deepcopy(before) for _ in range(3))
    pairwise.scale = 4.0  # a power of two changes no bit
    losses = learn_differences(many, V, sign, rule, psd)
    zero = np.zeros(13)
    for v, y, loss in zip(V, sign, losses, strict=True):
        assert learn_one_difference(single, v, float(y), rule, psd) == pytest.approx(
            loss, abs=1e-10
        )
        assert learn_one_pair(pairwise, v / 4, zero, float(y), rule, psd) == pytest.approx(
            loss, abs=1e-10
        )
    for state in (single, pairwise):
        assert_equals_loop(state, before, V, sign, rule, psd)
        assert state.n_updates == many.n_updates


def test_a_copied_state_is_independent_and_gives_the_same_bits(path):
    for psd in PSD:
        before = start(9, psd)
        first, second, untouched = (deepcopy(before) for _ in range(3))
        V, sign = stream(9, 40, seed=4)
        losses = learn_differences(first, V, sign, StepRule("PA"), psd)
        again = learn_differences(second, V, sign, StepRule("PA"), psd)
        assert losses.tobytes() == again.tobytes()
        assert first.dense().tobytes() == second.dense().tobytes()
        assert first.b == second.b
        assert before.dense().tobytes() == untouched.dense().tobytes()
        assert (before.b, before.n_events) == (untouched.b, untouched.n_events)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    d=st.integers(1, 12),
    n=st.integers(0, 40),
    variant=st.sampled_from(VARIANTS),
    psd=st.sampled_from(PSD),
    log_C=st.floats(-3, 2),
    log_length=st.floats(-4, 1.0),
    few=st.booleans(),
    large=st.booleans(),
)
def test_any_stream(seed, d, n, variant, psd, log_C, log_length, few, large):
    V, sign = stream(d, n, seed, spread=10**log_length)
    if few and n:
        V = V[np.random.default_rng(seed).integers(0, min(3, n), n)].copy()
    with pytest.MonkeyPatch.context() as patch:
        if large:
            patch.setattr(_pair_state, "_LOOP_FEATURES", 0)
            patch.setattr(_pair_state, "_LOOP_FEATURES_PSD", 0)
        # After a PA step a repeated pair has a loss of rounding only: without a tolerance that
        # would be an update or not, and with it would shift when the next projection is due.
        rule, before = StepRule(variant, 10**log_C, tolerance=1e-9), start(d, psd, seed)
        state = deepcopy(before)
        learn_differences(state, V, sign, rule, psd)
        M, b, losses = plain_loop(before.dense(), before.b, V, sign, rule, psd)
        size = max(np.abs(M).max(), np.abs(before.dense()).max())
        np.testing.assert_allclose(state.dense(), M, rtol=0, atol=1e-9 * size)
        assert state.b == pytest.approx(b, rel=1e-9, abs=1e-9)
        assert state.cumulative_loss == pytest.approx(np.maximum(losses, 0).sum(), rel=1e-8)


def degenerate_stream(d, n, seed):
    """Return pairs that leave M nearly singular: repeated, in its range, outside, along an axis."""
    rng = np.random.default_rng(seed)
    V, sign = stream(d, n, seed, spread=1.5)
    V[::5] = V[rng.integers(0, 8, len(V[::5]))]  # repeated
    V[1::7, d // 2 :] = 0  # in a subspace
    V[2::11] = np.eye(d)[rng.integers(0, d, len(V[2::11]))]  # along an axis
    V[3::13] *= 1e-5  # tiny steps
    almost = V[4::17]
    almost[:, d // 2 :] *= 1e-7  # almost in a subspace
    return V, sign


def assert_every_projection_is_exact(d, n, seed, variant, monkeypatch, threshold):
    """Compare with eigh after every event, each time from the current M: errors cannot cancel."""
    monkeypatch.setattr(_pair_state, "_LOOP_FEATURES_PSD", threshold)
    rule = StepRule(variant, 0.5)
    V, sign = degenerate_stream(d, n, seed)
    state = start(d, "each", seed)
    for v, y in zip(V, sign, strict=True):
        before, b = state.dense().copy(), state.b
        learn_differences(state, v[None], np.array([y]), rule, "each")
        after = state.dense()
        M, new_b, _ = plain_loop(before, b, v[None], [y], rule, "each")
        size = np.trace(before) + abs(state.b - b) * (v @ v) + np.trace(after)
        assert np.linalg.eigvalsh(after)[0] >= -1e-12 * size
        np.testing.assert_allclose(after, M, rtol=0, atol=1e-11 * size)
        assert state.b == pytest.approx(new_b, rel=1e-10)


@pytest.mark.parametrize("variant", ["PA", "PALS"])
@pytest.mark.parametrize(("d", "threshold"), [(5, 1000), (5, 0), (24, 1000), (24, 0), (48, 40)])
def test_every_projection_equals_eigh(d, threshold, variant, monkeypatch):
    assert_every_projection_is_exact(d, 250, d, variant, monkeypatch, threshold)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(("d", "threshold"), [(5, 1000), (24, 1000), (24, 0), (48, 40), (64, 40)])
def test_every_projection_equals_eigh_in_a_long_stream(d, threshold, variant, seed, monkeypatch):
    assert_every_projection_is_exact(d, 4000, seed, variant, monkeypatch, threshold)


@pytest.mark.parametrize("d", [3, 50])
def test_pola_loss_bound(d):
    """Separable pairs: Σ ℓ² ≤ R (‖M*‖² + (b* - b₁)²) for R ≥ 1 + max ‖v‖⁴."""
    rng = np.random.default_rng(d)
    root = rng.normal(size=(d, d)) / d**0.5
    best = root.T @ root
    V = rng.normal(size=(3000, d)) / d**0.5
    q = np.einsum("nd,de,ne->n", V, best, V)
    middle = np.median(q)
    # Scale the model until every kept pair has margin 1.
    kept = np.abs(q - middle) > 0.05 * middle
    V, q = V[kept], q[kept]
    sign = np.where(q < middle, 1.0, -1.0)
    factor = 1 / np.abs(q - middle).min()
    best, threshold = best * factor, middle * factor
    assert threshold >= 1
    state = PairState.start(np.zeros((d, d)), 1.0, "each")
    losses = learn_differences(state, V, sign, StepRule("PA"), "each")
    R = 1 + (np.square(V).sum(axis=1) ** 2).max()
    bound = R * (np.square(best).sum() + (threshold - 1) ** 2)
    assert 0 < np.square(losses).sum() <= bound


def drift(n, seed=0, d=4):
    """Return the relative distance to a longdouble loop after n events, most of them updates."""
    rng = np.random.default_rng(seed)
    V = rng.normal(size=(n, d)) * 0.7
    sign = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    rule, state = StepRule("PALS", 0.5), PairState.start(np.eye(d), 1.0, "end")
    learn_differences(state, V, sign, rule, "end")
    # vvᵀ as one vector: a step is then one inner product and one addition.
    outer = np.einsum("ni,nj->nij", V.astype(np.longdouble), V).reshape(n, d * d)
    exact_s = 1 + np.square(np.einsum("nii->n", outer.reshape(n, d, d))) + np.longdouble(1)
    M, b = np.eye(d, dtype=np.longdouble).ravel(), np.longdouble(1)
    for k in range(n):
        y = sign[k]
        tau = (1 - y * (b - outer[k].dot(M))) / exact_s[k] * y
        M -= tau * outer[k]
        b += tau
    assert state.n_updates == n
    error = np.abs(state.dense().ravel() - M).max() / np.abs(M).max()
    return float(max(error, abs(state.b - b) / max(1, abs(b))))


def test_a_long_stream_does_not_drift():
    assert drift(100_000) < 1e-9


@pytest.mark.slow
def test_a_million_updates_do_not_drift():
    assert drift(1_000_000) < 1e-8


def test_differences_in_range():
    assert differences_in_range(np.empty((0, 3)))
    assert differences_in_range(np.array([[1e70, -1e70]]))
    for bad in (np.nan, np.inf, 1e80, 1e200):
        assert not differences_in_range(np.array([[1.0, 0.0], [bad, 0.0]]))
