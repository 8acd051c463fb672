"""Whether annotators agree where several judged the same pair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

from likewise.live.events import Event
from likewise.live.ledger import Ledger

__all__ = ["Agreement", "Conflict", "agreement"]

_MAX_CONFLICTS = 200


@dataclass(frozen=True)
class Conflict:
    """A pair that annotators decided differently."""

    left: str
    right: str
    answers: dict[str, str]


@dataclass(frozen=True)
class Agreement:
    """How annotators agree on the pairs that two or more of them decided.

    Attributes
    ----------
    n_pairs : int
        Pairs that at least two annotators decided, *same* or *different*.
    n_agreed : int
        Those that all of them decided alike.
    kappa : float or None
        Cohen's kappa over all pairs of annotators, pooled: 1 is perfect agreement, 0 that of
        chance. None where chance alone would agree always, or nothing was judged twice.
    by_annotator : dict
        Of each annotator: judgements in force, pairs shared with others, and agreed ones.
    conflicts : list of Conflict
        Up to 200.
    """

    n_pairs: int
    n_agreed: int
    kappa: float | None
    by_annotator: dict[str, dict[str, int]]
    conflicts: list[Conflict]


def agreement(ledger: Ledger) -> Agreement:
    """Return how the annotators of a log agree.

    Parameters
    ----------
    ledger : Ledger

    Returns
    -------
    Agreement
    """
    counts: dict[str, dict[str, int]] = {}
    table: Counter[tuple[str, str]] = Counter()
    n_pairs = n_agreed = 0
    conflicts: list[Conflict] = []
    for left, right in ledger.pairs():
        judged = ledger.of_pair(left, right)
        for event in judged:
            own = counts.setdefault(event.annotator, {"judgements": 0, "shared": 0, "agreed": 0})
            own["judgements"] += 1
        answers = _decided(judged)
        if len(answers) < 2:
            continue
        agreed = len(set(answers.values())) == 1
        n_pairs += 1
        n_agreed += agreed
        for annotator in answers:
            counts[annotator]["shared"] += 1
            counts[annotator]["agreed"] += agreed
        for first, second in combinations(answers.values(), 2):
            table[first, second] += 1
        if not agreed and len(conflicts) < _MAX_CONFLICTS:
            conflicts.append(Conflict(left, right, answers))
    return Agreement(n_pairs, n_agreed, _kappa(table), counts, conflicts)


def _decided(judged: Iterable[Event]) -> dict[str, str]:
    return {event.annotator: event.answer for event in judged if event.answer != "unsure"}


def _kappa(table: Counter[tuple[str, str]]) -> float | None:
    total = table.total()
    if not total:
        return None
    observed = sum(n for (first, second), n in table.items() if first == second) / total
    # Which of two annotators comes first says nothing: their shares are pooled.
    share = sum(n * ((a == "same") + (b == "same")) for (a, b), n in table.items()) / (2 * total)
    expected = share**2 + (1 - share) ** 2
    return None if expected == 1 else (observed - expected) / (1 - expected)
