"""Adam: stochastic gradient steps with adaptive step sizes."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from likewise._runtime.arrays import Array, IndexArray
from likewise.solvers._protocols import Iteration, Solution, Status, Watcher

_MEAN_DECAY, _SQUARE_DECAY = 0.9, 0.999


class SmoothSum(Protocol):
    """A sum over samples, which can be estimated with its gradient from a mini-batch."""

    @property
    def n_samples(self) -> int:
        """The number of terms of the sum."""
        ...

    def batch_value_and_gradient(self, x: Array, batch: IndexArray) -> tuple[float, Array]:
        """Return estimates of value and gradient from the samples of `batch`."""
        ...


def adam(
    objective: SmoothSum,
    start: Array,
    *,
    max_iter: int,
    tol: float,
    batch_size: int,
    learning_rate: float,
    random: np.random.RandomState,
    watcher: Watcher | None = None,
) -> Solution:
    """Minimise a sum over samples by steps on random mini-batches.

    Parameters
    ----------
    objective : SmoothSum
    start : array
        Initial point, of any shape.
    max_iter : int
        Maximum number of epochs (passes over the samples).
    tol : float
        Converged when the mean value over the batches of an epoch changes by at most ``tol``,
        relative to it, from one epoch to the next.
    batch_size : int
        Samples per step.
    learning_rate : float
        Initial step size of each entry, relative to the root mean square of `start`; it decays to
        zero along half a cosine.
    random : RandomState
        Draws the batches.
    watcher : callable, optional
        Called with an `Iteration` after each epoch; returns True to stop.

    Returns
    -------
    Solution
        ``history["objective"]`` has the mean value over the batches of each epoch, including one
        that was interrupted.

    Examples
    --------
    >>> import numpy as np
    >>> class Mean:  # of the numbers 0 to 9
    ...     n_samples = 10
    ...     def batch_value_and_gradient(self, x, batch):
    ...         return float(np.square(x - batch).mean()), 2 * (x - batch.mean())
    >>> options = {"batch_size": 5, "learning_rate": 0.1, "random": np.random.RandomState(0)}
    >>> float(adam(Mean(), np.ones(1), max_iter=200, tol=0, **options).x.round(1)[0])
    4.5
    """
    x = before = np.array(start, dtype=np.float64)
    step_size = learning_rate * (float(np.sqrt(np.square(x).mean())) or 1.0)
    mean, mean_square = np.zeros_like(x), np.zeros_like(x)
    n_batches = max(1, objective.n_samples // batch_size)
    history: list[float] = []
    values: list[float] = []
    status: Status = "max_iter"
    steps = 0
    try:
        for number in range(1, max_iter + 1):
            for batch in np.array_split(random.permutation(objective.n_samples), n_batches):
                value, gradient = objective.batch_value_and_gradient(x, np.sort(batch))
                if not np.isfinite(value) or not np.isfinite(gradient).all():
                    if not steps:
                        return _solution(x, [value], "failed")
                    return _solution(before, [*history, *values[-1:]], "stalled")
                values.append(value)
                fraction = steps / (max_iter * n_batches)
                steps += 1
                mean += (1 - _MEAN_DECAY) * (gradient - mean)
                mean_square += (1 - _SQUARE_DECAY) * (np.square(gradient) - mean_square)
                unbiased = np.sqrt(mean_square / (1 - _SQUARE_DECAY**steps))
                step = mean / (1 - _MEAN_DECAY**steps) / np.where(unbiased > 0, unbiased, 1)
                before, x = x, x - step_size * (1 + np.cos(np.pi * fraction)) / 2 * step
            history.append(float(np.mean(values)))
            values.clear()
            # An epoch that raised the value by more than tol has not converged, either.
            change = abs(history[-2] - history[-1]) if number > 1 else np.inf
            gap = change / (abs(history[-1]) or 1.0)
            if watcher is not None and watcher(Iteration(number, x.copy(), history[-1], gap)):
                status = "interrupted"
                break
            if gap <= tol:
                status = "converged"
                break
    except KeyboardInterrupt:
        if not steps:
            raise  # there is nothing to keep
        status = "interrupted"
        if values:
            history.append(float(np.mean(values)))
    return _solution(x, history, status)


def _solution(x: Array, history: list[float], status: Status) -> Solution:
    return Solution(
        x=x,
        value=history[-1],
        n_iter=len(history),
        status=status,
        history={"objective": np.asarray(history)},
    )
