"""Adam: first-order steps on mini-batches."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from likewise._runtime.arrays import Array, IndexArray
from likewise.solvers._protocols import Iteration, Solution, Status, Watcher

_MEAN_DECAY, _SQUARE_DECAY = 0.9, 0.999


class SmoothSum(Protocol):
    """A sum over rows that can be estimated, with its gradient, from some of them."""

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        ...

    def batch_value_and_gradient(self, x: Array, batch: IndexArray) -> tuple[float, Array]:
        """Return estimates of value and gradient from the rows of `batch`."""
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
    """Minimise a sum over rows by steps on random batches of them.

    Parameters
    ----------
    objective : SmoothSum
    start : array
        First point, of any shape.
    max_iter : int
        Passes over the rows that are allowed.
    tol : float
        Converged when the mean of the batches' values changes by at most ``tol`` relative to it
        from one pass to the next.
    batch_size : int
        Rows a step.
    learning_rate : float
        Length of the first step of each entry, in units of the root mean square of `start`; it
        falls to zero over the passes as half a cosine.
    random : RandomState
        Draws the batches.
    watcher : callable, optional
        Called with an `Iteration` after each pass; returns True to stop.

    Returns
    -------
    Solution
        With ``history["objective"]``: the mean of the batches' values in each pass, also in one
        that was interrupted.

    Examples
    --------
    >>> import numpy as np
    >>> class Mean:  # of the numbers 0 to 9
    ...     n_rows = 10
    ...     def batch_value_and_gradient(self, x, batch):
    ...         return float(np.square(x - batch).mean()), 2 * (x - batch.mean())
    >>> options = {"batch_size": 5, "learning_rate": 0.1, "random": np.random.RandomState(0)}
    >>> float(adam(Mean(), np.ones(1), max_iter=200, tol=0, **options).x.round(1)[0])
    4.5
    """
    x = before = np.array(start, dtype=np.float64)
    length = learning_rate * (float(np.sqrt(np.square(x).mean())) or 1.0)
    mean, square = np.zeros_like(x), np.zeros_like(x)
    n_batches = max(1, objective.n_rows // batch_size)
    history: list[float] = []
    values: list[float] = []
    status: Status = "max_iter"
    steps = 0
    try:
        for number in range(1, max_iter + 1):
            for batch in np.array_split(random.permutation(objective.n_rows), n_batches):
                value, slope = objective.batch_value_and_gradient(x, np.sort(batch))
                if not np.isfinite(value) or not np.isfinite(slope).all():
                    if not steps:
                        return _solution(x, [value], "failed")
                    return _solution(before, [*history, *values[-1:]], "stalled")
                values.append(value)
                fraction = steps / (max_iter * n_batches)
                steps += 1
                mean += (1 - _MEAN_DECAY) * (slope - mean)
                square += (1 - _SQUARE_DECAY) * (np.square(slope) - square)
                unbiased = np.sqrt(square / (1 - _SQUARE_DECAY**steps))
                step = mean / (1 - _MEAN_DECAY**steps) / np.where(unbiased > 0, unbiased, 1)
                before, x = x, x - length * (1 + np.cos(np.pi * fraction)) / 2 * step
            history.append(float(np.mean(values)))
            values.clear()
            if watcher is not None and watcher(Iteration(number, x.copy(), history[-1])):
                status = "interrupted"
                break
            # A pass that made things worse has not converged, either.
            if number > 1 and abs(history[-2] - history[-1]) <= tol * abs(history[-1]):
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
