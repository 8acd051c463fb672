"""Assertions that several checks share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def assert_raises_clear_error(call: Callable[[], Any], *words: str) -> None:
    """Assert that `call` raises a ValueError whose message is one sentence containing `words`."""
    try:
        call()
    except ValueError as error:
        message = str(error)
    else:
        raise AssertionError("no ValueError was raised")
    missing = [word for word in words if word not in message]
    assert not missing, f"{missing} missing from the message: {message}"
    assert "\n" not in message, f"the message has more than one line: {message}"
    assert message.endswith("."), f"the message does not end with a full stop: {message}"
