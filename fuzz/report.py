"""What a part of the suite returns."""

from __future__ import annotations

import traceback
from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Report:
    """Outcomes of random cases: how many of each kind, and a description of every failure."""

    outcomes: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    @property
    def n_cases(self) -> int:
        return sum(self.outcomes.values())

    def add(self, outcome: str) -> None:
        """Count a case that ended as it may."""
        self.outcomes[outcome] += 1

    def fail(self, case: str, error: BaseException | None = None) -> None:
        """Count a failure and keep its description."""
        self.outcomes["failed"] += 1
        trace = "" if error is None else "\n" + "".join(traceback.format_exception(error)[-4:])
        self.failures.append(case + trace)

    def __str__(self) -> str:
        counts = ", ".join(f"{count} {name}" for name, count in sorted(self.outcomes.items()))
        return f"{self.n_cases} cases: {counts}"
