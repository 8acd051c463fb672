"""Loops of online classifiers: compiled against their NumPy twins, on every instruction set."""

import itertools
from functools import lru_cache

import numpy as np
import pytest
from loop_backends import INSTRUCTIONS, needs_native

from likewise import _loops
from likewise._loops.checks import padded
from likewise._loops.classifiers import reference, types
from likewise._loops.classifiers.types import ClassifierRule, Kind, Sketch

if INSTRUCTIONS:
    from likewise._loops.classifiers import compiled

STREAMS = ["random", "empty", "one", "zero rows", "tiny", "huge", "repeated", "sparse"]
FIRST_ORDER = (Kind.PERCEPTRON, Kind.PAUM)


def rows_for(stream, d, n_models, seed, n=40):
    rng = np.random.default_rng(seed)
    n = {"empty": 0, "one": 1}.get(stream, n)
    X = rng.normal(size=(n, d))
    labels = rng.integers(0, max(2, n_models), n)
    if stream == "zero rows":
        X[::3] = 0
    elif stream == "tiny":
        X *= 1e-45
    elif stream == "huge":
        X *= 1e45
    elif stream == "repeated":
        X = X[rng.integers(0, 4, n)].copy()
    elif stream == "sparse":
        X *= rng.random(X.shape) < 0.3
    return X, labels, rng


def rule_for(kind, bias, radius=0.0):
    return ClassifierRule(kind, 0.7, 1.0, 0.5, radius, bias)


def case_for(name, kind, stream, d, n_models, top2, bias, seed=0):
    """Return fresh arguments of a loop on each call, because it changes them."""
    X, labels, rng = rows_for(stream, d, n_models, seed)
    width = d + bool(bias)
    # With variances of the order of 1/‖x‖² the steps are ordinary ones, whatever the length.
    scale = {"tiny": 1e90, "huge": 1e-90}.get(stream, 1.0)
    rule = rule_for(kind, bias * scale**-0.5, radius=float(seed % 2))
    W, max_sqnorm = 0.1 * rng.normal(size=(n_models, width)) * scale**0.5, np.zeros(n_models)

    def arguments():
        start = W.copy(), max_sqnorm.copy()
        if name.startswith("dense first"):
            return *start[:1], np.empty((0, 0)), start[1], X, labels, top2, rule
        if name.startswith("dense"):
            precision = np.full(W.shape, 1 / scale)
            return *start[:1], precision, start[1], X, labels, top2, rule
        if name == "csr":
            stored = X != 0
            starts = np.concatenate([[0], np.cumsum(stored.sum(axis=1))]).astype(np.int64)
            features = np.nonzero(stored)[1].astype(np.int32)
            precision = np.full(W.shape, 1 / scale)
            table = X[stored], features, starts, d
            return *start[:1], precision, start[1], *table, labels, top2, rule
        if name == "factor":
            columns = np.zeros((n_models, width, padded(width)))
            diagonal = np.full(W.shape, scale)
            return *start[:1], columns, diagonal, start[1], X, labels, top2, 25, rule
        capacity = 30
        sketch = Sketch(
            basis=np.zeros((n_models, capacity, width)),
            spanned=np.zeros(n_models, dtype=np.int64),
            rows=np.zeros((n_models, capacity, capacity)),
            used=np.zeros(n_models, dtype=np.int64),
            columns=np.zeros((n_models, capacity, padded(capacity))),
            diagonal=np.full((n_models, capacity), scale),
            trace=np.full(n_models, 1 / scale),
            sums=np.zeros((n_models, width)),
        )
        return *start[:1], sketch, start[1], X, labels, top2, rule

    return arguments


LOOP_OF = {
    "dense first order": "dense_events",
    "dense diagonal": "dense_events",
    "csr": "csr_events",
    "factor": "factor_events",
    "low rank": "low_rank_events",
}


def outcome(loop, args):
    """Return everything that a loop returns and changes."""
    found = loop(*args)
    flat = [part for arg in args for part in (arg if isinstance(arg, Sketch) else (arg,))]
    left = [arg for arg in flat if isinstance(arg, np.ndarray) and arg.dtype.kind in "fi"]
    return [np.asarray(part, dtype=np.float64) for part in (*found, *left)]


def assert_same(found, expected, rtol):
    """Compare outcomes up to rtol of the largest value of each part."""
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * np.abs(b).max(initial=0))


def test_assert_same_can_fail():
    one = [np.ones(3), np.array(2.0)]
    assert_same(one, [part.copy() for part in one], 1e-12)
    for other in ([one[0] + 1e-9, one[1]], [one[0][:2], one[1]], [one[0]], [one[0], one[1] * 1.1]):
        with pytest.raises(AssertionError):
            assert_same(one, other, 1e-12)


SETTINGS = [(1, False, 0.0), (1, False, 1.0), (3, False, 1.0), (3, True, 1.0)]


@lru_cache
def cases_with_outcomes(name, d, stream):
    """Fresh arguments, and the results of the twin; they serve all instruction sets."""
    cases = []
    for seed, (kind, setting) in enumerate(itertools.product(Kind, SETTINGS)):
        n_models, top2, _ = setting
        second_order = name != "dense first order"
        # Whoever sets a limit gives a single model.
        limited = name in ("factor", "low rank") and n_models > 1 and not top2
        if limited or (second_order and kind in FIRST_ORDER):
            continue
        fresh = case_for(name, kind, stream, d, *setting, seed)
        cases.append((fresh, outcome(getattr(reference, LOOP_OF[name]), fresh())))
    return cases


@needs_native
@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("d", [1, 8, 19])
@pytest.mark.parametrize("name", LOOP_OF)
def test_native_matches_reference(instructions, name, d, stream):
    for fresh, expected in cases_with_outcomes(name, d, stream):
        assert_same(outcome(getattr(compiled, LOOP_OF[name]), fresh()), expected, 1e-9)


@needs_native
@pytest.mark.parametrize("top2", [False, True])
def test_single_event_is_a_stream_of_one(instructions, top2):
    rng = np.random.default_rng(3)
    for kind in Kind:
        for n_models in (2, 3) if top2 else (1, 3):
            rule = rule_for(kind, 1.0)
            W, max_sqnorm = rng.normal(size=(n_models, 6)), np.zeros(n_models)
            precision = np.empty((0, 0)) if kind in FIRST_ORDER else np.ones((n_models, 6))
            x, label = rng.normal(size=5), 1
            for loops in (compiled, reference):
                left = W.copy(), precision.copy(), max_sqnorm.copy()
                right = W.copy(), precision.copy(), max_sqnorm.copy()
                one = loops.event_learner(*left, top2, rule)(x, label)
                many = loops.dense_events(*right, x[None], np.array([label]), top2, rule)
                assert_same(left, right, 0)
                margin = types.margins(many[0], np.array([label]))[0]
                assert one == (margin, types.predicted(many[0])[0], many[1])


def test_single_event_refuses_what_cannot_be_learned():
    rule, none = rule_for(Kind.PA_I, 0.0), np.empty((0, 0))
    for loop in (_loops.event_learner, reference.event_learner):
        W = np.ones((1, 2))
        learn = loop(W, none, np.zeros(1), False, rule)
        for bad in (np.nan, np.inf, 1e51, 1e200):
            margin, *rest = learn(np.array([1.0, bad]), 1)
            assert np.isnan(margin)
            assert rest == [False, 0]
            assert (W == 1).all()
        assert learn(np.array([1e49, 0.0]), 0)[2] == 1
        with pytest.raises(ValueError, match="as many features"):
            learn(np.ones(3), 0)


@needs_native
@pytest.mark.parametrize("kind", [Kind.PA_I, Kind.CW, Kind.SECOND_ORDER_PERCEPTRON])
@pytest.mark.parametrize("with_forms", [False, True], ids=["", "quadratic forms"])
@pytest.mark.parametrize(
    "case", ["plain", "few known", "little capacity", "imprecise", "lost digits"]
)
def test_native_block_matches_reference(instructions, case, kind, with_forms):
    if case == "imprecise" and kind is Kind.SECOND_ORDER_PERCEPTRON:
        pytest.skip("the score of such a row is rounding, and so is whether it is a mistake")
    rng = np.random.default_rng(4)
    d, n = 13, 40
    X, labels = rng.normal(size=(n, d)), rng.integers(0, 2, n)
    root = rng.normal(size=(d, d)) / d**0.5
    if case == "imprecise":
        root[:, 0] = 1e-9 * rng.normal(size=d)  # Σ has almost nothing along one direction
        X[20] = np.linalg.inv(root.T)[:, 0] * 1e-9
    sigma = root @ root.T
    if case == "lost digits":
        X[5:9] = 1e4 * X[4]
    known_rows = np.arange(n) if case == "plain" else np.arange(0, n, 5)
    capacity = 7 if case == "little capacity" else 50
    for bias in (0.0, 1.0):
        if bias:
            X[:, -1] = 1
            X[3, :-1] = 0
        ends = []
        for loops in (compiled, reference):
            w, noted = np.zeros(d), (np.zeros((capacity, d)), np.zeros(capacity))
            scores, updates, trusted = loops.block_events(
                w,
                sigma,
                sigma.diagonal().copy(),
                X,
                labels,
                known_rows,
                X[known_rows] @ sigma,
                np.einsum("nd,de,ne->n", X, sigma, X) if with_forms else np.empty(0),
                *noted,
                rule_for(kind, bias),
            )
            ends.append([scores, updates, trusted, w, *noted])
        assert_same(
            [np.asarray(e, float) for e in ends[0]], [np.asarray(e, float) for e in ends[1]], 1e-9
        )
        if not bias:  # which gives the row that is hard to measure a length
            assert ends[0][2] == (case != "imprecise")
        if case == "little capacity":
            assert ends[0][1] == capacity


def test_confidence_step_solves_its_equation():
    """α is the root of the quadratic from which the closed covariance comes, in both branches."""
    rng = np.random.default_rng(5)
    signs = set()
    for _ in range(500):
        phi, u = 10.0 ** rng.uniform(-2, 1), 10.0 ** rng.uniform(-8, 8)
        m = phi * u - max(10.0 ** rng.uniform(-6, 6), 1e-6 * phi * u)
        alpha, c = ClassifierRule(Kind.CW, phi).step(m, u)
        after_m, after_u = m + alpha * u, u / (1 + c * u)
        size = abs(m) + alpha * u + phi * u
        assert after_m == pytest.approx(phi * after_u, abs=1e-12 * size)
        assert c == 2 * alpha * phi
        signs.add(1 + 2 * phi * m > 0)
    assert signs == {True, False}
