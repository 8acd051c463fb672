"""``likewise export``."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from likewise._files import load
from likewise._runtime.text import list_some, quote_path
from likewise._runtime.validation import pluralize
from likewise.cli._describe import inner_model, input_names
from likewise.cli._options import json_option
from likewise.cli._output import check_outputs, check_writable, print_lines, show
from likewise.export import TARGETS, Plans, export, install_pgvector, plans
from likewise.export.sentence_transformers_folder import check_new_folder

_SUFFIXES = {"numpy": ".npz", "onnx": ".onnx", "faiss": ".faiss", "pgvector": ".sql"}


@click.command("export")
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--to", type=click.Choice(list(TARGETS)), help="Where the model goes.")
@click.option("--output", type=click.Path(path_type=Path), help="The file or folder to write.")
@click.option("--table", help="pgvector: the table of the vectors.")
@click.option("--column", show_default="embedding", help="pgvector: the column of the vectors.")
@click.option("--id-column", show_default="id", help="pgvector: the column that tells rows apart.")
@click.option(
    "--plan",
    type=click.Choice(["query-only", "re-index"]),
    show_default="query-only",
    help="pgvector: what is stored.",
)
@click.option(
    "--indexable",
    is_flag=True,
    help="pgvector, query-only: store vectors for an index of inner products.",
)
@click.option("--database", metavar="URI", help="pgvector: run the SQL here instead.")
@click.option(
    "--vectors", default=100_000, show_default=True, help="Stored vectors, for the costs of plans."
)
@json_option
def export_command(
    model: Path,
    to: str | None,
    output: Path | None,
    table: str | None,
    column: str | None,
    id_column: str | None,
    plan: str | None,
    indexable: bool,
    database: str | None,
    vectors: int,
    json_file: Path | None,
) -> None:
    """Write the metric of MODEL for a vector index, a database or an encoder.

    MODEL is a file that a model's save has written. Without --to, only the plans are printed: what
    re-indexing, searching with the vectors as they are, and reranking a shortlist would cost.

    \b
    Examples:
      likewise export model.safetensors --vectors 1000000
      likewise export model.safetensors --to onnx
      likewise export model.safetensors --to pgvector --table items --plan re-index
      likewise export model.safetensors --to pgvector --table items --indexable
    """
    written = None
    if to is not None and database is None:
        written = output or _default_output(model, to)
        check_destination(to, written)
    check_outputs({"--output": written, "--json": json_file}, {"MODEL": model})
    loaded = load(model)
    found = plans(loaded, vectors)
    where: dict[str, Any] = {
        "column": column,
        "id_column": id_column,
        "plan": plan,
        "indexable": indexable or None,
    }
    where = {name: value for name, value in where.items() if value is not None}
    given = [*where, *(["database"] if database is not None else [])]
    if to != "pgvector" and given:
        raise ValueError(f"--{given[0].replace('_', '-')} is for --to pgvector only.")
    check_table(to, table, "--to")
    if output is not None and (to is None or database is not None):
        raise ValueError("--output is the file or folder of --to, but no file is written.")
    if table is not None:
        where["table"] = table
    lines = []
    if database is not None:
        install_pgvector(loaded, database, **where)
        lines = [f"Installed in table {table}: search returns {TARGETS['pgvector'].distance}."]
    elif to is not None and written is not None:
        export(loaded, to, written, **where)
        lines = [written_line(to, written)]
    inputs, threshold = input_names(loaded), getattr(inner_model(loaded), "threshold_", None)
    if lines:
        lines += _input_lines(inputs, threshold)
    lines += plan_lines(found, vectors)
    result = {
        "written": None if written is None else str(written),
        "returns": None if to is None else TARGETS[to].distance,
        "inputs": inputs,
        "threshold": None if threshold is None else float(threshold),
        "vectors": vectors,
        "plans": [asdict(plan) for plan in found],
    }
    show(json_file, result, lambda: print_lines(*lines))


def _input_lines(inputs: list[str] | None, threshold: float | None) -> list[str]:
    """Say what the numbers are that the map takes, and that it does not decide pairs."""
    lines = []
    if inputs is not None:
        line = f"It takes {pluralize(len(inputs), 'number')}, in this order: {list_some(inputs)}."
        if any("=" in name for name in inputs):
            line += " A number column=word is 1 where the cell is that word, and else 0."
        lines.append(line)
    if threshold is not None:
        lines.append(
            f"The threshold is not part of it: pairs up to a distance of {threshold:.6g} are same."
        )
    return lines


def _default_output(model: Path, to: str) -> Path:
    """Return the model's path with the suffix of a target; there must be nothing yet."""
    path = model.with_suffix(_SUFFIXES.get(to, ".modules"))
    if os.path.lexists(path):
        raise ValueError(
            f"{quote_path(path)} exists already, and may be something else than an earlier export: "
            "say (--output) which file to write."
        )
    return path


def check_table(to: str | None, table: str | None, option: str) -> None:
    """Raise an error if the table of pgvector is not named, or that of another target is."""
    if (to == "pgvector") != (table is not None):
        raise ValueError(f"--table is needed for {option} pgvector, and for no other target.")


def check_destination(to: str, path: Path) -> None:
    """Raise before any work if a target cannot be written there."""
    if to == "sentence-transformers":
        check_new_folder(path)
    check_writable(path)


def written_line(to: str, path: Path, n_vectors: int = 0) -> str:
    """Return what was written for a target; `n_vectors` are in the index, where it is one."""
    line = f"Wrote {path}: {TARGETS[to].output}. It returns {TARGETS[to].distance}."
    if "vectors" in TARGETS[to].options:
        line += f" It has {pluralize(n_vectors, 'vector') if n_vectors else 'no vectors yet'}."
    return line


def plan_lines(found: Plans, vectors: int) -> list[str]:
    """Return the costs of plans, as they are printed."""
    return [f"Plans for {vectors} vectors:", *str(found).splitlines()]
