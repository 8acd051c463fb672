"""Losses of a violation: what a broken constraint costs, and the slope of that cost.

A violation ``v`` says by how much a constraint misses its margin: ``v = 1 - z`` where the
constraint wants ``z >= 1``. A loss knows nothing of data, metrics or margins.

Seen from the dual, a constraint has a slope ``p`` between 0 and 1 (or without upper end), and the
conjugate ``sup_v pv - loss(v)`` is what that slope costs. Where p lies inside its range, its
violation is ``conjugate_derivative(p)``; at an end that it may reach, a multiplier takes the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from scipy.special import expit, logit, xlogy

from likewise._runtime.arrays import Array
from likewise._runtime.validation import check_parameters, positive


class Loss(Protocol):
    """A convex, non-decreasing function of the violation."""

    def value(self, violation: Array) -> Array:
        """Cost of each violation."""
        ...

    def derivative(self, violation: Array) -> Array:
        """Slope of the cost; at a kink the smaller one."""
        ...


class DualLoss(Loss, Protocol):
    """A loss that also knows its conjugate, as certificates of optimality need it.

    Attributes
    ----------
    reaches_zero, reaches_one : bool
        Whether the slope may be exactly 0 and whether it may be exactly 1. A slope that may not
        be 1 is either smaller of itself (logistic) or has no upper end (squared hinge).
    """

    reaches_zero: ClassVar[bool]
    reaches_one: ClassVar[bool]
    max_derivative: ClassVar[float]

    def conjugate(self, slope: Array) -> Array:
        """Return ``sup_v slope·v - loss(v)``."""
        ...

    def conjugate_derivative(self, slope: Array) -> Array:
        """Return the violation that has this slope, for slopes inside the range."""
        ...

    def conjugate_curvature(self, slope: Array) -> Array:
        """Return how fast that violation grows with the slope."""
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

    reaches_zero: ClassVar[bool] = True
    reaches_one: ClassVar[bool] = True
    max_derivative: ClassVar[float] = 1.0

    def value(self, violation: Array) -> Array:
        """Cost of each violation."""
        return np.maximum(violation, 0)

    def derivative(self, violation: Array) -> Array:
        """1 where the constraint is broken."""
        return (violation > 0).astype(violation.dtype)

    def conjugate(self, slope: Array) -> Array:
        """Zero: slopes cost nothing of themselves."""
        return np.zeros_like(slope)

    def conjugate_derivative(self, slope: Array) -> Array:
        """Zero: between the ends the constraint is met exactly."""
        return np.zeros_like(slope)

    def conjugate_curvature(self, slope: Array) -> Array:
        """Zero."""
        return np.zeros_like(slope)


@dataclass(frozen=True)
class SquaredHinge:
    """``max(v, 0)²``: smooth, and hard on large violations."""

    reaches_zero: ClassVar[bool] = True
    reaches_one: ClassVar[bool] = False
    max_derivative: ClassVar[float] = np.inf

    def value(self, violation: Array) -> Array:
        """Cost of each violation."""
        return np.square(np.maximum(violation, 0))

    def derivative(self, violation: Array) -> Array:
        """Twice what is missing."""
        return 2 * np.maximum(violation, 0)

    def conjugate(self, slope: Array) -> Array:
        """A quarter of the slope's square."""
        return np.square(slope) / 4

    def conjugate_derivative(self, slope: Array) -> Array:
        """Half the slope."""
        return slope / 2

    def conjugate_curvature(self, slope: Array) -> Array:
        """One half."""
        return np.full_like(slope, 0.5)


@dataclass(frozen=True)
class Logistic:
    """``log(1 + exp(v - 1)) = log(1 + exp(-z))``: never quite satisfied."""

    reaches_zero: ClassVar[bool] = False
    reaches_one: ClassVar[bool] = False
    max_derivative: ClassVar[float] = 1.0

    def value(self, violation: Array) -> Array:
        """Cost of each violation."""
        return np.asarray(np.logaddexp(0, violation - 1))

    def derivative(self, violation: Array) -> Array:
        """Probability of the wrong answer."""
        return np.asarray(expit(violation - 1))

    def conjugate(self, slope: Array) -> Array:
        """Return the slope less the entropy of that probability."""
        return np.asarray(slope + xlogy(slope, slope) + xlogy(1 - slope, 1 - slope))

    def conjugate_derivative(self, slope: Array) -> Array:
        """One more than the log odds."""
        return np.asarray(1 + logit(slope))

    def conjugate_curvature(self, slope: Array) -> Array:
        """Smallest at one half, and without bound towards the ends."""
        return np.asarray(1 / (slope * (1 - slope)))


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
