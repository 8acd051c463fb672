"""Status of the margin solvers: converged, stopped by the watcher, out of steps, failed."""

import numpy as np
import pytest

from likewise.cones import PSD, ConicHull, Symmetric
from likewise.constraints import doublets
from likewise.losses import Hinge, Logistic
from likewise.objectives import ConstraintMatrices, MarginProblem
from likewise.solvers.margin._newton_steps import NewtonSteps

CONES = ["symmetric", "psd", "hull"]


def solve(cone, loss=None, n=40, scale=1.0, **options):
    random = np.random.default_rng(0)
    y = np.arange(n) % 2
    X = random.normal(size=(n, 3)) + y[:, None]
    matrices = ConstraintMatrices.from_pairs(scale * X, doublets(X, y, 2, 2))
    chosen = {"symmetric": Symmetric(), "psd": PSD(), "hull": ConicHull()}[cone]
    problem = MarginProblem(matrices, loss or Hinge(), 0.1)
    with np.errstate(all="ignore"):
        return chosen.minimise(problem, **{"max_iter": 200, "tol": 1e-6, **options})


@pytest.mark.parametrize("cone", CONES)
@pytest.mark.parametrize("n", [40, 200])
def test_a_watcher_is_called_at_every_step_and_can_stop(cone, n):
    seen = []

    def watcher(iteration):
        seen.append((iteration.number, iteration.value))
        return len(seen) == 3

    found = solve(cone, n=n, watcher=watcher)
    assert found.status == "interrupted"
    assert [number for number, _ in seen] == [1, 2, 3]
    assert [value for _, value in seen] == found.history["primal"][1:4].tolist()
    assert found.gap == found.history["gap"].min()


@pytest.mark.parametrize("cone", CONES)
def test_an_interrupt_before_the_first_point_is_kept_is_raised(cone, monkeypatch):
    """Not reported as an objective that is not finite."""

    def interrupted(primal, dual):
        raise KeyboardInterrupt

    monkeypatch.setattr("likewise.solvers.margin._run._relative_gap", interrupted)
    with pytest.raises(KeyboardInterrupt):
        solve(cone)


@pytest.mark.parametrize("cone", CONES)
def test_max_iter(cone):
    found = solve(cone, max_iter=2)
    assert (found.status, found.n_iter) == ("max_iter", 2)
    assert found.gap > 1e-6


@pytest.mark.parametrize("cone", CONES)
@pytest.mark.parametrize("loss", [Hinge(), Logistic()], ids=repr)
def test_overflow_fails(cone, loss):
    assert solve(cone, loss, scale=1e100).status == "failed"


def test_the_best_point_is_kept_when_a_step_fails(monkeypatch):
    step, taken = NewtonSteps._predictor_corrector_step, []

    def failing(self):
        taken.append(self)
        if len(taken) == 5:
            raise FloatingPointError
        step(self)

    monkeypatch.setattr(NewtonSteps, "_predictor_corrector_step", failing)
    found = solve("symmetric")
    assert found.status == "stalled"
    assert found.gap == found.history["gap"].min() < 1
    assert np.isfinite(found.x).all()
