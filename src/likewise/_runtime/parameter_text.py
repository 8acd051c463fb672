"""Values of parameters that are given as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from likewise._runtime.text import quote
from likewise._runtime.validation import Rule


def parse_parameter(owner: str, name: str, text: str, rule: Rule | None) -> Any:
    """Return the value that a text stands for: the first reading of it that the rule allows."""
    for value in _readings(text.strip()):
        if rule is None or rule.holds(value):
            return value
    assert rule is not None
    raise ValueError(f"{name}={quote(text)} is not allowed: {owner} needs {rule.allowed}.")


def _readings(text: str) -> Iterator[Any]:
    """Yield what a text may mean, the narrowest meaning first."""
    words = {"none": None, "true": True, "false": False}
    if text.casefold() in words:
        yield words[text.casefold()]
    for number in (int, float):
        try:
            yield number(text)
        except ValueError:
            continue
    yield text
