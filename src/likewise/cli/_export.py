"""``likewise export``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from likewise._files import load
from likewise.cli._output import check_writable, print_lines
from likewise.export import TARGETS, export, install_pgvector, plans

_SUFFIXES = {"numpy": ".npz", "onnx": ".onnx", "faiss": ".faiss", "pgvector": ".sql"}


@click.command("export")
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--to", type=click.Choice(list(TARGETS)), help="Where the model goes.")
@click.option("--output", type=click.Path(path_type=Path), help="The file or folder to write.")
@click.option("--table", help="pgvector: the table of the vectors.")
@click.option("--column", default="embedding", help="pgvector: the column of the vectors.")
@click.option("--id-column", default="id", help="pgvector: the column that tells rows apart.")
@click.option(
    "--plan",
    type=click.Choice(["query-only", "re-index"]),
    default="query-only",
    help="pgvector: what is stored.",
)
@click.option("--database", metavar="URI", help="pgvector: run the SQL here instead.")
@click.option(
    "--vectors", default=100_000, show_default=True, help="Stored vectors, for the costs of plans."
)
def export_command(
    model: Path,
    to: str | None,
    output: Path | None,
    table: str | None,
    column: str,
    id_column: str,
    plan: str,
    database: str | None,
    vectors: int,
) -> None:
    """Write the metric of MODEL for a vector index, a database or an encoder.

    MODEL is a file that a model's save has written. Without --to, only the plans are printed: what
    re-indexing, searching with the vectors as they are, and reranking a shortlist would cost.

    \b
    Examples:
      likewise export model.safetensors --vectors 1000000
      likewise export model.safetensors --to onnx
      likewise export model.safetensors --to pgvector --table items --plan re-index
    """
    loaded = load(model)
    found = plans(loaded, vectors)
    if (to == "pgvector") != (table is not None):
        raise ValueError("--table is needed for --to pgvector, and for no other target.")
    if database is not None and to != "pgvector":
        raise ValueError("--database is for --to pgvector only.")
    where: dict[str, Any] = {
        "table": table,
        "column": column,
        "id_column": id_column,
        "plan": plan,
    }
    if database is not None:
        install_pgvector(loaded, database, **where)
        print_lines(f"Installed in table {table}: search returns {TARGETS['pgvector'].distance}.")
    elif to is not None:
        path = output or model.with_suffix(_SUFFIXES.get(to, "") or ".modules")
        check_writable(path)
        export(loaded, to, path, **(where if to == "pgvector" else {}))
        print_lines(f"Wrote {path}: {TARGETS[to].output}. It returns {TARGETS[to].distance}.")
    print_lines(f"Plans for {vectors} vectors:", *str(found).splitlines())
