"""Multipliers strictly between their bounds, as an interior-point method moves them."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from scipy.special import expit, logit

from likewise._runtime.arrays import FloatArray
from likewise.solvers.margin.problem import MarginObjective

_MAX_LOG_ODDS_STEP = 10.0
_MIN_DISTANCE = 1e-14  # of C: closer to a bound, rounding would put a multiplier on it

Target: TypeAlias = float | FloatArray
"""The value that a complementarity product is moved towards."""


class BoundStep(NamedTuple):
    """A change of the multipliers and of the dual variables of their bounds."""

    values: FloatArray
    lower_dual: FloatArray
    upper_dual: FloatArray


class BoundedMultipliers:
    """Multipliers x with ``0 < x < C``, and the dual variables of the two bounds.

    The optimality conditions of a constraint are ::

        h(⟨M, X⟩ + b) - 1 + loss*'(x/C) - s + t = 0,    s·x = 0,    t·(C - x) = 0,

    with the dual variable s of ``x >= 0``, where the derivative of the loss attains 0, and t of
    ``x <= C``, where it attains 1. An interior-point method drives the two complementarity
    products from μ > 0 to 0.

    Attributes
    ----------
    values, lower_dual, upper_dual : arrays of shape (n_constraints,)
        x, s and t.
    n_bounds : int
        The number of complementarity products.
    is_barrier_free : bool
        Whether the conjugate itself keeps x between its bounds, as that of the logistic loss does.
    """

    def __init__(self, problem: MarginObjective, sign: FloatArray, values: FloatArray) -> None:
        self.loss, self.C, self.sign, self.values = problem.loss, problem.C, sign, values
        self.lower_dual = np.full(len(values), float(self.loss.reaches_zero))
        self.upper_dual = np.full(len(values), float(self.loss.reaches_one))
        self.has_upper_bound = bool(np.isfinite(self.loss.max_derivative))
        self.n_bounds = len(values) * (int(self.loss.reaches_zero) + int(self.loss.reaches_one))
        self.is_barrier_free = self.n_bounds == 0 and self.has_upper_bound

    @property
    def capacity(self) -> FloatArray:
        """``C - x`` where x may reach C, else 1."""
        return self.C - self.values if self.loss.reaches_one else np.ones(len(self.values))

    def linearise(self, q: FloatArray, b: float) -> tuple[FloatArray, FloatArray]:
        """Return the weights θ with ``dx = θ (rhs - h(dq + db))``, and the residual of line one."""
        p = self.values / self.C
        residual = (
            self.sign * (q + b)
            - 1
            + self.loss.conjugate_derivative(p)
            - self.lower_dual
            + self.upper_dual
        )
        curvature = self.loss.conjugate_curvature(p) / self.C
        curvature = curvature + self.lower_dual / self.values + self.upper_dual / self.capacity
        return 1 / curvature, residual

    def rhs(self, residual: FloatArray, lower: Target, upper: Target) -> FloatArray:
        """Return the right-hand side of a step towards ``s·x = lower``, ``t·(C - x) = upper``."""
        rhs = -residual - self.lower_dual + self.upper_dual
        if self.loss.reaches_zero:
            rhs = rhs + lower / self.values
        if self.loss.reaches_one:
            rhs = rhs - upper / self.capacity
        return np.asarray(rhs)

    def complete(self, dx: FloatArray, lower: Target, upper: Target) -> BoundStep:
        """Return the step whose change of x is `dx`, towards the same two products."""
        ds, dt = np.zeros_like(dx), np.zeros_like(dx)
        if self.loss.reaches_zero:
            ds = lower / self.values - self.lower_dual - self.lower_dual / self.values * dx
        if self.loss.reaches_one:
            dt = upper / self.capacity - self.upper_dual + self.upper_dual / self.capacity * dx
        return BoundStep(dx, ds, dt)

    def complementarity(self) -> float:
        """Return the sum of all complementarity products."""
        return float(self.lower_dual @ self.values + self.upper_dual @ self.capacity)

    def complementarity_after(self, length: float, step: BoundStep) -> float:
        """Return the sum of all complementarity products after a step."""
        lower = (self.lower_dual + length * step.lower_dual) @ (self.values + length * step.values)
        upper = (self.upper_dual + length * step.upper_dual) @ (
            self.capacity - length * step.values
        )
        return float(lower + upper)

    def max_length(self, step: BoundStep, *others: tuple[FloatArray, FloatArray]) -> float:
        """Return the length at which the step, or another ``(value, change)``, reaches 0."""
        positive = [
            (self.lower_dual, step.lower_dual),
            (self.upper_dual, step.upper_dual),
            *others,
        ]
        if not self.is_barrier_free:
            positive.append((self.values, step.values))
            if self.has_upper_bound:
                positive.append((self.C - self.values, -step.values))
        longest = np.inf
        for value, change in positive:
            falling = change < 0
            if falling.any():
                longest = min(longest, float((value[falling] / -change[falling]).min()))
        return longest

    def apply(self, length: float, step: BoundStep) -> None:
        """Take a step."""
        if self.is_barrier_free:
            self.values = self.after_log_odds_step(length * step.values)
            return
        values = self.values + length * step.values
        # Where C is large, all multipliers may be tiny parts of it.
        self.values = np.maximum(values, _MIN_DISTANCE * min(self.C, float(values.max())))
        if self.has_upper_bound:
            self.values = np.minimum(self.values, (1 - _MIN_DISTANCE) * self.C)
        self.lower_dual = self.lower_dual + length * step.lower_dual
        self.upper_dual = self.upper_dual + length * step.upper_dual

    def after_log_odds_step(self, dx: FloatArray) -> FloatArray:
        """Return x after a step in the log odds of x/C, in which a smooth loss is linear.

        The log odds have no bounds, and x may change by orders of magnitude in one step.
        """
        p = self.values / self.C
        change = np.clip(dx / (self.values * (1 - p)), -_MAX_LOG_ODDS_STEP, _MAX_LOG_ODDS_STEP)
        moved = expit(logit(p) + change)
        return np.asarray(self.C * np.clip(moved, _MIN_DISTANCE, 1 - _MIN_DISTANCE))

    def centre(self, mu: float) -> None:
        """Set s and t so that all complementarity products are μ."""
        self.lower_dual = mu / self.values * self.loss.reaches_zero
        self.upper_dual = mu / self.capacity * self.loss.reaches_one

    def log_barrier(self, values: FloatArray) -> float:
        """Return minus the sum of the logarithms of the distances to the attainable bounds."""
        total = 0.0
        if self.loss.reaches_zero:
            total -= float(np.log(values).sum())
        if self.loss.reaches_one:
            total -= float(np.log(self.C - values).sum())
        return total
