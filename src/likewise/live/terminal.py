"""Labelling in a terminal: two items, one key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from likewise._runtime.text import printable
from likewise.live.differences import shown_pair
from likewise.live.engine import Engine
from likewise.live.events import Answer

__all__ = ["label_in_terminal"]

KEYS: dict[str, Answer] = {"s": "same", "d": "different", "u": "unsure"}
_HELP = "s same · d different · u unsure · z undo · q quit"


def label_in_terminal(
    engine: Engine, annotator: str, read_key: Callable[[], str], write: Callable[[str], None]
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

    Returns
    -------
    int
        Judgements that were made and not undone.
    """
    made: list[str] = []
    while (offer := engine.next(annotator, tab="terminal")) is not None:
        for line in _lines(shown_pair(engine.items, offer.left, offer.right)):
            write(line)
        write(_HELP)
        key = read_key().lower()
        while key not in (*KEYS, "z", "q"):
            key = read_key().lower()
        if key == "q":
            break
        if key == "z":
            if made:
                engine.undo(made.pop(), annotator).result()
                write("The last answer was undone.")
            continue
        outcome = engine.judge(offer.left, offer.right, KEYS[key], annotator).result()
        made.append(outcome.event.id)
        stop = engine.evaluator.report["stop"]["message"]
        write(f"{KEYS[key]}; {len(made)} judged. {stop}")
    return len(made)


def _lines(pair: dict[str, Any]) -> list[str]:
    lines = [""]
    if pair["kind"] == "row":
        for own, other in zip(pair["left"]["cells"], pair["right"]["cells"], strict=True):
            sign = "≠" if own["differs"] else " "
            lines.append(
                printable(
                    f"{sign} {own['name'][:24]:24} {own['text'][:40]:40} {other['text'][:40]}"
                )
            )
        return lines
    for name in ("left", "right"):
        side = pair[name]
        if pair["kind"] == "text":
            marked = (f"[{p['text']}]" if p["differs"] else p["text"] for p in side["parts"])
            text = "".join(marked)
            lines += [f"— {printable(side['id'])}", *map(printable, text[:2000].splitlines())]
        else:
            lines.append(f"— {printable(side['id'])}")
    return lines
