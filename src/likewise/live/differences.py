"""Where two items differ, for people who compare them."""

from __future__ import annotations

import difflib
import re
from typing import Any

from likewise._runtime.validation import pluralize
from likewise.live.items import MAX_CELLS, MAX_SHOWN, Items

__all__ = ["mark_differences", "shown_pair"]

_MAX_WORDS = 1500
_WORD = re.compile(r"\s+|\w+|[^\w\s]")
Parts = list[dict[str, Any]]


def mark_differences(left: str, right: str) -> tuple[Parts, Parts]:
    """Split two texts into parts that both have, and parts that differ.

    What both begin and end with is not counted: of the words between, the first 1500 are compared.

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
    return _compare(left, right)[0]


def _compare(left: str, right: str) -> tuple[tuple[Parts, Parts], bool]:
    """Return the marked parts of two texts, and whether all of their words were compared."""
    words = _WORD.findall(left), _WORD.findall(right)
    begin = _n_common(*words)
    rests = [side[begin:] for side in words]
    end = _n_common(rests[0][::-1], rests[1][::-1])
    between = [side[: len(side) - end] for side in rests]
    one, other = (side[: _first_words(side)] for side in between)
    matcher = difflib.SequenceMatcher(None, one, other, autojunk=len(one) + len(other) > 800)
    parts: tuple[Parts, Parts] = ([], [])
    for side in (0, 1):
        _add(parts[side], words[side][:begin], differs=False)
    for kind, a, b, c, d in matcher.get_opcodes():
        _add(parts[0], one[a:b], differs=kind != "equal")
        _add(parts[1], other[c:d], differs=kind != "equal")
    for side, compared in ((0, one), (1, other)):
        _add(parts[side], words[side][begin + len(compared) :], differs=False)
    return parts, len(one) + len(other) == len(between[0]) + len(between[1])


def _n_common(one: list[str], other: list[str]) -> int:
    """Return how many words two texts have in common at their beginning."""
    n = min(len(one), len(other))
    return next((i for i in range(n) if one[i] != other[i]), n)


def _first_words(words: list[str]) -> int:
    """Return where the first `_MAX_WORDS` words end, spaces not counted."""
    places = [i for i, word in enumerate(words) if not word.isspace()]
    return len(words) if len(places) <= _MAX_WORDS else places[_MAX_WORDS]


def _add(parts: Parts, words: list[str], *, differs: bool) -> None:
    """Add words to the last part, if that one differs or not as they do, else as a new one."""
    if not words:
        return
    if parts and parts[-1]["differs"] == differs:
        parts[-1]["text"] += "".join(words)
    else:
        parts.append({"text": "".join(words), "differs": differs})


def shown_pair(items: Items, left: str, right: str) -> dict[str, Any]:
    """Return what is shown of a pair: its kind and both sides, with differences marked.

    Where something of a side is not shown or not compared, its `notes` say so in sentences.
    """
    rows = items.row_of(left), items.row_of(right)
    texts = items.texts(rows[0]), items.texts(rows[1])
    differing = {name for name in texts[0] if texts[0][name] != texts[1][name]}
    names = list(texts[0])
    if len(names) > MAX_CELLS:  # those that differ first: the others may be left out
        names = sorted(names, key=lambda name: name not in differing)
    sides = [items.shown(row, names[:MAX_CELLS]) for row in rows]
    notes: list[str] = []
    if items.kind == "text":
        parts, whole = _compare(sides[0].pop("text"), sides[1].pop("text"))
        for side, marked in zip(sides, parts, strict=True):
            side["parts"] = marked
        if not whole:
            notes.append(
                f"Only {_MAX_WORDS} words from the first difference on are compared: later ones "
                "that are not marked may differ, too."
            )
    elif items.kind == "row":
        for side in sides:
            side["cells"] = [
                {"name": name, "text": text, "differs": name in differing}
                for name, text in side["cells"].items()
            ]
        if hidden := names[MAX_CELLS:]:
            n_differing = sum(name in differing for name in hidden)
            notes.append(
                f"{len(hidden)} of {pluralize(len(names), 'column')} "
                f"{'is' if len(hidden) == 1 else 'are'} not shown; {n_differing or 'none'} of them "
                f"{'differ' if n_differing > 1 else 'differs'}."
            )
    for own, other, side in zip(texts, texts[::-1], sides, strict=True):
        cut = [_cut_note(items.kind, name, own[name], other[name]) for name in names[:MAX_CELLS]]
        if found := [*notes, *filter(None, cut)]:
            side["notes"] = found
    return {"kind": items.kind, "left": sides[0], "right": sides[1]}


def _cut_note(kind: str, name: str, own: str, other: str) -> str:
    """Return what is said of a text or cell that is too long to be shown, or nothing."""
    if len(own) <= MAX_SHOWN:
        return ""
    if own[MAX_SHOWN:] == other[MAX_SHOWN:]:
        rest = "the rest is the same in both"
    elif own[:MAX_SHOWN] == other[:MAX_SHOWN]:
        rest = "the rest differs"
    else:
        rest = "the rest is not compared"
    where = "" if kind == "text" else f" of {name}"
    return f"Only the first {MAX_SHOWN:,} of {len(own):,} characters{where} are shown; {rest}."
