"""PLML's objective against loops over its formula, its gradient against finite differences."""

import numpy as np
import pytest

from likewise.constraints import triplets
from likewise.objectives import LocalMarginObjective
from likewise.solvers import project_to_simplex


def test_objective_and_gradient_match_loops():
    random = np.random.default_rng(2)
    X, codes = random.normal(size=(14, 3)), np.arange(14) % 2
    W = project_to_simplex(random.normal(size=(14, 2)))
    chosen = triplets(X, codes, 2, 2)
    objective = LocalMarginObjective(X, W, chosen, regularization=0.3, pull=0.2)
    factors = random.normal(size=(2, 3, 3))

    def local(i, j):
        v = X[i] - X[j]
        return sum(W[i, b] * v @ factors[b].T @ factors[b] @ v for b in range(2))

    expected = 0.0
    for i, j, k in chosen.index:
        violation = np.array(1 + local(i, j) - local(i, k))
        expected += (objective.loss.value(violation) + 0.2 * local(i, j)) / len(chosen)
    expected += 0.3 * sum(np.square(L.T @ L).sum() for L in factors)
    value, gradient = objective.value_and_gradient(factors)
    assert value == pytest.approx(float(expected), rel=1e-11)
    step = 1e-6 * random.normal(size=factors.shape)
    above, below = (objective.value_and_gradient(factors + s * step)[0] for s in (1, -1))
    assert above - below == pytest.approx(2 * np.vdot(gradient, step), rel=1e-5)
