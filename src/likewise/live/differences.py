"""Where two items differ, for people who compare them."""

from __future__ import annotations

import difflib
import re
from typing import Any

from likewise.live.items import Items

__all__ = ["mark_differences", "shown_pair"]

_MAX_WORDS = 1500
_WORD = re.compile(r"\s+|\w+|[^\w\s]")
Parts = list[dict[str, Any]]


def mark_differences(left: str, right: str) -> tuple[Parts, Parts]:
    """Split two texts into parts that both have, and parts that differ.

    Texts of more than 1500 words are not compared beyond them.

    Parameters
    ----------
    left, right : str

    Returns
    -------
    tuple of two lists
        Of dicts with the keys "text" and "differs"; the texts of a list make up the whole.

    Examples
    --------
    >>> from likewise.live.differences import mark_differences
    >>> mark_differences("green tea", "black tea")[0]
    [{'text': 'green', 'differs': True}, {'text': ' tea', 'differs': False}]
    """
    first, second = _WORD.findall(left), _WORD.findall(right)
    one, other = first[:_MAX_WORDS], second[:_MAX_WORDS]
    matcher = difflib.SequenceMatcher(None, one, other, autojunk=len(one) + len(other) > 800)
    parts: tuple[Parts, Parts] = ([], [])
    for kind, a, b, c, d in matcher.get_opcodes():
        for side, words in ((0, one[a:b]), (1, other[c:d])):
            if words:
                parts[side].append({"text": "".join(words), "differs": kind != "equal"})
    for side, words in ((0, first[_MAX_WORDS:]), (1, second[_MAX_WORDS:])):
        if words:
            parts[side].append({"text": "".join(words), "differs": False})
    return parts


def shown_pair(items: Items, left: str, right: str) -> dict[str, Any]:
    """Return what is shown of a pair: its kind and both sides, with differences marked."""
    rows = items.row_of(left), items.row_of(right)
    sides = [items.shown(row) for row in rows]
    if items.kind == "text":
        for side, parts in zip(
            sides, mark_differences(sides[0].pop("text"), sides[1].pop("text")), strict=True
        ):
            side["parts"] = parts
    elif items.kind == "row":
        differing = items.differing_cells(*rows)
        for side in sides:
            side["cells"] = [
                {"name": name, "text": text, "differs": name in differing}
                for name, text in side["cells"].items()
            ]
    return {"kind": items.kind, "left": sides[0], "right": sides[1]}
