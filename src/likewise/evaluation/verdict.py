"""Which metric to use, in one sentence that claims no more than the folds show."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, Protocol

from likewise._runtime.validation import pluralize
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


class Named(Protocol):
    """A row of a comparison."""

    @property
    def name(self) -> str:
        """The name of the method."""

    @property
    def title(self) -> str:
        """The name, with the parameters that are not the defaults."""


def untested_verdict(best: Named | None, number: str, n_failed: int) -> Verdict:
    """Say what can be said without a test: the baseline is missing, or everything else.

    Parameters
    ----------
    best : row or None
        The best of the methods that could be fitted.
    number : str
        What is best about it, such as "3-NN test error, 5 %, is the lowest".
    n_failed : int
        The number of methods that could not be fitted.
    """
    if best is None:
        sentence = "No method could be fitted, so there is no metric to recommend."
        return Verdict("untested", None, sentence)
    if best.name == BASELINE and n_failed:
        sentence = f"Use {BASELINE}: no other method could be fitted."
    elif best.name == BASELINE:
        sentence = f"Use {BASELINE}: there is no other metric to compare it with."
    else:
        sentence = (
            f"Use {best.title}: its {number} here; without {BASELINE} among the methods it is not "
            "known whether learning was worth it."
        )
    return Verdict("untested", best.name, sentence)


def give_verdict(decision: Decision, leader: Named, numbers: str, unit: str = "row") -> Verdict:
    """Put a decision about the leading method into words.

    Parameters
    ----------
    decision : Decision
    leader : row
    numbers : str
        The leader's number and that of the baseline.
    unit : str, default="row"
        Of what more would decide.
    """
    outcome, recommended = decision.outcome, None
    if outcome == "use":
        recommended, sentence = leader.name, _use(decision, leader, numbers)
    elif outcome == "no difference" and decision.upper < 0:
        # That every other metric is worse is a difference: the one to use is the baseline.
        outcome = "use"
        recommended, sentence = BASELINE, _use_baseline(decision, leader, numbers)
    elif outcome == "no difference":
        recommended, sentence = BASELINE, _no_difference(decision, leader, numbers)
    else:
        sentence = _undecided(decision, leader, numbers, unit)
    return Verdict(
        outcome=outcome,
        recommended=recommended,
        verdict=sentence,
        leader=leader.name,
        difference=decision.difference,
        interval=decision.interval,
        needed_repeats=decision.needed_repeats,
        needed_rows=decision.needed_rows,
    )


def _use(decision: Decision, leader: Named, numbers: str) -> str:
    return (
        f"Use {leader.title}: it beats {BASELINE} by {_points(decision.difference)} "
        f"({_between(decision)}), {numbers}."
    )


def _use_baseline(decision: Decision, leader: Named, numbers: str) -> str:
    low, high = decision.interval
    return (
        f"Use {BASELINE}: the best other metric, {leader.title}, is behind it by "
        f"{_points(-decision.difference)} (at least {-100 * high:.2g} and at most "
        f"{-100 * low:.2g}, each with 95% confidence), {numbers}."
    )


def _no_difference(decision: Decision, leader: Named, numbers: str) -> str:
    # A metric may be behind by more than is relevant, though this is not shown.
    what = "gain" if decision.difference < -RELEVANT else "difference"
    return (
        f"No {what} above {_points(RELEVANT)} found: {_lead(decision, leader)}, {numbers}, and "
        f"no metric gains more than {_points(decision.upper)} (95% confidence). Use {BASELINE}, "
        "the simplest."
    )


def _undecided(decision: Decision, leader: Named, numbers: str, unit: str) -> str:
    rows = f"about {pluralize(_rounded(decision.needed_rows or 0), unit)}"
    if unit != "row":
        needed = f"{rows.capitalize()} would decide"
    elif decision.needed_repeats is None:
        needed = f"No number of repeats, but {rows} would decide"
    else:
        repeats = _rounded(decision.needed_repeats)
        needed = f"About {pluralize(repeats, 'repeat')}, or {rows}, would decide"
    return (
        f"Undecided: {_lead(decision, leader)} ({_between(decision)}), {numbers}. {needed} if the "
        "difference stays as seen."
    )


def _lead(decision: Decision, leader: Named) -> str:
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
