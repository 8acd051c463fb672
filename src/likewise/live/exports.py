"""The files that can be exported at any time: pairs, judgements, model and report."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from likewise import _files
from likewise.live.engine import Engine
from likewise.live.events import ANSWERS, Event
from likewise.live.ledger import pair_key
from likewise.live.report import report_html

__all__ = [
    "EXPORTS",
    "export_files",
    "judgements_csv",
    "model_file",
    "pairs_csv",
    "report_file",
]


def pairs_csv(engine: Engine, annotator: str) -> bytes:
    """Return the decided pairs as a table, one row each, which `likewise fit --pairs` reads.

    The majority of the judgements in force decides; pairs with a tie, or with *unsure* alone, are
    left out.
    """
    judged: dict[tuple[str, str], list[Event]] = {}
    for event in engine.in_force():
        judged.setdefault(pair_key(event.left, event.right), []).append(event)
    rows: list[Sequence[Any]] = []
    for events in judged.values():
        counts = Counter(event.answer for event in events)
        if counts["same"] != counts["different"]:
            same = int(counts["same"] > counts["different"])
            numbers = [counts[answer] for answer in ANSWERS]
            audit = int(any(event.source == "audit" for event in events))
            rows.append([events[0].left, events[0].right, same, *numbers, audit])
    return _table(["left", "right", "same", *(f"n_{answer}" for answer in ANSWERS), "audit"], rows)


def judgements_csv(engine: Engine, annotator: str) -> bytes:
    """Return the judgements in force, of all annotators, as a table."""
    return _table(
        ["left", "right", "answer", "annotator", "audit", "id"],
        (
            [e.left, e.right, e.answer, e.annotator, int(e.source == "audit"), e.id]
            for e in engine.in_force()
        ),
    )


def model_file(engine: Engine, annotator: str) -> bytes:
    """Return the present model as a safetensors file."""
    return _files.content_of(engine.model())


def report_file(engine: Engine, annotator: str) -> bytes:
    """Return the report as an HTML file."""
    return report_html(engine.progress(annotator), asdict(engine.agreement())).encode()


EXPORTS: dict[str, Callable[[Engine, str], bytes]] = {
    "pairs.csv": pairs_csv,
    "judgements.csv": judgements_csv,
    "model.safetensors": model_file,
    "report.html": report_file,
}


def export_files(engine: Engine, annotator: str, folder: Path) -> list[Path]:
    """Write all exports to a folder, which is made if need be; return their paths."""
    folder.mkdir(exist_ok=True)
    paths = []
    for name, make in EXPORTS.items():
        paths.append(folder / name)
        paths[-1].write_bytes(make(engine, annotator))
    return paths


def _table(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(names)
    writer.writerows(rows)
    return text.getvalue().encode()
