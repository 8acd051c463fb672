"""What a solver may know of its problem, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from likewise._runtime.arrays import Array

Status = Literal["converged", "max_iter", "stalled", "interrupted", "failed"]
"""How a solver ended, in one vocabulary for all of them.

converged
    The stopping test was met.
max_iter
    The allowed iterations ran out first.
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
    """Where a solver stopped, and why."""

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
    """What a solver tells its watcher after each iteration."""

    number: int
    x: Array
    value: float


Watcher: TypeAlias = Callable[[Iteration], bool]
"""Called after each iteration; True asks the solver to stop."""
