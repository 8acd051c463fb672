"""How annotators agree, kept up to date judgement by judgement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations, islice

from likewise.live._agreement import Agreement, Conflict
from likewise.live.events import Event

__all__ = ["AgreementCounts"]

_MAX_CONFLICTS = 200


class AgreementCounts:
    """Counts of the pairs that several annotators decided.

    A pair is taken out as it was and put in as it is, whenever one of its judgements is made or
    undone; the others are not looked at.
    """

    def __init__(self) -> None:
        self._n_pairs = self._n_agreed = 0
        self._table: Counter[tuple[str, str]] = Counter()
        self._shared: Counter[str] = Counter()
        self._agreed: Counter[str] = Counter()
        self._conflicts: dict[tuple[str, str], dict[str, str]] = {}

    def change(
        self, pair: tuple[str, str], before: Sequence[Event], after: Sequence[Event]
    ) -> None:
        """Take in that other judgements of a pair are in force."""
        self._count(pair, _decided(before), -1)
        self._count(pair, _decided(after), 1)

    def summary(self, in_force_by: Counter[str]) -> Agreement:
        """Return the counts, with the judgements in force of each annotator."""
        return Agreement(
            self._n_pairs,
            self._n_agreed,
            _kappa(self._table),
            {
                name: {"judgements": n, "shared": self._shared[name], "agreed": self._agreed[name]}
                for name, n in in_force_by.items()
                if n
            },
            [
                Conflict(*pair, dict(answers))
                for pair, answers in islice(self._conflicts.items(), _MAX_CONFLICTS)
            ],
        )

    def _count(self, pair: tuple[str, str], answers: dict[str, str], sign: int) -> None:
        if len(answers) < 2:
            return
        agreed = len(set(answers.values())) == 1
        self._n_pairs += sign
        self._n_agreed += sign * agreed
        for name in answers:
            self._shared[name] += sign
            self._agreed[name] += sign * agreed
        for first, second in combinations(answers.values(), 2):
            self._table[first, second] += sign
        if sign < 0:
            self._conflicts.pop(pair, None)
        elif not agreed:
            self._conflicts[pair] = answers


def _decided(judged: Sequence[Event]) -> dict[str, str]:
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
