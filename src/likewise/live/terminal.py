"""Labelling in a terminal: two items, one key."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from likewise._runtime.text import printable, quote_path
from likewise.live.differences import shown_pair
from likewise.live.engine import Engine
from likewise.live.events import Answer
from likewise.live.exports import export_files
from likewise.live.items import Items
from likewise.live.pending import Offer

__all__ = ["label_in_terminal"]

_TAB = "terminal"
KEYS: dict[str, Answer] = {"s": "same", "d": "different", "u": "unsure"}
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
        Judgements that were made and not undone.
    """
    made: list[str] = []
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
            if made:
                engine.undo(made.pop(), annotator, tab=_TAB).result()
                write("The last answer was undone: judge the pair again.")
            continue
        outcome = engine.judge(offer.left, offer.right, KEYS[key], annotator).result()
        made.append(outcome.event.id)
        stop = engine.evaluator.report["stop"]["message"]
        write(f"{KEYS[key]}; {len(made)} judged. {stop}")
    return len(made)


def _lines(items: Items, offer: Offer) -> list[str]:
    pair, lines = shown_pair(items, offer.left, offer.right), [""]
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
        else:  # where it can be looked at
            lines.append(f"— {quote_path(items.image_path(items.row_of(side['id'])))}")
    return lines
