"""One Markdown page from all results: where we lose, tables and targets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from benchmarks.comparison import (
    NEGLIGIBLE,
    Results,
    Row,
    amount,
    datasets_of,
    is_disturbed,
    label,
    not_compared,
    number,
    ratio,
    row_named,
    rows_of,
    targets,
    where_we_lose,
)

HEAD = """\
# Benchmarks

Made by `python -m benchmarks page` from the JSON files beside it; do not edit.

Each rival runs in a fresh process, on the same arrays, with the same number of threads; rivals take
turns. *Cold* is the import and the first call (NumPy is imported before the clock starts). *Warm*
is a second call in the same process, or the median of several where calls are short. *CPU* is the
processor time of the warm call, over all threads. *Peak* is the largest memory of the process up to
the end of the first call; *added* is the part of it beyond the peak before that call, after imports
and with the data loaded. Numbers are medians over runs (of errors: means over splits), with the
lowest and the highest run in brackets.

× is the ratio to ours: above 1, we are better. Ratios, not times, carry over to other machines. The
time of a rival that timed out is only bounded from below, and so is its ratio: ">". An empty cell
was not measured.

Runs wait until other processes use less than a tenth of a core, and are repeated if these used more
meanwhile, for a limited time. Disturbed runs that remain are left out; rows that have no others are
named.
"""

LOSSES = f"""\
## Where we lose

Listed are rivals (other packages, plain NumPy, the Euclidean distance) that are better in warm
time, in added memory (by more than {NEGLIGIBLE["added_mb"]:g} MB), in an objective or in an error,
and targets that are not reached. Cold times and peaks are mostly the cost of imports and are not
counted. Where several rows are ours, only the row `likewise` is compared, and only with rivals.
"""


def read(folder: Path) -> list[Results]:
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]


def render(all_results: list[Results]) -> str:
    losses = [loss for results in all_results for loss in where_we_lose(results)]
    sure = [f"- {loss.sentence}" for loss in losses if not loss.within_noise]
    noise = [f"- {loss.sentence}" for loss in losses if loss.within_noise]
    parts = [HEAD, LOSSES, *(sure or ["- Nowhere, in what was measured here."]), ""]
    if noise:
        parts += ["Rivals that are better by no more than the noise:\n", *noise, ""]
    unknown = [
        f"- **{results['benchmark']}**: {', '.join(map(label, measures))}."
        for results in all_results
        if (measures := not_compared(results))
    ]
    if unknown:
        parts += ["Not measured for our row, so that we may lose there:\n", *unknown, ""]
    parts += [section(results) for results in all_results]
    return "\n".join(parts)


def section(results: Results) -> str:
    """Return the tables of one benchmark, the conditions of the runs, and its targets."""
    before, after = results["load_average"]
    lines = [
        f"## {results['benchmark']}\n",
        "\n".join(line.strip() for line in results["about"].splitlines()),
        "",
        f"{results['date'][:10]}, commit {results['commit']}{_older_commit(results)}; "
        f"{results['cpu']}, "
        f"{results['cores']} cores, {results['threads']} threads; at most "
        f"{results['repeats'] * results['seeds']} runs each; load average {before:.1f} before, "
        f"{after:.1f} after; {_versions(results['versions'])}.\n",
    ]
    lines += [f"{sentence}\n" for sentence in disturbances(results)]
    for dataset in datasets_of(results):
        lines += [*_table(results, dataset), ""]
    if results.get("plot"):
        lines.append(f"![growth]({figure(results)})\n")
    if results["targets"]:
        lines += ["| target | data | reached | |", "|---|---|---|---|"]
        lines += [
            "| {wanted} | {dataset} | {reached} | {verdict} |".format(**t) for t in targets(results)
        ]
        lines.append("")
    others = {
        _versions(row["versions"]): row["rival"]
        for row in results["rows"]
        if "versions" in row and row["versions"] != results["versions"]
    }
    lines += [f"{rival} ran on {versions}.\n" for versions, rival in others.items()]
    return "\n".join(lines)


def disturbances(results: Results) -> Iterator[str]:
    """Yield a warning for every row of which each run was disturbed."""
    for row in filter(is_disturbed, results["rows"]):
        yield (
            f"**Disturbed**: {row['rival']} on {row['dataset']} ran while other processes used "
            f"{row['values']['others_cores']['median']:.2f} cores; its times are not reliable."
        )


def figure(results: Results) -> str:
    """Return the file name of a benchmark's figure."""
    return f"{results['benchmark']}.svg"


def _table(results: Results, dataset: str) -> list[str]:
    measures, facts = results["measures"], results["facts"]
    rows = rows_of(results, dataset)
    ours = row_named(results, dataset)
    shape = rows[0]["shape"]
    columns = [f"{dataset} ({shape[0]} × {shape[1]})" if shape else dataset]
    for measure in measures:
        columns += [label(measure), "×"]
    columns += [label(fact) for fact in facts]
    lines = [_line(columns), _line(["---", *["---:"] * (len(columns) - 1)])]
    for row in rows:
        cells = [row["rival"]]
        if row["status"] != "ok":
            cells[0] += f": *{row['status']}*, {row['detail']}".replace("|", "\\|")
        for measure in measures:
            found = amount(results, row, measure)
            cells += [_cell(results, row, measure), ratio(found, amount(results, ours, measure))]
        for fact in facts:
            value = row["values"].get(fact)
            cells.append(number(value["median"]) if value else "")
        lines.append(_line(cells))
    return lines


def _cell(results: Results, row: Row, measure: str) -> str:
    found = amount(results, row, measure)
    if found is None:
        return ""
    if found.is_bound:
        return f"> {number(found.value)}"
    value = row["values"][measure]
    return f"{number(found.value)} [{number(value['low'])}–{number(value['high'])}]"


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _older_commit(results: dict) -> str:
    commit = results.get("commit_before")
    return f" (before: {commit})" if commit else ""


def _versions(versions: dict[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())
