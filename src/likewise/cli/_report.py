"""``likewise report``."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from likewise._runtime.progress import overall_progress
from likewise._runtime.text import quote
from likewise.cli import _options as option
from likewise.cli._data import Data
from likewise.cli._output import check_outputs, print_lines, show, show_estimate
from likewise.cli._suggestions import suggest_data
from likewise.cli._table import Table, table_options

# Height and width of the pictures in well-known data sets.
_PICTURES = {"digits": (8, 8), "digits8x8": (8, 8), "mnist": (28, 28), "usps": (16, 16)}


@click.command()
@click.argument("data", default="digits", shell_complete=suggest_data)
@option.options(
    option.output_option("the report", "report.html"),
    *table_options,
    option.methods_option,
    option.k_option,
    click.option("--text", metavar="COLUMN", help="The column that says in words what a row is."),
    click.option("--image", metavar="HxW", help="Rows are pictures of this height and width."),
    option.seed_option,
    option.dry_run_option,
    option.json_option,
)
def report(
    output: Path,
    methods: str | None,
    k: int,
    text: str | None,
    image: str | None,
    seed: int,
    dry_run: bool,
    json_file: Path | None,
    **given: Any,
) -> None:
    """Compare metrics on DATA and write a report as one HTML file.

    DATA is as for likewise compare. The file needs no network and no other file: send it, print it
    or keep it. The column of --text is shown, and is no feature.

    \b
    Examples:
      likewise report digits
      likewise report flowers.csv --label species --output flowers.html
      likewise report shop.csv --label brand --text title --encode --impute
      likewise report products.csv --pairs judged.csv --id product --methods Euclidean,ITML
    """
    from likewise.report import estimate_report, write_report
    from likewise.report._cost import expected_stages

    table = Table(**given)
    check_outputs({"--output": output, "--json": json_file}, table.inputs)
    found = table.read()
    judged = table.judged_pairs(found)
    about: dict[str, Any] = {}
    if text is not None:
        found, about["texts"] = _without_text(found, text)
    X, about["feature_names"], about["remarks"] = table.encoded(found)
    named = option.listed(methods) or None
    labels = None if judged is not None else found.table.y
    n_pairs = None if judged is None else len(judged[0])
    if dry_run:
        show_estimate(json_file, estimate_report(X, labels, named, n_pairs=n_pairs))
        return
    about |= about_data(table, found, X.shape[1], image=image, text=text)
    if judged is not None:
        about |= {"pairs": judged[0], "same": judged[1]}
    with overall_progress("reporting", after=0.5, nested=False) as work:
        work.expect(lambda: expected_stages(X, labels, named, n_pairs=n_pairs))
        summary = write_report(
            output,
            X,
            labels,
            groups=found.table.groups,
            methods=named,
            n_neighbors=k,
            standardize=not table.raw,
            random_state=seed,
            progress=work.move,
            **about,
        )
    said = summary["answer"]["sentence"], f"Wrote {output}."
    show(json_file, summary, lambda: print_lines(*said))


def about_data(
    table: Table, found: Data, n_features: int, *, image: str | None = None, text: str | None = None
) -> dict[str, Any]:
    """Return what a report says of the data beyond their numbers: names, pictures, loading."""
    shape = _PICTURES.get(table.data)
    if image is not None:
        sides = re.fullmatch(r"(\d+)x(\d+)", image)
        if sides is None:
            raise ValueError(
                f"--image is {quote(image)}, but height and width such as 8x8 are needed."
            )
        shape = int(sides[1]), int(sides[2])
    elif shape is not None and np.prod(shape) != n_features:
        shape = None
    about: dict[str, Any] = {
        "name": found.name,
        "image_shape": shape,
        "ids": found.table.ids,
        "loading": table.loading_code(found, also_dropped=text),
    }
    if found.dataset is not None and found.dataset.classes is not None:
        about["class_names"] = None if found.table.y is None else found.dataset.classes
    return about


def _without_text(found: Data, text: str) -> tuple[Data, list[str]]:
    """Return the data without a column, and its cells as text."""
    columns = dict(found.table.columns)
    if text not in columns:
        raise ValueError(
            f"--text names the column {quote(text)}, but {found.table.where} has no such column."
        )
    cells = columns.pop(text)
    table = replace(found.table, columns=columns)
    return found._replace(table=table), ["" if cell is None else str(cell) for cell in cells]
