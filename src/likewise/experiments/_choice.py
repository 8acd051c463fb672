"""Choices between settings by errors on rows that were not learned from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import numpy as np

Candidate = TypeVar("Candidate")
Part = TypeVar("Part")


def choose(
    candidates: Sequence[Candidate],
    errors: Callable[[Part], Sequence[float]],
    parts: Iterable[Part],
) -> Candidate:
    """Return the candidate with the lowest mean error over several parts; the first of equals.

    Parameters
    ----------
    candidates : sequence
        What is chosen from. A single one is chosen without any errors.
    errors : callable
        Returns the error of each candidate on a part: rows to learn from, and others.
    parts : iterable
        The parts.
    """
    if len(candidates) == 1:
        return candidates[0]
    means = np.mean([errors(part) for part in parts], axis=0)
    return candidates[int(np.argmin(means))]
