"""Whether annotators agree where several judged the same pair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from likewise.live.ledger import Ledger

__all__ = ["Agreement", "Conflict", "agreement"]


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
    return ledger.agreement.summary(ledger.in_force_by)
