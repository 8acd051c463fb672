"""What a threshold is chosen for, as text such as "fmr<=0.001"."""

from __future__ import annotations

import re
from dataclasses import dataclass

from likewise._runtime.text import quote

ALLOWED = "'eer', 'accuracy', 'fmr<=RATE', 'fnmr<=RATE', 'precision>=RATE' or 'recall>=RATE'"
_CONDITION = re.compile(r"\s*(fmr|fnmr|precision|recall)\s*(<=|>=|≤|≥)\s*([^\s%]+)\s*(%?)\s*")
_RELATIONS = {"fmr": "<=", "fnmr": "<=", "precision": ">=", "recall": ">="}


@dataclass(frozen=True)
class Target:
    """A condition on a rate, or a criterion to optimise.

    Attributes
    ----------
    name : {"eer", "accuracy", "fmr", "fnmr", "precision"}
        "recall>=r" is "fnmr<=1-r".
    rate : float
        0 for a criterion.
    text : str
        As it was given.
    """

    name: str
    rate: float
    text: str


def parse_target(target: object) -> Target:
    """Return the meaning of a target, or raise an error."""
    text = str(target) if isinstance(target, str) else ""
    lowered = text.lower()
    if lowered.strip() in ("eer", "accuracy"):
        return Target(lowered.strip(), 0.0, text)
    match = _CONDITION.fullmatch(lowered)
    if match is None:
        raise ValueError(f"target={quote(target)} is not allowed: {ALLOWED} is needed.")
    name, relation, number, percent = match.groups()
    relation = {"≤": "<=", "≥": ">="}.get(relation, relation)
    if relation != _RELATIONS[name]:
        raise ValueError(
            f"target={quote(target)} is not allowed: {name} must be {_RELATIONS[name]} a rate."
        )
    if set(number) & set("<>=≤≥"):
        raise ValueError(f"target={quote(target)} is not allowed: one condition is, not several.")
    try:
        rate = float(number) / (100 if percent else 1)
    except ValueError:
        rate = -1.0
    if not 0 < rate < 1:
        raise ValueError(
            f"target={quote(target)} is not allowed: the rate must be a number above 0 and below 1."
        )
    if name == "recall":
        return Target("fnmr", 1 - rate, text)
    return Target(name, rate, text)
