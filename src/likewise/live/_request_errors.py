"""What is wrong with a request, in a sentence that repeats nothing of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from likewise._runtime.text import quote
from likewise._runtime.validation import pluralize

__all__ = ["describe_request_error"]

_NEEDED = {
    "uuid": "a UUID",
    "string": "a text",
    "int": "a whole number",
    "finite": "a whole number",  # no other is asked for
    "list": "a list",
    "tuple": "a list",
    "model": "an object",
}
_LIMITS = {
    "string_too_short": "at least {min_length} must be there",
    "string_too_long": "at most {max_length} are allowed",
    "too_short": "at least {min_length} must be there",
    "too_long": "at most {max_length} are allowed",
    "greater_than_equal": "at least {ge} is needed",
    "less_than_equal": "at most {le} is allowed",
    "literal_error": "{expected} is needed",
}


def describe_request_error(errors: Sequence[Mapping[str, Any]], content_type: str) -> str:
    """Return what is wrong, what was found there, by its kind only, and what is allowed.

    Parameters
    ----------
    errors : sequence of dict
        Those of pydantic; the first is described.
    content_type : str
        That header of the request, or "".

    Returns
    -------
    str
    """
    error = errors[0]
    kind, where, found = error["type"], _place(error["loc"]), error.get("input")
    if isinstance(found, bytes):  # a body that was not read as JSON
        shown = quote(content_type) if content_type else "missing"
        return f"the header Content-Type is {shown}, but application/json is needed."
    if kind == "json_invalid":
        return f"the body is not JSON (at character {error['loc'][-1]}), but JSON is needed."
    if kind == "missing":
        return f"{where} is missing, but it is needed."
    if kind == "extra_forbidden":
        return f"{where} is not known here; leave it out."
    if kind == "string_unicode":
        return f"{where} has half of a surrogate pair, but a text of Unicode is needed."
    found = {"greater_than_equal": "too small", "less_than_equal": "too large"}.get(
        kind, _kind_of(found)
    )
    return f"{where} is {found}, but {_needed(kind, error.get('ctx', {}))}."


def _place(location: Sequence[int | str]) -> str:
    """Return where in a request something is, such as "pairs[3][0] of the body"."""
    part, *steps = location
    if not steps:
        return f"the {part}"
    name = "".join(
        f"[{step}]" if isinstance(step, int) else f".{_name(step)}" for step in steps
    ).removeprefix(".")
    return f"{name} of the {part}"


def _name(step: str) -> str:
    """Return the name of a field; where a request made it up, in quotes and without surrogates."""
    return step if step.isascii() and step.isidentifier() and len(step) < 40 else quote(step)


def _kind_of(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a truth value"
        case float() if value != value or value in (float("inf"), float("-inf")):
            return "not a finite number"
        case int() | float():
            return "a number"
        case str():
            return f"a text of {pluralize(len(value), 'character')}"
        case list() | tuple():
            return f"a list of {pluralize(len(value), 'element')}"
    return "an object"


def _needed(kind: str, context: Mapping[str, Any]) -> str:
    if kind in _LIMITS:
        return _LIMITS[kind].format(**context)
    return f"{_NEEDED.get(kind.partition('_')[0], 'another value')} is needed"
