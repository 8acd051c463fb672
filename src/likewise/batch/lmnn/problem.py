"""The LMNN problem in L for the solver: all impostors, represented by a working set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from likewise import neighbors
from likewise._runtime.arrays import Array, FloatArray
from likewise.batch.lmnn.growing_rank import with_added_rows
from likewise.batch.lmnn.impostors import ImpostorSearch, search_without_limit
from likewise.batch.lmnn.working_set import Evaluation
from likewise.objectives import GroupedPairs, LargeMargin, LowerBound, QuadraticPenalty

_SLACK_RANGE = (0.02, 0.3)
_FIRST_SLACK = 0.1
_UNSEEN_SHARES_FOR_SLACK = (
    1e-4,
    1e-2,
)  # unseen share of the loss below or above which the slack changes
_MAX_FACTOR = 64.0  # how much larger α² may be than where its impostors were searched
_MULTIPLE_SEARCHES = 12
_ZERO_SHARE = 1e-12


class LMNNProblem:
    """A `HingeProblem` in L: pull, push over all impostors, and the lower bound.

    Parameters
    ----------
    objective : LargeMargin
        Data, targets and weights; its impostors are replaced by the working set.
    search : ImpostorSearch
        The exact search.
    penalty : QuadraticPenalty or None
        What is added to the objective.
    total_weight : float
        The sum of the weights of the anchors.
    """

    def __init__(
        self,
        objective: LargeMargin,
        search: ImpostorSearch,
        penalty: QuadraticPenalty | None = None,
        total_weight: float = 0.0,
    ) -> None:
        self.objective, self.total_weight = objective, total_weight
        # By one hinge of the margin per anchor. The first objective is no measure: one row that is
        # far from all others may be nearly all of it.
        self.zero = _ZERO_SHARE * objective.margin * total_weight
        self.search = search
        self.penalty = penalty
        self._slack = _FIRST_SLACK
        self._searched: _Searched | None = None
        self._stepped: _PenalisedObjective | None = None  # which the last steps were taken on

    def of_rows(self, X: Any) -> LMNNProblem:
        """Return the problem of the same rows in other coordinates."""
        objective = replace(self.objective, X=X)
        return LMNNProblem(objective, self.search, self.penalty, self.total_weight)

    @cached_property
    def _lower_bound(self) -> LowerBound:
        return self.objective.lower_bound(self.penalty)

    def smoothed(self, smoothing: float) -> _PenalisedObjective:
        """Return the objective over the working set with smoothed hinges."""
        objective = replace(self.objective, smoothing=smoothing)
        self._stepped = _PenalisedObjective(objective, self.penalty)
        return self._stepped

    def evaluate_exactly(self, L: Array, smoothing: float) -> Evaluation | None:
        """Search all impostors at L, make them the working set, and bound the optimum.

        Returns None if there are too many impostors. A second evaluation at the same L, with other
        smoothing, does not search again.
        """
        objective = replace(self.objective, smoothing=smoothing)
        seen_loss: float | None = None
        if self._searched is None or self._searched.L is not L:
            seen_loss = self._stepped_loss(objective, L)
            self._stepped = None  # else its pairs would be kept beside those that are found
            Z = objective.transform(L)
            targets = objective.sqdist(Z, objective.targets)
            if self._searched is not None and seen_loss is None:  # there is a working set
                impostors = objective.sqdist(Z, objective.impostors)
                seen_loss = objective.loss(targets, impostors).value
                del impostors
            found = self._search(Z, targets)
            if found is None:
                return None
            pairs, impostors = found
            objective = replace(objective, impostors=pairs)
            # In one statement, which no interrupt divides.
            self.objective, self._searched = (
                replace(self.objective, impostors=pairs),
                _Searched(L, targets, impostors),
            )
        else:
            targets, impostors = self._searched.targets, self._searched.impostors
        # On a cluster these are computed together: their values are read after the bound.
        smoothed = objective.loss(targets, impostors)
        exact = replace(objective, smoothing=0.0).loss(targets, impostors)
        penalty = 0.0 if self.penalty is None else self.penalty.value(_matrices(L))
        bound = self._lower_bound(objective, targets, impostors)
        unseen_loss = 0.0 if seen_loss is None else max(0.0, smoothed.value - seen_loss)
        if seen_loss is not None:
            self._adapt_slack(unseen_loss / max(smoothed.value, 1e-300))
        value = exact.value
        return Evaluation(
            value=value + penalty,
            smoothed=smoothed.value + penalty,
            smoothing_error=value - objective.lagrangian(smoothed, targets, impostors),
            unseen_loss=unseen_loss,
            dual_value=bound.dual_value,
            lower_bound=bound.lower_bound,
        )

    def descent_path(self, L: Array, smoothing: float) -> Callable[[float], Array] | None:
        """Return the L of ``M + t² [-G]₊`` as a function of t, for the gradient G in M.

        None if G is positive semidefinite. The unit of t is such that a pull of the size of the
        objective is added at t = 1.
        """
        objective = replace(self.objective, smoothing=smoothing)
        Z = objective.transform(L)
        targets = objective.sqdist(Z, objective.targets)
        impostors = objective.sqdist(Z, objective.impostors)
        rows, pull = self._lower_bound.descent_rows(objective, targets, impostors, L)
        if not pull > 0:
            return None
        unit = np.sqrt(objective.loss(targets, impostors).value / pull)
        if L.ndim == 2:
            return lambda t: with_added_rows(L, t * unit * rows[0])
        return lambda t: np.stack(
            [with_added_rows(*pair) for pair in zip(L, [t * unit * R for R in rows], strict=True)]
        )

    def _search(self, Z: Array, targets: FloatArray) -> tuple[GroupedPairs, FloatArray] | None:
        for slack in (self._slack, 0.0):
            try:
                return self.search(Z, targets, slack)
            except neighbors.TooManyPairs:
                continue
        # The solver can reduce a step that causes an overflow, but it needs the start.
        return search_without_limit(self.search, Z, targets) if self._searched is None else None

    def _stepped_loss(self, objective: LargeMargin, L: Array) -> float | None:
        """Return the loss over the working set if the last step ended at L, as it mostly does."""
        stepped = self._stepped
        if (
            stepped is not None
            and stepped.L is L
            and stepped.objective.impostors is objective.impostors
            and stepped.objective.smoothing == objective.smoothing
        ):
            return stepped.loss
        return None

    def _adapt_slack(self, unseen_share: float) -> None:
        """Widen the slack if the working set missed much of the loss, narrow it if nothing."""
        smallest, largest = _SLACK_RANGE
        if unseen_share > _UNSEEN_SHARES_FOR_SLACK[1]:
            self._slack = min(largest, 1.5 * self._slack)
        elif unseen_share < _UNSEEN_SHARES_FOR_SLACK[0]:
            self._slack = max(smallest, 0.7 * self._slack)


class _Searched(NamedTuple):
    """The point of the last exact search, and the squared distances of the pairs there."""

    L: Array
    targets: FloatArray
    impostors: FloatArray


class _PenalisedObjective:
    """The objective over the working set plus the penalty, as a function of L.

    Attributes
    ----------
    L, loss : array and float
        Where it was evaluated last, and its value there without the penalty.
    """

    def __init__(self, objective: LargeMargin, penalty: QuadraticPenalty | None) -> None:
        self.objective = objective
        self.penalty = penalty
        self.L: Array | None = None
        self.loss = 0.0

    def value_and_gradient(self, L: Array) -> tuple[float, Array]:
        value, gradient = self.objective.value_and_gradient(L)
        self.L, self.loss = L, value
        if self.penalty is not None:
            M = _matrices(L)
            value += self.penalty.value(M)
            gradient = gradient + 2 * L @ self.penalty.gradient(M)
        return value, gradient


def _matrices(L: Array) -> Array:
    """Return M = LᵀL, or that of every metric."""
    return np.asarray(np.swapaxes(L, -1, -2) @ L)


def penalty_towards(L: Array, strength: float | Array) -> QuadraticPenalty | None:
    """Return ``strength ‖M - M₀‖² / ‖M₀‖²`` for ``M₀ = L.T @ L``; None if the strength is 0.

    An array has the strength for each of several metrics.
    """
    if not np.any(strength):
        return None
    centre = L.T @ L
    scaled = 2 * np.asarray(strength) / float(np.square(centre).sum())
    return QuadraticPenalty(centre, scaled[:, None, None] if scaled.ndim else float(scaled))


def best_multiple(objective: LargeMargin, search: ImpostorSearch, Z: Array) -> float:
    """Return the α that minimises the objective at αL, given the rows Z transformed by L."""
    targets = objective.sqdist(Z, objective.targets)
    # There the median squared distance to a target is the margin: one search is mostly enough.
    first = objective.margin / (objective.median(targets) or 1.0)
    best = _best_squared_multiple(objective, search, Z, targets, first)
    if best is None:
        # Rows that are nearer to other classes than to their targets, or equal to rows of other
        # classes, have impostors at any multiple. Their number at the largest one is accepted.
        largest = first * 4.0 ** (_MULTIPLE_SEARCHES - 1)
        search_without_limit(search, objective.scaled(Z, largest), largest * targets)
        best = _best_squared_multiple(objective, search, Z, targets, first)
    assert best is not None
    return float(np.sqrt(best))


def _best_squared_multiple(
    objective: LargeMargin, search: ImpostorSearch, Z: Array, targets: FloatArray, first: float
) -> float | None:
    """Return α², or None if every search overflows, by its limit or by the memory.

    The objective is convex in α². The impostors at one α include those at any larger one, so that
    one exact search serves all larger multiples. Another search is needed only if the objective
    still decreases towards smaller ones.
    """
    square, best, overflow = first, None, 0.0
    for _ in range(_MULTIPLE_SEARCHES):
        try:
            pairs, impostors = search(objective.scaled(Z, square), square * targets, 0.0)
        except (neighbors.TooManyPairs, MemoryError):
            if best is not None:
                break
            overflow, square = square, 4 * square
            continue
        factor = _best_factor(replace(objective, impostors=pairs), square * targets, impostors)
        best = square * factor
        if factor > 0.9 * _MAX_FACTOR:
            square = best
        elif factor > 1.05 or square / 2 <= overflow:
            break
        else:
            square /= 2
    return best


def _best_factor(objective: LargeMargin, targets: FloatArray, impostors: FloatArray) -> float:
    """Return the factor ≥ 1 of all squared distances that minimises the loss."""

    def loss(power: float) -> float:
        factor = float(np.exp(power))
        return objective.loss(factor * targets, factor * impostors).value

    found = minimize_scalar(
        loss,
        bounds=(0.0, np.log(_MAX_FACTOR)),
        method="bounded",
        options={"xatol": 0.02},
    )
    return float(np.exp(found.x))
