"""``likewise adapt``."""

from __future__ import annotations

import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
import numpy as np

from likewise._runtime.arrays import Array, BoolArray, FloatingArray
from likewise._runtime.progress import overall_progress
from likewise._runtime.validation import check_finite, pluralize, warn_user
from likewise.adapter import EmbeddingAdapter
from likewise.cli import _options as option
from likewise.cli._data import Data, judged_pairs, read_data, vectors_of
from likewise.cli._export import check_destination, check_table, plan_lines, written_line
from likewise.cli._output import check_model_output, print_lines, show, show_estimate
from likewise.datasets import RawTable, read_labels
from likewise.datasets._columns import gaps_of
from likewise.export import TARGETS, AffineMap, export, plans


@click.command()
@click.argument("embeddings")
@option.options(
    click.option(
        "--labels",
        type=click.Path(dir_okay=False, path_type=Path),
        help="A file with one label for each row; an empty label means unlabelled.",
    ),
    click.option(
        "--label", metavar="COLUMN", help="The column with the labels, in --labels or EMBEDDINGS."
    ),
    click.option(
        "--pairs",
        type=click.Path(dir_okay=False, path_type=Path),
        help="A table of pairs (left, right, same) in place of labels.",
    ),
    option.id_option(", by which the pairs name the rows"),
    click.option("--unlabelled", metavar="FILE", help="Further embeddings, without judgements."),
    option.drop_option,
    option.format_option,
    click.option(
        "--side",
        type=click.Choice(["both", "query"]),
        default="both",
        show_default=True,
        help="Map all vectors, or queries only.",
    ),
    click.option(
        "--normalize/--no-normalize",
        default=None,
        help="Compare by cosine, or by Euclidean distance; else the lengths of the rows decide.",
    ),
    option.seed_option,
    option.output_option("the model", "adapter.safetensors"),
    click.option(
        "--export",
        "exported",
        type=(click.Choice(list(TARGETS)), click.Path(path_type=Path)),
        metavar="TARGET PATH",
        help="Write the map for this target, too, as likewise export does.",
    ),
    click.option("--table", help="For --export pgvector: the table of the vectors."),
    option.dry_run_option,
    option.json_option,
)
def adapt(
    embeddings: str,
    labels: Path | None,
    label: str | None,
    pairs: Path | None,
    id: str | None,
    unlabelled: str | None,
    drop: str | None,
    format: str | None,
    side: Any,
    normalize: bool | None,
    seed: int,
    output: Path,
    exported: tuple[str, Path] | None,
    table: str | None,
    dry_run: bool,
    json_file: Path | None,
) -> None:
    """Adapt EMBEDDINGS to labels or judged pairs where that is shown to help, and say so.

    EMBEDDINGS is the name of a data set, a NPY, NPZ, CSV, TSV or Parquet file, or - for stdin.
    Rows with an empty label, and those of --unlabelled, help without a label.

    \b
    Examples:
      likewise adapt embeddings.npy --labels topics.csv --unlabelled collection.npy
      likewise adapt embeddings.parquet --pairs judged.csv --id product --side query
      likewise adapt embeddings.npy --labels topics.txt --export faiss adapted.faiss
    """
    if exported is not None:
        check_destination(*exported)
    inputs: dict[str, Any] = {"EMBEDDINGS": embeddings, "--unlabelled": unlabelled}
    check_model_output(
        output,
        {"--export": None if exported is None else exported[1], "--json": json_file},
        inputs | {"--labels": labels, "--pairs": pairs},
    )
    check_table(None if exported is None else exported[0], table, "--export")
    if pairs is not None and (labels is not None or label is not None):
        raise ValueError("--labels and --label exclude --pairs: pairs take the place of labels.")
    found = read_data(
        embeddings,
        label if labels is None else None,
        ids=id,
        drop=option.listed(drop),
        labelled=None if labels is None and pairs is None else False,
        empty_labels=True,
        format=format,
    )
    X = _vectors(found.table)
    others = None if unlabelled is None else _further_vectors(unlabelled, drop, found.table, X)
    judged = judged_pairs(found, pairs)
    y = found.table.y if labels is None else read_labels(labels, len(X), label)
    if exported is not None:
        _rehearse(*exported, table, X.shape[1])
    adapter = EmbeddingAdapter(
        normalize="auto" if normalize is None else normalize, side=side, random_state=seed
    )
    n_vectors = len(X) + (0 if others is None else len(others))
    if dry_run:  # the cost depends on the size of all rows only
        show_estimate(json_file, adapter.estimate(np.broadcast_to(X[:1], (n_vectors, X.shape[1]))))
        return
    start = time.perf_counter()
    with overall_progress("adapting"):
        if judged is not None:
            adapter.fit_pairs(X, *judged, unlabelled=others)
            n_judgements = len(judged[0])
        else:
            known = _labelled_rows(y, found)
            left = X[~known] if others is None else np.concatenate([X[~known], others])
            known_labels = np.array(np.asarray(y)[known].tolist())
            adapter.fit(X[known], known_labels, unlabelled=left if len(left) else None)
            n_judgements = int(known.sum())
    facts = _describe(adapter, n_judgements, judged is not None, time.perf_counter() - start)
    lines = [adapter.verdict_]
    if exported is not None:
        to, path = exported
        options: dict[str, Any] = {"table": table} if table else {}
        if "vectors" in TARGETS[to].options:
            options["vectors"] = X if others is None else np.concatenate([X, others])
        export(adapter, to, path, **options)
        costs = plans(adapter, n_vectors)
        lines += [written_line(to, path, n_vectors), *plan_lines(costs, n_vectors)]
        facts |= {"exported": str(path), "returns": TARGETS[to].distance}
        facts |= {"plans": [asdict(plan) for plan in costs]}
    adapter.save(output)
    lines.insert(1, f"Wrote {output}: the model.")
    show(json_file, facts | {"written": str(output)}, lambda: print_lines(*lines))


def _vectors(table: RawTable) -> FloatingArray:
    X = vectors_of(table)
    check_finite(X, table.where)
    if n_zero := int((~X.any(axis=1)).sum()):
        warn_user(
            f"{pluralize(n_zero, 'row')} of {table.where} "
            f"{'is a zero vector' if n_zero == 1 else 'are zero vectors'}, without direction: "
            "leave such rows out of an index that compares by cosine."
        )
    return X


def _further_vectors(
    path: str, drop: str | None, table: RawTable, X: FloatingArray
) -> FloatingArray:
    """Return vectors without judgements, which must have the length of the others."""
    further = read_data(path, labelled=False).table
    names = [name for name in further.columns if name not in option.listed(drop)]
    others = _vectors(
        RawTable({name: further.columns[name] for name in names}, where=further.where)
    )
    if others.shape[1] != X.shape[1]:
        raise ValueError(
            f"{further.where} has vectors of {others.shape[1]} numbers, but those of "
            f"{table.where} have {X.shape[1]}."
        )
    return others.astype(X.dtype, copy=False)


def _labelled_rows(y: Array | None, data: Data) -> BoolArray:
    """Return which rows have a label."""
    if y is None:
        raise ValueError(
            f"{data.table.where} has no column of labels: name a file with labels (--labels), a "
            "column (--label) or a table of pairs (--pairs)."
        )
    known = ~gaps_of(y)
    if not known.any():
        raise ValueError("all labels are empty, but some rows must have one.")
    return known


def _rehearse(to: str, path: Path, table: str | None, d: int) -> None:
    """Raise before any work if an export would fail."""
    with tempfile.TemporaryDirectory() as folder:
        options = {"table": table} if table else {}
        export(AffineMap(np.eye(d), np.zeros(d), True), to, Path(folder) / "map", **options)


def _describe(
    adapter: EmbeddingAdapter, n_judgements: int, from_pairs: bool, seconds: float
) -> dict[str, Any]:
    return {
        "verdict": adapter.verdict_,
        "chosen": adapter.chosen_,
        "weight": adapter.weight_,
        "gain": adapter.gain_,
        "gain interval": list(adapter.gain_interval_),
        "needed": adapter.n_needed_,
        "normalize": adapter.normalize_,
        "side": adapter.side,
        "judged pairs" if from_pairs else "labelled rows": n_judgements,
        "features": adapter.n_features_in_,
        "seconds": round(seconds, 3),
    }
