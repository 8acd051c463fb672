"""Losses of a margin violation: value, derivative and, for certificates, the convex conjugate.

The violation of a constraint ``z >= 1`` is ``v = 1 - z``. A loss knows nothing of data, metrics or
margins.

In the dual problem a constraint with multiplier λ has the variable ``p = λ/C``, which is the
derivative of its loss at the optimum. p lies between 0 and `max_derivative`. For p strictly
between these bounds, the violation is ``conjugate_derivative(p)``. At a bound that p can attain
(`reaches_zero`, `reaches_one`), the violation may lie beyond it.
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
        """Return the loss of each violation."""
        ...

    def derivative(self, violation: Array) -> Array:
        """Return the derivative of the loss; at a kink the left one."""
        ...


class DualLoss(Loss, Protocol):
    """A loss with its convex conjugate, from which duality gaps are computed.

    Attributes
    ----------
    reaches_zero, reaches_one : bool
        Whether the derivative attains 0, and whether it attains 1. A derivative that does not
        attain 1 stays below 1 (logistic) or is unbounded (squared hinge).
    max_derivative : float
        The supremum of the derivative.
    """

    reaches_zero: ClassVar[bool]
    reaches_one: ClassVar[bool]
    max_derivative: ClassVar[float]

    def conjugate(self, p: Array) -> Array:
        """Return ``sup_v p·v - loss(v)``."""
        ...

    def conjugate_derivative(self, p: Array) -> Array:
        """Return the violation at which the loss has the derivative p, for p inside its range."""
        ...

    def conjugate_curvature(self, p: Array) -> Array:
        """Return the second derivative of the conjugate."""
        ...


@dataclass(frozen=True)
class Hinge:
    """``max(v, 0)``.

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
        """Return the loss of each violation."""
        return np.maximum(violation, 0)

    def derivative(self, violation: Array) -> Array:
        """Return 1 where the constraint is violated, else 0."""
        return (violation > 0).astype(violation.dtype)

    def conjugate(self, p: Array) -> Array:
        """Return 0."""
        return np.zeros_like(p)

    def conjugate_derivative(self, p: Array) -> Array:
        """Return 0: for 0 < p < 1 the constraint holds with equality."""
        return np.zeros_like(p)

    def conjugate_curvature(self, p: Array) -> Array:
        """Return 0."""
        return np.zeros_like(p)


@dataclass(frozen=True)
class SquaredHinge:
    """``max(v, 0)²``: smooth, with a stronger penalty on large violations than the hinge."""

    reaches_zero: ClassVar[bool] = True
    reaches_one: ClassVar[bool] = False
    max_derivative: ClassVar[float] = np.inf

    def value(self, violation: Array) -> Array:
        """Return the loss of each violation."""
        return np.square(np.maximum(violation, 0))

    def derivative(self, violation: Array) -> Array:
        """Return ``2 max(v, 0)``."""
        return 2 * np.maximum(violation, 0)

    def conjugate(self, p: Array) -> Array:
        """Return ``p²/4``."""
        return np.square(p) / 4

    def conjugate_derivative(self, p: Array) -> Array:
        """Return ``p/2``."""
        return p / 2

    def conjugate_curvature(self, p: Array) -> Array:
        """Return 1/2."""
        return np.full_like(p, 0.5)


@dataclass(frozen=True)
class Logistic:
    """``log(1 + exp(v - 1)) = log(1 + exp(-z))``: positive for every violation."""

    reaches_zero: ClassVar[bool] = False
    reaches_one: ClassVar[bool] = False
    max_derivative: ClassVar[float] = 1.0

    def value(self, violation: Array) -> Array:
        """Return the loss of each violation."""
        return np.asarray(np.logaddexp(0, violation - 1))

    def derivative(self, violation: Array) -> Array:
        """Return the probability of the wrong class."""
        return np.asarray(expit(violation - 1))

    def conjugate(self, p: Array) -> Array:
        """Return p less the entropy of the probability p."""
        return np.asarray(p + xlogy(p, p) + xlogy(1 - p, 1 - p))

    def conjugate_derivative(self, p: Array) -> Array:
        """Return ``1 + log(p/(1 - p))``."""
        return np.asarray(1 + logit(p))

    def conjugate_curvature(self, p: Array) -> Array:
        """Return ``1/(p(1 - p))``."""
        return np.asarray(1 / (p * (1 - p)))


@dataclass(frozen=True)
class SmoothedHinge:
    """The hinge with a quadratic piece in place of its kink (Huber).

    ``v²/(2·smoothing)`` for ``0 <= v <= smoothing``, then ``v - smoothing/2``: at most
    ``smoothing/2`` below `Hinge`, and never above it.
    """

    smoothing: float

    def __post_init__(self) -> None:
        check_parameters("SmoothedHinge", {"smoothing": self.smoothing}, {"smoothing": positive()})

    def value(self, violation: Array) -> Array:
        """Return the loss of each violation."""
        quadratic = np.clip(violation, 0, self.smoothing)
        linear = np.maximum(violation - self.smoothing, 0)
        return np.asarray(np.square(quadratic) / (2 * self.smoothing) + linear)

    def derivative(self, violation: Array) -> Array:
        """Return ``v/smoothing``, clipped to [0, 1]."""
        return np.asarray(np.clip(violation / self.smoothing, 0, 1))
