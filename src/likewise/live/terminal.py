"""Labelling in a terminal: two items, one key."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from likewise._runtime.text import printable, quote_path
from likewise.live.differences import shown_pair
from likewise.live.engine import Engine
from likewise.live.events import Answer
from likewise.live.exports import export_files
from likewise.live.items import MAX_SHOWN, Items
from likewise.live.pending import Offer

__all__ = ["label_in_terminal"]

_TAB = "terminal"
# Joiners, the signs that enclose Arabic and Syriac numbers, and the tags in flags.
_JOINS = re.compile("[\u200c\u200d\u0600-\u0605\u06dd\u070f\u08e2\U000e0020-\U000e007f]")
KEYS: dict[str, Answer] = {"s": "same", "d": "different", "u": "unsure"}
_MAX_TEXT, _MAX_NAME, _MAX_CELL = 2000, 24, 40
_HELP = "s same · d different · u unsure · z undo · e export · q quit"


def label_in_terminal(
    engine: Engine,
    annotator: str,
    read_key: Callable[[], str],
    write: Callable[[str], None],
    export_folder: Path,
) -> int:
    """Ask about pairs until the user quits or none is left.

    Parameters
    ----------
    engine : Engine
        Started.
    annotator : str
    read_key : callable
        Returns the next key.
    write : callable
        Shows a line.
    export_folder : path
        Where pairs, model and report are written on demand.

    Returns
    -------
    int
        Judgements that were made this time and not undone.
    """
    made: set[str] = set()
    for notice in engine.notices:
        write(notice)
    while (offer := engine.next(annotator, tab=_TAB)) is not None:
        for line in _lines(engine.items, offer):
            write(line)
        write(_HELP)
        key = read_key().lower()
        while key not in (*KEYS, "z", "e", "q"):
            key = read_key().lower()
        if key == "q":
            break
        if key == "e":
            for path in export_files(engine, annotator, export_folder):
                write(f"Written: {quote_path(path)}")
            continue
        if key == "z":
            write(_undo(engine, annotator, made))
            continue
        outcome = engine.judge(offer.left, offer.right, KEYS[key], annotator).result()
        made.add(outcome.event.id)
        stop = engine.evaluator.report["stop"]["message"]
        write(f"{KEYS[key]}; {engine.ledger.in_force_by[annotator]} judged. {stop}")
    else:
        write("All pairs were judged." if engine.all_judged else "No pair is left to ask about.")
    return len(made)


def _undo(engine: Engine, annotator: str, made: set[str]) -> str:
    """Undo the last answer of an annotator, also of an earlier time; return what is said."""
    latest = engine.ledger.latest_of(annotator)
    if latest is None:
        return "There is no answer to undo."
    engine.undo(latest.id, annotator, tab=_TAB).result()
    if latest.id in made:
        made.remove(latest.id)
        return "The last answer was undone: judge the pair again."
    again = ": judge the pair again" if latest.source in ("audit", "chosen") else ""
    return f"The last answer, which was given at an earlier time, was undone{again}."


def _lines(items: Items, offer: Offer) -> list[str]:
    pair = shown_pair(items, offer.left, offer.right)
    left, right = pair["left"], pair["right"]
    if pair["kind"] == "row":
        cells = zip(left["cells"], right["cells"], strict=True)
        lines = [_cell_line(own, other) for own, other in cells]
        return ["", *lines, *dict.fromkeys([*_notes(left), *_notes(right)])]
    lines = [""]
    if pair["kind"] == "text":
        further = _differ_further_on(items, left, right)
        for side in (left, right):
            lines += [f"— {_visible(side['id'])}", *_text_lines(side, further)]
            if side["length"] <= MAX_SHOWN:  # those of a longer text are about another cut
                lines += _notes(side)
        return lines
    for side in (left, right):  # where it can be looked at
        lines.append(f"— {quote_path(items.image_path(items.row_of(side['id'])))}")
        lines += _notes(side)
    return lines


def _cell_line(own: dict[str, Any], other: dict[str, Any]) -> str:
    texts = [_visible(cell["text"]) for cell in (own, other)]
    first, second = (_cut(text, _MAX_CELL) for text in texts)
    sign = "≠" if own["differs"] else " "
    line = f"{sign} {_cut(_visible(own['name']), _MAX_NAME):24} {first:40} {second}"
    hidden = own["differs"] and first == second and max(map(len, texts)) > _MAX_CELL
    return f"{line} (they differ further on)" if hidden else line


def _text_lines(side: dict[str, Any], further: bool) -> list[str]:
    """Return the beginning of a text, with differences in brackets, and whether it is cut."""
    text, room = "", _MAX_TEXT
    for part in side["parts"]:
        shown = part["text"][: max(room, 0)]
        room -= len(part["text"])
        if shown:
            text += f"[{shown}]" if part["differs"] else shown
    lines = [_visible(line) for line in text.splitlines()]
    if side["length"] > _MAX_TEXT:
        also = "; they differ further on" if further else ""
        lines.append(f"(The first {_MAX_TEXT} of {side['length']} characters are shown{also}.)")
    return lines


def _differ_further_on(items: Items, left: dict[str, Any], right: dict[str, Any]) -> bool:
    """Return whether two texts differ behind what is shown of them."""
    marked = False
    for side in (left, right):
        end = 0
        for part in side["parts"]:
            end += len(part["text"])
            marked |= part["differs"]
            if part["differs"] and end > _MAX_TEXT:
                return True
    if marked:
        return False
    # Of long texts not everything was compared.
    first, second = (items.columns["text"][items.row_of(side["id"])] for side in (left, right))
    return str(first) != str(second)


def _notes(side: dict[str, Any]) -> list[str]:
    """Return what is said of an item, such as that only a part of it is shown."""
    return [f"({_visible(note)})" for note in side.get("notes", ())]


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _visible(text: str) -> str:
    r"""Return text with characters that cannot be seen escaped, except those that join others.

    Emoji, Arabic, Persian and Indic scripts need them, and no terminal obeys them; controls and
    changes of the direction of writing stay escaped.
    """
    return "".join(c if _JOINS.match(c) else printable(c) for c in text)
