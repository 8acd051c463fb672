"""Which metric to use, in one sentence that claims no more than the folds show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from likewise._runtime.validation import pluralize
from likewise.evaluation.results import MethodResult
from likewise.statistics import Decision

BASELINE = "Euclidean"
RELEVANT = 0.02


@dataclass(frozen=True)
class Verdict:
    """The fields of a `Comparison` that say which metric to use, and why."""

    outcome: Literal["use", "no difference", "undecided", "untested"]
    recommended: str | None
    verdict: str
    leader: str | None = None
    difference: float = math.nan
    interval: tuple[float, float] = (math.nan, math.nan)
    needed_repeats: int | None = None
    needed_rows: int | None = None


def untested_verdict(methods: Sequence[MethodResult], n_neighbors: int) -> Verdict:
    """Say what can be said without a test: `methods` lack the baseline, or all others."""
    if not methods:
        sentence = "No method could be fitted, so there is no metric to recommend."
        return Verdict("untested", None, sentence)
    best = min(methods, key=lambda method: method.error)
    if best.name == BASELINE:
        sentence = f"Use {BASELINE}: there is no other metric to compare it with."
    else:
        sentence = (
            f"Use {best.title}: its {n_neighbors}-NN test error, {best.error:.2%}, is the lowest "
            f"here; without {BASELINE} among the methods it is not known whether learning was "
            "worth it."
        )
    return Verdict("untested", best.name, sentence)


def give_verdict(
    decision: Decision, leader: MethodResult, baseline: MethodResult, n_neighbors: int
) -> Verdict:
    """Put a decision about the leading method into words."""
    write = {"use": _use, "no difference": _no_difference, "undecided": _undecided}
    recommended = {"use": leader.name, "no difference": BASELINE, "undecided": None}
    errors = f"{leader.error:.2%} against {baseline.error:.2%} {n_neighbors}-NN test error"
    return Verdict(
        outcome=decision.outcome,
        recommended=recommended[decision.outcome],
        verdict=write[decision.outcome](decision, leader, errors),
        leader=leader.name,
        difference=decision.difference,
        interval=decision.interval,
        needed_repeats=decision.needed_repeats,
        needed_rows=decision.needed_rows,
    )


def _use(decision: Decision, leader: MethodResult, errors: str) -> str:
    return (
        f"Use {leader.title}: it beats {BASELINE} by {_points(decision.difference)} "
        f"({_between(decision)}), {errors}."
    )


def _no_difference(decision: Decision, leader: MethodResult, errors: str) -> str:
    limit = f"no metric gains more than {_points(decision.upper)}"
    if decision.upper < 0:
        limit = "every other metric is worse"
    return (
        f"No difference above {_points(RELEVANT)} found: {_lead(decision, leader)}, {errors}, and "
        f"{limit} (95% confidence). Use {BASELINE}, the simplest."
    )


def _undecided(decision: Decision, leader: MethodResult, errors: str) -> str:
    rows = f"about {_rounded(decision.needed_rows or 0)} rows"
    if decision.needed_repeats is None:
        needed = f"No number of repeats, but {rows} would decide"
    else:
        repeats = _rounded(decision.needed_repeats)
        needed = f"About {pluralize(repeats, 'repeat')}, or {rows}, would decide"
    return (
        f"Undecided: {_lead(decision, leader)} ({_between(decision)}), {errors}. {needed} if the "
        "difference stays as seen."
    )


def _lead(decision: Decision, leader: MethodResult) -> str:
    if decision.difference > 0:
        return f"{leader.title} is ahead of {BASELINE} by {_points(decision.difference)}"
    if decision.difference < 0:
        behind = _points(-decision.difference)
        return f"the best other metric, {leader.title}, is behind {BASELINE} by {behind}"
    return f"the best other metric, {leader.title}, only equals {BASELINE}"


def _between(decision: Decision) -> str:
    low, high = decision.interval
    return (
        f"a gain of at least {100 * low:.2g} and at most {100 * high:.2g}, each with 95% confidence"
    )


def _points(difference: float) -> str:
    number = f"{100 * difference:.2g}"
    return f"{number} point" if number == "1" else f"{number} points"


def _rounded(number: int) -> int:
    """Round up to two digits: more would pretend to know."""
    unit: int = 10 ** max(0, len(str(number)) - 2)
    return -(-number // unit) * unit
