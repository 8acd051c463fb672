"""``likewise compare``."""

from __future__ import annotations

import functools
import hashlib
import os
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

from likewise import evaluation
from likewise._runtime.arrays import Array, BoolArray, IndexArray
from likewise._runtime.progress import Overall, overall_progress
from likewise._runtime.time_left import Range
from likewise.cli import _options as option
from likewise.cli._data import Data
from likewise.cli._output import (
    check_outputs,
    print_comparison,
    print_lines,
    print_note,
    show,
    show_estimate,
)
from likewise.cli._repeat import fit_command
from likewise.cli._suggestions import suggest_data
from likewise.cli._table import Table, table_options
from likewise.datasets._download import cache_folder
from likewise.evaluation.cost import PAIR_REPEATS, REPEATS, PlannedFits

FIRST_ROWS = 4000
_MOST_SECONDS = 120  # of a first ranking


@click.command()
@click.argument("data", default="digits", shell_complete=suggest_data)
@option.options(
    *table_options,
    option.methods_option,
    option.k_option,
    click.option(
        "--repeats",
        type=option.Integer(min=1),
        help="Repeats of 5 stratified folds, or of 3 splits of pairs.  [default: 2, or 3]",
    ),
    option.seed_option,
    option.dry_run_option,
    option.json_option,
    click.option(
        "--report",
        "report_file",
        metavar="FILE",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Write a report as one HTML file, too.",
    ),
)
def compare(
    methods: str | None,
    k: int,
    repeats: int | None,
    seed: int,
    dry_run: bool,
    json_file: Path | None,
    report_file: Path | None,
    **given: Any,
) -> None:
    """Compare metrics on DATA and say which to use.

    DATA is the name of a data set (see likewise datasets), a CSV, TSV, Parquet, NPZ or NPY file, or
    - for stdin; digits by default. Where a data set has an official test part, that part is left
    out. With --pairs, and for data sets of pairs, metrics are compared by how well they tell same
    pairs from different ones. Of more than 4000 rows, a first ranking on 4000 of them is printed
    after at most two minutes; an interrupted run continues when the same command is given again.

    \b
    Examples:
      likewise compare digits
      likewise compare flowers.csv --label species --methods Euclidean,FDA --json result.json
      likewise compare words.csv --label word --groups speaker --drop id
      likewise compare shop.csv --label brand --drop title --encode --impute
      likewise compare products.csv --pairs judged.csv --id product
    """
    table = Table(**given)
    check_outputs({"--json": json_file, "--report": report_file}, table.inputs)
    problem = _read(table)
    named = option.listed(methods) or None
    usual = REPEATS if problem.judged is None else PAIR_REPEATS
    n_repeats = usual if repeats is None else repeats
    if dry_run:
        size = problem.size
        found = evaluation.estimate_compare(*size[:2], named, n_pairs=size[2], n_repeats=n_repeats)
        show_estimate(json_file, found)
        return
    options: dict[str, Any] = {
        "n_repeats": n_repeats,
        "groups": problem.found.table.groups,
        "standardize": not table.raw,
        "feature_names": problem.feature_names,
        "random_state": seed,
    }
    with overall_progress("comparing", after=0.5, nested=False) as work:
        options["progress"] = work.move
        comparison = _compare(problem, named, options, k, json_file, work)
    fitting = fit_command(table, comparison, seed)
    result = {"data": problem.found.name, **comparison.to_dict()}
    result["fit"] = None if fitting is None else fitting[1]

    def print_it() -> None:
        print_comparison(comparison)
        if fitting is not None:
            print_lines("To fit {}: {}".format(*fitting))

    show(json_file, result, print_it)
    if report_file is not None:
        _report(report_file, table, problem, comparison)


class _Problem(NamedTuple):
    """Rows as numbers, with their labels in `found` or with judged pairs."""

    found: Data
    X: Array
    judged: tuple[IndexArray, BoolArray] | None
    feature_names: list[str]
    remarks: list[str]

    @property
    def size(self) -> tuple[Array, Any, int | None]:
        """Rows, and labels or the number of judged pairs."""
        if self.judged is None:
            return self.X, self.found.table.y, None
        return self.X, None, len(self.judged[0])


def _read(table: Table) -> _Problem:
    found = table.read()
    judged = table.judged_pairs(found)  # before the encoder, to which ids are a column of text
    X, feature_names, remarks = table.encoded(found)
    return _Problem(found, X, judged, feature_names, remarks)


def _compare(
    problem: _Problem,
    methods: list[str] | None,
    options: dict[str, Any],
    n_neighbors: int,
    json_file: Path | None,
    work: Overall,
) -> evaluation.Comparison | evaluation.PairComparison:
    X, y, n_pairs = problem.size
    planned = functools.partial(PlannedFits.of, X, y, methods, n_pairs, options["n_repeats"])
    if problem.judged is not None:
        work.expect(lambda: [planned().expected()])
        return evaluation.compare_pairs(problem.X, *problem.judged, methods, **options)
    options = options | {"n_neighbors": n_neighbors}
    if len(X) <= FIRST_ROWS:
        work.expect(lambda: [planned().expected()])
        return evaluation.compare(X, y, methods, **options)
    return _compare_many_rows(X, y, methods, options, json_file, work)


def _report(file: Path, table: Table, problem: _Problem, comparison: Any) -> None:
    """Write the report of a comparison."""
    from likewise.cli._report import about_data
    from likewise.report import write_report
    from likewise.report._cost import expected_stages

    found, judged = problem.found, problem.judged
    about = about_data(table, found, problem.X.shape[1])
    if judged is not None:
        about |= {"pairs": judged[0], "same": judged[1]}
    X, labels, n_pairs = problem.size
    methods = list(comparison.estimators)
    with overall_progress("reporting", after=0.5, nested=False) as work:
        work.expect(lambda: expected_stages(X, labels, methods, n_pairs=n_pairs)[1:])
        write_report(
            file,
            X,
            labels,
            groups=found.table.groups,
            comparison=comparison,
            feature_names=problem.feature_names,
            remarks=problem.remarks,
            progress=work.move,
            **about,
        )


def _compare_many_rows(
    X: Array,
    y: Any,
    methods: list[str] | None,
    options: dict[str, Any],
    json_file: Path | None,
    work: Overall,
) -> evaluation.Comparison:
    """Compare on all rows, first on some of them, and so that the run can be resumed."""
    settings = {name: value for name, value in options.items() if name != "progress"}
    journal = journal_file(X, y, [methods, settings])
    begun = journal is not None and journal.exists()
    work.expect(lambda: _stages(X, y, methods, options["n_repeats"], begun=begun))
    if not begun:
        of_some = {name: value for name, value in options.items() if name != "n_repeats"}
        ranking = evaluation.first_ranking(X, y, methods, max_rows=FIRST_ROWS, **of_some)
        print_note(str(ranking), stdout=str(json_file) != "-")
    else:
        print_note("This comparison was begun before, and goes on.", stdout=False)
    try:
        done = evaluation.compare(X, y, methods, journal=journal, **options)
    except KeyboardInterrupt:
        if journal is not None and journal.exists():
            print_note("Finished fits are kept: the same command goes on from here.", stdout=False)
        raise
    if journal is not None:
        journal.unlink(missing_ok=True)
    return done


def _stages(
    X: Array, y: Any, methods: list[str] | None, n_repeats: int, *, begun: bool
) -> list[Range]:
    """Return the fewest and the most seconds of the first ranking and of the comparison."""
    fewest, most = PlannedFits.of(X, y, methods, None, n_repeats).expected()
    if begun:  # how much of it is done is not known
        return [(0.0, most)]
    least, longest = PlannedFits.of(X[:FIRST_ROWS], y, methods, None, 1).expected()
    first = min(least, _MOST_SECONDS), min(longest, _MOST_SECONDS)
    return [first, (fewest, most)]


def journal_file(X: Array, y: Any, settings: Any) -> Path | None:
    """Return the file for finished fits of a comparison, in the cache; None if it is read-only."""
    digest = hashlib.sha256(repr(settings).encode())
    digest.update(np.ascontiguousarray(X).data)
    digest.update(repr(np.asarray(y).tolist()).encode())
    folder = cache_folder() / "comparisons"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder / f"{digest.hexdigest()[:16]}.jsonl" if os.access(folder, os.W_OK) else None
