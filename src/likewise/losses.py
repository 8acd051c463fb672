"""Losses of a violation: what a broken constraint costs, and the slope of that cost.

A violation ``v`` says by how much a constraint misses its margin: ``v = 1 - z`` where the
constraint wants ``z >= 1``. A loss knows nothing of data, metrics or margins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from likewise._validation import check_parameters, positive

Array = NDArray[Any]


class Loss(Protocol):
    """A convex, non-decreasing function of the violation."""

    def value(self, violation: Array) -> Array:
        """Cost of each violation."""
        ...

    def derivative(self, violation: Array) -> Array:
        """Slope of the cost; at a kink the smaller one."""
        ...


@dataclass(frozen=True)
class Hinge:
    """``max(v, 0)``: linear in what is missing.

    Examples
    --------
    >>> import numpy as np
    >>> Hinge().value(np.array([-1.0, 0.0, 2.0]))
    array([0., 0., 2.])
    """

    def value(self, violation: Array) -> Array:
        """Cost of each violation."""
        return np.maximum(violation, 0)

    def derivative(self, violation: Array) -> Array:
        """1 where the constraint is broken."""
        return (violation > 0).astype(violation.dtype)


@dataclass(frozen=True)
class SquaredHinge:
    """``max(v, 0)²``: smooth, and hard on large violations."""

    def value(self, violation: Array) -> Array:
        """Cost of each violation."""
        return np.square(np.maximum(violation, 0))

    def derivative(self, violation: Array) -> Array:
        """Twice what is missing."""
        return 2 * np.maximum(violation, 0)


@dataclass(frozen=True)
class Logistic:
    """``log(1 + exp(v - 1)) = log(1 + exp(-z))``: never quite satisfied."""

    def value(self, violation: Array) -> Array:
        """Cost of each violation."""
        return np.asarray(np.logaddexp(0, violation - 1))

    def derivative(self, violation: Array) -> Array:
        """Probability of the wrong answer."""
        return np.asarray(expit(violation - 1))


@dataclass(frozen=True)
class SmoothedHinge:
    """The hinge with its kink rounded over ``[0, width]`` (Huber): never above the hinge.

    ``v²/(2·width)`` up to ``v = width``, then ``v - width/2``; at most ``width/2`` below `Hinge`.
    """

    width: float

    def __post_init__(self) -> None:
        check_parameters("SmoothedHinge", {"width": self.width}, {"width": positive()})

    def value(self, violation: Array) -> Array:
        """Cost of each violation."""
        rounded = np.clip(violation, 0, self.width)
        linear = np.maximum(violation - self.width, 0)
        return np.asarray(np.square(rounded) / (2 * self.width) + linear)

    def derivative(self, violation: Array) -> Array:
        """Rises from 0 to 1 over the rounded part."""
        return np.asarray(np.clip(violation / self.width, 0, 1))
