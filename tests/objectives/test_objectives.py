"""Objectives: the sum in the formula by loops, and a gradient that is its slope."""

import numpy as np
import pytest

from likewise.constraints import Pairs, Triplets
from likewise.losses import Hinge, Logistic, SmoothedHinge, SquaredHinge
from likewise.objectives import PairObjective, TripletObjective

LOSSES = [Hinge(), SquaredHinge(), Logistic(), SmoothedHinge(0.7)]
SHAPES = [(4, 4), (2, 4), (6, 4)]


def data(seed=0, n=12):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 4))
    X[3] = X[2]  # duplicates
    triplets = np.array([random.choice(n, 3, replace=False) for _ in range(30)])
    triplets[5] = triplets[4]  # a triplet twice counts twice
    pairs = Pairs(triplets[:, :2].astype(np.int64), random.random(30) < 0.5)
    return X, pairs, Triplets(triplets.astype(np.int64))


def build(kind, loss, X, pairs, triplets):
    if kind == "pairs":
        return PairObjective(X, pairs, loss, threshold=3.0, margin=0.5)
    return TripletObjective(X, triplets, loss, margin=0.5)


def by_the_formula(kind, loss, X, pairs, triplets, L):
    """The sum written out: one constraint, one component, one feature at a time."""

    def square(i, j):
        total = 0.0
        for row in L:
            total += sum(w * (a - b) for w, a, b in zip(row, X[i], X[j], strict=True)) ** 2
        return total

    total = 0.0
    if kind == "pairs":
        for (i, j), same in zip(pairs.index, pairs.same, strict=True):
            y = 1 if same else -1
            total += loss.value(np.array([0.5 - y * (3.0 - square(i, j))]))[0]
    else:
        for a, p, n in triplets.index:
            total += loss.value(np.array([0.5 + square(a, p) - square(a, n)]))[0]
    return total


def assert_gradient_is_the_slope(objective, L, rtol=1e-5):
    """Compare with central differences along every entry of L."""
    _, gradient = objective.value_and_gradient(L)
    assert gradient.shape == L.shape
    step = 1e-6
    slope = np.empty_like(L)
    for place in np.ndindex(L.shape):
        moved = np.zeros_like(L)
        moved[place] = step
        above, below = (objective.value_and_gradient(L + sign * moved)[0] for sign in (1, -1))
        slope[place] = (above - below) / (2 * step)
    assert np.abs(slope).max() > 1e-3, "a flat place proves nothing"
    np.testing.assert_allclose(gradient, slope, rtol=rtol, atol=rtol * np.abs(slope).max())


class Wrong:
    """An objective whose gradient is off in one way."""

    def __init__(self, objective, spoil):
        self.objective, self.spoil = objective, spoil

    def value_and_gradient(self, L):
        value, gradient = self.objective.value_and_gradient(L)
        return value, self.spoil(gradient)


def spoil_one_entry(gradient):
    gradient = gradient.copy()
    gradient.flat[np.abs(gradient).argmax()] *= 1.001
    return gradient


@pytest.mark.parametrize(
    "spoil", [lambda g: g / 2, lambda g: -g, lambda g: 1.0001 * g, spoil_one_entry, lambda g: g[:1]]
)
def test_the_slope_test_can_fail(spoil):
    X, pairs, triplets = data()
    L = np.random.default_rng(1).normal(size=(3, 4))
    right = build("pairs", Logistic(), X, pairs, triplets)
    assert_gradient_is_the_slope(right, L)
    with pytest.raises(AssertionError):
        assert_gradient_is_the_slope(Wrong(right, spoil), L)


def test_the_slope_test_refuses_a_flat_place():
    X, _, triplets = data()
    flat = TripletObjective(X, triplets, Hinge(), margin=-1e9)
    with pytest.raises(AssertionError, match="a flat place proves nothing"):
        assert_gradient_is_the_slope(flat, np.eye(4))


@pytest.mark.parametrize("kind", ["pairs", "triplets"])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_value_is_the_formula_and_gradient_its_slope(kind, loss, shape):
    X, pairs, triplets = data()
    L = np.random.default_rng(2).normal(size=shape) / 2
    objective = build(kind, loss, X, pairs, triplets)
    value, _ = objective.value_and_gradient(L)
    assert value == pytest.approx(by_the_formula(kind, loss, X, pairs, triplets, L), rel=1e-12)
    assert_gradient_is_the_slope(objective, L)


@pytest.mark.parametrize("kind", ["pairs", "triplets"])
def test_far_from_the_origin_nothing_is_lost(kind):
    X, pairs, triplets = data()
    X = np.round(X * 2**20) / 2**20  # so that the shift itself rounds nothing
    L = np.random.default_rng(3).normal(size=(4, 4))
    value, gradient = build(kind, Logistic(), X, pairs, triplets).value_and_gradient(L)
    far = build(kind, Logistic(), X + 2.0**20, pairs, triplets).value_and_gradient(L)
    assert far[0] == pytest.approx(value, rel=1e-14)
    np.testing.assert_allclose(far[1], gradient, rtol=1e-12)


@pytest.mark.parametrize("kind", ["pairs", "triplets"])
def test_a_first_row_far_off_costs_the_others_nothing(kind):
    X, pairs, triplets = data()
    L = np.random.default_rng(3).normal(size=(4, 4))
    value, gradient = build(kind, Logistic(), X, pairs, triplets).value_and_gradient(L)
    later = Pairs(pairs.index + 1, pairs.same), Triplets(triplets.index + 1)
    far = build(kind, Logistic(), np.vstack([np.full(4, 1e9), X]), *later).value_and_gradient(L)
    assert far[0] == pytest.approx(value, rel=1e-13)
    np.testing.assert_allclose(far[1], gradient, rtol=1e-11)


@pytest.mark.parametrize("kind", ["pairs", "triplets"])
def test_float32_rows_are_summed_in_float64(kind):
    X, pairs, triplets = data()
    X = X.astype(np.float32)
    L = np.random.default_rng(4).normal(size=(2, 4))
    value, gradient = build(kind, Logistic(), X, pairs, triplets).value_and_gradient(L)
    exact = build(kind, Logistic(), X.astype(np.float64), pairs, triplets).value_and_gradient(L)
    assert gradient.dtype == np.float64
    assert value == pytest.approx(exact[0], rel=1e-14)
    np.testing.assert_allclose(gradient, exact[1], rtol=1e-12)


@pytest.mark.parametrize("kind", ["pairs", "triplets"])
def test_many_blocks_are_one_sum(kind, monkeypatch):
    X, pairs, triplets = data()
    L = np.random.default_rng(5).normal(size=(3, 4))
    objective = build(kind, SquaredHinge(), X, pairs, triplets)
    value, gradient = objective.value_and_gradient(L)
    monkeypatch.setattr("likewise._numerics.products._SLICE", 2)
    monkeypatch.setattr("likewise._numerics.products._SUMS", 3)
    blocked = objective.value_and_gradient(L)
    assert blocked[0] == pytest.approx(value, rel=1e-13)
    np.testing.assert_allclose(blocked[1], gradient, rtol=1e-12)


@pytest.mark.parametrize("kind", ["pairs", "triplets"])
def test_the_same_bits_for_any_number_of_threads(kind):
    random = np.random.default_rng(6)
    X = random.normal(size=(5000, 4))
    index = np.array([random.choice(5000, 3, replace=False) for _ in range(500)], dtype=np.int64)
    pairs, triplets = Pairs(index[:, :2].copy(), random.random(500) < 0.5), Triplets(index)
    L = random.normal(size=(4, 4))
    answers = []
    for n_jobs in (1, 2, 5):
        if kind == "pairs":
            objective = PairObjective(X, pairs, n_jobs=n_jobs)
        else:
            objective = TripletObjective(X, triplets, n_jobs=n_jobs)
        answers.append(objective.value_and_gradient(L))
    for value, gradient in answers[1:]:
        assert value == answers[0][0]
        np.testing.assert_array_equal(gradient, answers[0][1])


def test_pairs_know_same_from_different():
    """One pair at squared distance 4 about the threshold 2: alike costs 3, different nothing."""
    X = np.array([[0.0], [2.0]])
    index = np.array([[0, 1]])
    for same, cost, slope in ((True, 3.0, 8.0), (False, 0.0, 0.0)):
        value, gradient = PairObjective(X, Pairs(index, np.array([same]))).value_and_gradient(
            np.eye(1)
        )
        assert value == cost
        assert gradient == slope
