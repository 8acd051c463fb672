"""Names that fit into a figure and stay different."""

from __future__ import annotations

from collections.abc import Sequence

from likewise._runtime.text import printable

_MAX_NAME = 24  # characters: the figures cut off what is longer
_TAILS = (0.5, 0.75, 0.25)  # of a shortened name


def short_names(names: Sequence[str]) -> list[str]:
    """Return names that are shortened in the middle, so that those that differ still do."""
    visible = [printable(" ".join(str(name).split()), None) for name in names]
    n_different = len(set(visible))
    for share in _TAILS:
        short = [_shortened(name, share) for name in visible]
        if len(set(short)) == n_different:
            return short
    # They differ somewhere in the middle: a number tells them apart.
    numbers = {name: number for number, name in enumerate(dict.fromkeys(visible), 1)}
    return [
        name if len(name) <= _MAX_NAME else f"{_shortened(name, 0.5, _MAX_NAME - 5)} #{number}"
        for name, number in ((name, numbers[name]) for name in visible)
    ]


def _shortened(name: str, tail_share: float, most: int = _MAX_NAME) -> str:
    if len(name) <= most:
        return name
    n_tail = round(tail_share * (most - 1))
    return f"{name[: most - 1 - n_tail]}…{name[len(name) - n_tail :]}"
