"""LMNN's problem for a solver: all impostors there are, seen through a working set."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from likewise import neighbors
from likewise._runtime.arrays import Array, FloatArray
from likewise.batch.lmnn.impostors import FindImpostors, search_all
from likewise.batch.lmnn.working_set import Look
from likewise.objectives import GroupedPairs, LargeMargin, QuadraticPenalty

_SLACKS = (0.02, 0.3)
_FIRST_SLACK = 0.1
_MISSED = (1e-4, 1e-2)  # share of the value that a working set missed, to change the slack
# Multiples of the start metric: how far one search reaches, and how many there may be.
_LARGEST_FACTOR = 64.0
_MULTIPLE_SEARCHES = 12


class LMNNProblem:
    """Pull and push over all impostors as a `HingeProblem` in L, with its certificate.

    Parameters
    ----------
    objective : LargeMargin
        Data, targets and weights; its far pairs are replaced by the working set.
    find : FindImpostors
        The exact search.
    penalty : QuadraticPenalty or None
        A pull of M towards a metric.
    """

    def __init__(
        self, objective: LargeMargin, find: FindImpostors, penalty: QuadraticPenalty | None = None
    ) -> None:
        self.objective, self.find, self.penalty = objective, find, penalty
        self._bound = objective.bound(penalty)
        self._slack = _FIRST_SLACK
        self._found: _Found | None = None

    def rounded(self, width: float) -> _Rounded:
        """Return the objective of the working set, its hinges rounded over `width`."""
        return _Rounded(replace(self.objective, width=width), self.penalty)

    def look(self, L: Array, width: float) -> Look | None:
        """Search all impostors at L, keep those near as the working set, and bound the optimum."""
        objective = replace(self.objective, width=width)
        missed = 0.0
        if self._found is None or self._found.L is not L:
            Z = objective.mapped(L)
            near = objective.distances(Z, objective.near)
            seen = objective.costs(near, objective.distances(Z, objective.far)).value
            found = self._search(Z, near)
            if found is None:
                return None
            far, far_distances = found
            objective = replace(objective, far=far)
            if self._found is not None:
                all_of_it = objective.costs(near, far_distances).value
                missed = max(0.0, all_of_it - seen)
                self._adapt(missed / max(all_of_it, 1e-300))
            self.objective = replace(self.objective, far=far)
            self._found = _Found(L, near, far_distances)
        near, far_distances = self._found.near, self._found.far
        extra = 0.0 if self.penalty is None else self.penalty.value(L.T @ L)
        bound = self._bound(objective, near, far_distances)
        return Look(
            value=replace(objective, width=0.0).costs(near, far_distances).value + extra,
            rounded=objective.costs(near, far_distances).value + extra,
            missed=missed,
            dual=bound.dual,
            bound=bound.proved,
        )

    def _search(self, Z: Array, near: FloatArray) -> tuple[GroupedPairs, FloatArray] | None:
        for slack in (self._slack, 0.0):
            try:
                return self.find(Z, near, slack)
            except neighbors.TooManyPairs:
                continue
        # Steps may be taken back from a flood, but a start must be searched, whatever it takes.
        return search_all(self.find, Z, near) if self._found is None else None

    def _adapt(self, missed: float) -> None:
        """Widen the slack if much was missed, narrow it if nothing was."""
        least, most = _SLACKS
        if missed > _MISSED[1]:
            self._slack = min(most, 1.5 * self._slack)
        elif missed < _MISSED[0]:
            self._slack = max(least, 0.7 * self._slack)


class _Found(NamedTuple):
    """Where everything was searched last, and the squared distances there."""

    L: Array
    near: FloatArray
    far: FloatArray


class _Rounded:
    """The working set's objective and the penalty, as one function of L."""

    def __init__(self, objective: LargeMargin, penalty: QuadraticPenalty | None) -> None:
        self.objective, self.penalty = objective, penalty

    def value_and_gradient(self, L: Array) -> tuple[float, Array]:
        value, gradient = self.objective.value_and_gradient(L)
        if self.penalty is not None:
            M = L.T @ L
            value += self.penalty.value(M)
            gradient = gradient + 2 * L @ self.penalty.slope(M)
        return value, gradient


def penalty_towards(L: Array, strength: float) -> QuadraticPenalty | None:
    """Return ``strength ‖M - M₀‖² / ‖M₀‖²`` for the metric M₀ of L; None if it is nothing."""
    if not strength:
        return None
    centre = L.T @ L
    return QuadraticPenalty(centre, 2 * strength / float(np.square(centre).sum()))


def best_multiple(objective: LargeMargin, find: FindImpostors, Z: Array) -> float:
    """Return the α for which αL costs least, given the rows Z mapped by L."""
    near = objective.distances(Z, objective.near)
    # Where the median distance to a target is the margin: most data need one search from there.
    first = objective.margin / (float(np.median(near)) or 1.0)
    best = _best_square(objective, find, Z, near, first)
    if best is None:
        # Rows nearer to other classes than to their targets, or equal to rows of them, remain at
        # any multiple: as many pairs as there are at the largest are no flood.
        largest = first * 4.0 ** (_MULTIPLE_SEARCHES - 1)
        search_all(find, _multiplied(Z, largest), largest * near)
        best = _best_square(objective, find, Z, near, first)
    assert best is not None
    return float(np.sqrt(best))


def _best_square(
    objective: LargeMargin, find: FindImpostors, Z: Array, near: FloatArray, first: float
) -> float | None:
    """Return α², or None if all searches are floods.

    The cost is convex in α². Impostors at one α include those at any larger one, so that one exact
    search serves all larger multiples; only a cost that still falls towards smaller ones asks for
    another.
    """
    square, best, flooded = first, None, 0.0
    for _ in range(_MULTIPLE_SEARCHES):
        try:
            pairs, far = find(_multiplied(Z, square), square * near, 0.0)
        except neighbors.TooManyPairs:
            if best is not None:
                break
            flooded, square = square, 4 * square
            continue
        factor = _best_factor(replace(objective, far=pairs), square * near, far)
        best = square * factor
        if factor > 0.9 * _LARGEST_FACTOR:
            square = best
        elif factor > 1.05 or square / 2 <= flooded:
            break
        else:
            square /= 2
    return best


def _multiplied(Z: Array, square: float) -> Array:
    """Return rows whose squared distances are `square` times those of Z."""
    return np.asarray(Z * Z.dtype.type(np.sqrt(square)))


def _best_factor(objective: LargeMargin, near: FloatArray, far: FloatArray) -> float:
    """Return the factor of all squared distances, at least 1, for which they cost least."""
    found = minimize_scalar(
        lambda power: objective.costs(np.exp(power) * near, np.exp(power) * far).value,
        bounds=(0.0, np.log(_LARGEST_FACTOR)),
        method="bounded",
        options={"xatol": 0.02},
    )
    return float(np.exp(found.x))
