"""The files that an experiment writes."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from likewise._runtime.writing import write_atomically
from likewise.experiments._experiment import Experiment, Result, Trial
from likewise.experiments._tables import markdown
from likewise.plotting._style import style


def write_results(path: Path, results: Mapping[str, Any]) -> list[Path]:
    """Write the JSON and the Markdown file next to `path`, a name without an ending."""
    contents = {".json": f"{_as_json(results)}\n", ".md": markdown(results)}
    return [_write(path, ending, text.encode()) for ending, text in contents.items()]


def _as_json(results: Mapping[str, Any]) -> str:
    """Return JSON with one line per number, but one line per trial for what is kept of trials."""
    dump = partial(json.dumps, ensure_ascii=False, allow_nan=False)
    lines = ",\n  ".join(dump(entry) for entry in results["details"])
    text = dump({**results, "details": []}, indent=1)
    return text.replace('"details": []', f'"details": [\n  {lines}\n ]') if lines else text


def write_figures(
    path: Path, experiment: Experiment, results: Mapping[Trial, Result]
) -> list[Path]:
    """Draw the figures as SVG and PNG; equal results give equal files."""
    written: list[Path] = []
    if not experiment.figures:
        return written
    with style():
        from matplotlib import rcParams

        rcParams["svg.hashsalt"] = "likewise"
        for declared in experiment.figures:
            figure = declared.draw(results)
            for kind, metadata in (("svg", {"Date": None}), ("png", {"Software": None})):
                buffer = io.BytesIO()
                figure.savefig(buffer, format=kind, metadata=metadata)
                written.append(_write(path, f"-{declared.name}.{kind}", buffer.getvalue()))
    return written


def _write(path: Path, ending: str, content: bytes) -> Path:
    file = path.with_name(path.name + ending)
    write_atomically(file, content)
    return file
