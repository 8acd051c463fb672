"""Steps of PAMetric against the constrained problems that they solve, by an independent solver.

Equations are those of Pérez-Suay et al. 2013: (4)-(5) for PA, (6)-(8) for PA-I, the same with a
squared penalty and no (8) for PA-II, and (14)-(15) for PALS.
"""

import cvxpy as cp
import numpy as np
import pytest

import likewise as lw


def solved(M_now, b_now, v, y, variant, C):
    """Solve the problem of one pair."""
    M, b, xi = cp.Variable(M_now.shape, symmetric=True), cp.Variable(), cp.Variable()
    signed_loss = 1 - y * (b - cp.sum(cp.multiply(np.outer(v, v), M)))
    closeness = cp.sum_squares(M - M_now) / 2 + cp.square(b - b_now) / 2
    objective, constraints = {
        "PA": (closeness, [signed_loss <= 0]),
        "PA-I": (closeness + C * xi, [signed_loss <= xi, xi >= 0]),
        "PA-II": (closeness + C * cp.square(xi), [signed_loss <= xi]),
        "PALS": (closeness + C * cp.square(xi), [signed_loss == xi]),
    }[variant]
    problem = cp.Problem(cp.Minimize(objective), constraints)
    options = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}
    problem.solve(solver=cp.CLARABEL, **options)
    assert problem.status == "optimal"
    return M.value, float(b.value)


@pytest.mark.parametrize("C", [0.02, 0.3, 5.0])
@pytest.mark.parametrize("variant", ["PA", "PA-I", "PA-II", "PALS"])
def test_a_step_solves_the_problem_of_its_pair(variant, C):
    rng = np.random.default_rng(0)
    d = 3
    model = lw.PAMetric(variant, C=C, scale=1.0)
    moved = still = 0
    for _ in range(25):
        first, second = rng.normal(size=(2, d))
        v, y = first - second, rng.choice([-1, 1])
        before = (model._state.dense().copy(), model.b_) if moved else (np.zeros((d, d)), 0.0)
        loss = model.learn_pair(first, second, y)
        M, b = solved(*before, v, y, variant, C)
        np.testing.assert_allclose(model._state.dense(), M, atol=2e-6)
        assert model.b_ == pytest.approx(b, abs=2e-6)
        moved += loss > 0
        still += loss == 0
    assert moved > 3
    if variant == "PA":
        assert still > 3, "some pairs need no step"
    assert np.linalg.eigvalsh(model._state.dense())[0] < 0, "M is not constrained here"


@pytest.mark.parametrize("variant", ["PA", "PA-I", "PA-II", "PALS"])
def test_a_projected_step_ends_at_the_nearest_admissible_model(variant):
    """(+): after the step, M is projected on the PSD cone and b on [1, ∞), each by a solver."""
    rng = np.random.default_rng(1)
    model, d = lw.PAMetric(variant, C=0.5, psd="each", scale=1.0), 3
    M_now, b_now = np.zeros((d, d)), 0.0
    cut = 0
    for _ in range(15):
        first, second = rng.normal(size=(2, d))
        y = rng.choice([-1, 1])
        model.learn_pair(first, second, y)
        M, b = solved(M_now, b_now, first - second, y, variant, 0.5)
        if not np.allclose(M, M_now, atol=1e-7):
            nearest = cp.Variable((d, d), PSD=True)
            precise = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}
            problem = cp.Problem(cp.Minimize(cp.sum_squares(nearest - M)))
            problem.solve(solver=cp.CLARABEL, **precise)
            cut += np.linalg.eigvalsh(M)[0] < -1e-6
            M, b = nearest.value, max(1.0, b)
        np.testing.assert_allclose(model._state.dense(), M, atol=1e-5)
        assert model.b_ == pytest.approx(b, abs=1e-5)
        M_now, b_now = model._state.dense().copy(), model.b_
    assert cut > 1
