"""The LMNN objective over blocks: against that over all rows, and when results are waited for."""

import numpy as np
import pytest
from blocked_rows import blocked

from likewise.batch.lmnn.blocked_search import BlockedImpostorSearch
from likewise.batch.lmnn.blocked_targets import select_targets
from likewise.objectives.blocked import BlockedLargeMargin, MappedRows
from likewise.objectives.blocked.large_margin import _SUMMED_HERE, BlockedLoss


class CountingEngine:
    """An engine without workers that counts what is gathered."""

    n_jobs = 1

    def __init__(self):
        self.gathered = []

    def gather(self, handles):
        self.gathered.append(list(handles))
        return list(handles)


def test_a_loss_is_gathered_once_and_only_when_it_is_read():
    engine = CountingEngine()
    loss = BlockedLoss(engine, [[1.0, 10.0], [2.0, 20.0], [4.0, 40.0]])
    assert engine.gathered == []
    assert (loss.value, loss.lagrangian, loss.value) == (7.0, 70.0, 7.0)
    assert len(engine.gathered) == 1


def problem(n_blocks):
    random = np.random.default_rng(0)
    X, classes = random.normal(size=(160, 4)), random.integers(0, 3, 160)
    counts = [len(part) for part in np.array_split(X, n_blocks)]
    rows = blocked(X, classes, counts)
    Z = MappedRows(rows, np.eye(4))
    numbers = rows.engine.submit_each(
        np.arange, rows.starts.tolist(), (rows.starts + counts).tolist()
    )
    targets = select_targets(Z, numbers, 2)
    objective = BlockedLargeMargin(Z, targets, targets)
    sqdist = objective.sqdist(Z, targets)
    impostors, impostor_sqdist = BlockedImpostorSearch(targets, 1.0, rows)(Z, sqdist, 0.0)
    return X, classes, BlockedLargeMargin(Z, targets, impostors), sqdist, impostor_sqdist


MAPS = {
    "scaled": 0.25 * np.eye(4),
    "some columns": np.array([[0.0, 2.0, 0.0, 0.0], [0.0, 0.0, 0.0, -3.0]]),
    "a sum": np.random.default_rng(2).normal(size=(3, 4)),
    "none": np.zeros((0, 4)),
}


@pytest.mark.parametrize("L", MAPS.values(), ids=MAPS)
def test_moments_of_mapped_rows(L):
    random = np.random.default_rng(1)
    X = random.normal(size=(90, 4)) * [1, 10, 1e-3, 1] + [0, 1, 5, 0]
    rows = blocked(X, np.zeros(90, dtype=np.int64), [30, 45, 15])
    mapped, Z = MappedRows(rows, L), X @ L.T
    n = len(L)
    for axes in (np.eye(n), 2 * np.eye(n)[:1], random.normal(size=(2, n))):
        expected = Z @ axes.T
        means, covariance, largest = mapped.moments(np.arange(n), axes)
        np.testing.assert_allclose(means, expected.mean(axis=0), rtol=1e-12, atol=1e-13)
        centred = expected - expected.mean(axis=0)
        np.testing.assert_allclose(covariance, centred.T @ centred / 90, rtol=1e-10, atol=1e-14)
        np.testing.assert_allclose(largest, np.abs(expected).max(axis=0, initial=0), rtol=1e-12)
    assert mapped.mean_square() == pytest.approx(np.square(Z).sum() / 90, rel=1e-12)


def test_moments_of_the_rows_are_computed_once_for_all_maps(monkeypatch):
    rows = blocked(np.random.default_rng(0).normal(size=(20, 4)), np.zeros(20, np.int64), [8, 12])
    first, tasks, submit_each = MappedRows(rows, np.eye(4)), [], rows.engine.submit_each
    monkeypatch.setattr(
        rows.engine, "submit_each", lambda task, *a: tasks.append(task) or submit_each(task, *a)
    )
    first.search_frame()
    needed = len(tasks)
    assert needed > 0
    first.scaled(2.0).moments(np.arange(4), np.eye(4))
    first.mapped(MAPS["a sum"]).mean_square()
    assert len(tasks) == needed
    first.moments(np.arange(4), MAPS["a sum"])  # of sums of columns, which may cancel
    assert len(tasks) > needed


def loss_by_definition(X, classes, k=2, push=0.5, margin=1.0):
    """Return the loss of the paper, triplet by triplet."""
    sqdist = np.square(X[:, None] - X).sum(axis=2)
    total = 0.0
    for a, row in enumerate(sqdist):
        same = np.flatnonzero((classes == classes[a]) & (np.arange(len(X)) != a))
        for target in same[np.argsort(row[same], kind="stable")][:k]:
            total += (1 - push) * row[target]
            violations = margin + row[target] - row[classes != classes[a]]
            total += push * violations.clip(0).sum()
    return total


@pytest.mark.parametrize("n_blocks", [1, 3, _SUMMED_HERE + 7, 2 * _SUMMED_HERE + 1])
def test_the_loss_is_that_of_the_paper(n_blocks):
    X, classes, objective, targets, impostors = problem(n_blocks)
    expected = loss_by_definition(X, classes)
    loss = objective.loss(targets, impostors)
    assert loss.value == pytest.approx(expected, rel=1e-12)
    value, gradient = objective.value_and_gradient(np.eye(4))
    assert value == pytest.approx(expected, rel=1e-12)
    # A multiple of X has the same targets.
    steps = [loss_by_definition(t * X, classes) for t in (1 + 1e-6, 1 - 1e-6)]
    assert np.trace(gradient) == pytest.approx((steps[0] - steps[1]) / 2e-6, rel=1e-6)
    # Hinges without smoothing are linear between their kinks.
    assert objective.lagrangian(loss, targets, impostors) == pytest.approx(expected, rel=1e-12)
