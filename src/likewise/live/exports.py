"""The files that can be exported at any time: pairs, model and report."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from likewise import _files
from likewise.live.engine import Engine
from likewise.live.report import report_html

__all__ = ["EXPORTS", "export_files", "model_file", "pairs_csv", "report_file"]


def pairs_csv(engine: Engine, annotator: str) -> bytes:
    """Return the judgements in force, of all annotators, as a table."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["left", "right", "answer", "annotator", "audit", "id"])
    for event in engine.in_force():
        cells = (event.left, event.right, event.answer, event.annotator)
        writer.writerow([*cells, int(event.source == "audit"), event.id])
    return text.getvalue().encode()


def model_file(engine: Engine, annotator: str) -> bytes:
    """Return the present model as a safetensors file."""
    return _files.content_of(engine.model())


def report_file(engine: Engine, annotator: str) -> bytes:
    """Return the report as an HTML file."""
    return report_html(engine.progress(annotator), asdict(engine.agreement())).encode()


EXPORTS: dict[str, Callable[[Engine, str], bytes]] = {
    "pairs.csv": pairs_csv,
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
