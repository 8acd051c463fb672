"""Protocols of the problems that solvers take, and the results that they return."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from likewise._runtime.arrays import Array

Status = Literal["converged", "max_iter", "stalled", "interrupted", "failed"]
"""The status of a result, the same for all solvers.

converged
    The stopping test was met.
max_iter
    The maximum number of iterations was reached first.
stalled
    No further progress was possible although the stopping test was not met.
interrupted
    The user or a callback asked to stop; the best point so far is returned.
failed
    No usable point was found (the start has no finite value).
"""


class Smooth(Protocol):
    """A function with a gradient; `value_and_gradient` may be called at any point."""

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        """Return the value at `x` and the gradient, which has the shape of `x`."""
        ...


@dataclass(frozen=True)
class Solution:
    """The result of a solver."""

    x: Array
    value: float
    n_iter: int
    status: Status
    grad_norm: float | None = None
    gap: float | None = None
    multipliers: Array | None = None
    history: Mapping[str, Array] = field(default_factory=dict)


@dataclass(frozen=True)
class Iteration:
    """The state of a solver after an iteration, as its watcher gets it.

    Attributes
    ----------
    number : int
        Number of iterations so far.
    x : array
        The best point.
    value : float
        The objective.
    gap : float or None
        What the stopping test compares with the tolerance; None if there is no such number.
    """

    number: int
    x: Array
    value: float
    gap: float | None = None


Watcher: TypeAlias = Callable[[Iteration], bool]
"""Called after each iteration; True asks the solver to stop."""
