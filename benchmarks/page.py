"""One Markdown page from all results: tables, targets, and where we lose."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from benchmarks.base import OURS
from benchmarks.contention import DISTURBED_CORES

Results = dict[str, Any]

LABELS = {
    "warm_s": "warm, s",
    "cold_s": "cold, s",
    "cpu_s": "CPU, s",
    "peak_mb": "peak, MB",
    "baseline_mb": "after imports, MB",
}

TIMES = ("warm_s", "cold_s", "cpu_s")

HEAD = """\
# Benchmarks

Made by `python -m benchmarks page` from the JSON files beside it; do not edit.

Each rival runs in a fresh process, on the same arrays, with the same number of threads; rivals take
turns. *Warm* is a second call in the same process, or the median of up to nine where one takes a
moment; *cold* is the import and the first call (NumPy itself is imported before the clock starts);
*CPU* is the processor time of the warm call, all threads together; *peak* is the most memory the
process ever held, of which *after imports* is what it held, with its data, before the first call.
Numbers are medians (of errors: means over splits),
with the lowest and the highest run in brackets; × is the ratio to ours, so above 1 we are better.
Ratios, not times, carry over to other machines. Runs wait until other programs use less than a
tenth of a core, and are made again if one used more meanwhile; patience has an end, so disturbed
runs may remain: they are left out, and rows that have no other are named. Of a rival that times out
only a bound is known: "more than".
"""


def read(folder: Path) -> list[Results]:
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]


def render(all_results: list[Results]) -> str:
    losses = [loss for results in all_results for loss in where_we_lose(results)]
    losses = losses or ["Nowhere, in what was measured here."]
    parts = [HEAD, "## Where we lose\n", *(f"- {loss}" for loss in losses), ""]
    parts += [section(results) for results in all_results]
    return "\n".join(parts)


def section(results: Results) -> str:
    """Return what one benchmark measured, under which conditions, and whether that was the aim."""
    before, after = results["load_average"]
    lines = [
        f"## {results['benchmark']}\n",
        "\n".join(line.strip() for line in results["about"].splitlines()),
        "",
        f"{results['date'][:10]}, commit {results['commit']}; {results['cpu']}, "
        f"{results['cores']} cores, {results['threads']} threads; at most "
        f"{results['repeats'] * results['seeds']} runs each; load average {before:.1f} before, "
        f"{after:.1f} after; {_versions(results['versions'])}.\n",
    ]
    lines += [f"{sentence}\n" for sentence in disturbances(results)]
    for dataset in dict.fromkeys(row["dataset"] for row in results["rows"]):
        lines += [*_table(results, dataset), ""]
    if results.get("plot"):
        lines.append(f"![growth]({picture(results)})\n")
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
    """Yield a warning for every row of which no run was alone on the machine."""
    for row in filter(_is_disturbed, results["rows"]):
        yield (
            f"**Disturbed**: {row['rival']} on {row['dataset']} ran while others used "
            f"{row['values']['others_cores']['median']:.2f} cores; its ratio is not to be trusted."
        )


def where_we_lose(results: Results) -> Iterator[str]:
    """Yield a sentence for every measure in which a rival is better, and every target missed."""
    for dataset in dict.fromkeys(row["dataset"] for row in results["rows"]):
        place = f"**{results['benchmark']}**, {dataset}"
        ours, rivals = _split(results, dataset)
        if ours["status"] != "ok":
            yield f"{place}: we have no result: {ours['status']} ({ours['detail']})."
            continue
        for measure in results["measures"]:
            mine = ours["values"][measure]
            for row in rivals:
                other = row["values"][measure]
                theirs, own = (_middle(results, measure, value) for value in (other, mine))
                if theirs < own:
                    close = other["high"] >= mine["low"]
                    yield (
                        f"{place}: {row['rival']} is better in {label(measure)}: "
                        f"{_number(theirs)} against {_number(own)}"
                        f"{', though the runs overlap' if close else ''}."
                    )
    for target in targets(results):
        if target["verdict"].startswith("missed"):
            yield (
                f"**{results['benchmark']}**, {target['dataset']}: target missed: "
                f"{target['wanted']}; reached {target['reached']}."
            )


def targets(results: Results) -> Iterator[dict[str, str]]:
    """Yield each target with what was reached, for each data set that it speaks of."""
    for target in results["targets"]:
        measure, times = target["measure"], target["times"]
        for dataset in dict.fromkeys(row["dataset"] for row in results["rows"]):
            if not fnmatch(dataset, target["dataset"]):
                continue
            row = target.get("row", OURS)
            ours, rivals = _split(results, dataset, row)
            whose = "" if row == OURS else f"{row}: "
            against = target.get("against")
            if against:
                rivals = [rival for rival in rivals if rival["rival"] == against]
            if times:
                whom = against or "the best rival"
                wanted = f"{whose}{label(measure)}: {times:g} × less than {whom}"
            else:
                wanted = f"{whose}{label(measure)}: below {target['below']:g}"
            if target.get("note"):
                wanted += f" ({target['note']})"
            said = {"wanted": wanted, "dataset": dataset}
            late = _late(results, dataset) if measure in TIMES else {}
            late = {name: s for name, s in late.items() if against in (None, name)}
            if ours["status"] != "ok" or (times and not rivals and not late):
                yield {**said, "reached": "no result", "verdict": "missed"}
                continue
            mine = _middle(results, measure, ours["values"][measure])
            if times:
                found = {
                    row["rival"]: _middle(results, measure, row["values"][measure])
                    for row in rivals
                }
                found |= late
                best = min(found, key=found.__getitem__)
                reached = found[best] / mine
                more = "more than " * (best in late)
                shown, met = f"{more}{reached:.2f} × ({best})", reached >= times
                doubt = ", but disturbed" * any(map(_is_disturbed, (ours, *rivals)))
                error = target.get("standard_error")
                if error and not met:
                    other = next(row for row in rivals if row["rival"] == best)
                    noise = _standard_error(results, error, (ours, other))
                    met = bool(mine * times <= found[best] + 2 * noise)
                    doubt = f", within two standard errors ({_number(noise)})" * met + doubt
            else:
                shown, met, doubt = _number(mine), mine < target["below"], ""
            yield {**said, "reached": shown, "verdict": ("reached" if met else "missed") + doubt}


def picture(results: Results) -> str:
    """Return the file name of a benchmark's picture."""
    return f"{results['benchmark']}.svg"


def _table(results: Results, dataset: str) -> list[str]:
    measures, facts = results["measures"], results["facts"]
    rows = [row for row in results["rows"] if row["dataset"] == dataset]
    ours, _ = _split(results, dataset)
    shape = rows[0]["shape"]
    title = f"{dataset} ({shape[0]} × {shape[1]})" if shape else dataset
    columns = [title]
    for measure in measures:
        columns += [label(measure), "×"]
    columns += [label(fact) for fact in facts]
    lines = [_line(columns), _line(["---", *["---:"] * (len(columns) - 1)])]
    for row in rows:
        if row["status"] != "ok":
            told = f"*{row['status']}*: {row['detail']}".replace("|", "\\|")
            lines.append(_line([row["rival"], told, *[""] * (len(columns) - 2)]))
            continue
        cells = [row["rival"]]
        for measure in measures:
            value = row["values"][measure]
            numbers = _middle(results, measure, value), value["low"], value["high"]
            cells.append("{} [{}–{}]".format(*map(_number, numbers)))
            cells.append(_ratio(results, measure, value, ours["values"].get(measure)))
        cells += [_number(row["values"][fact]["median"]) for fact in facts]
        lines.append(_line(cells))
    return lines


def _is_disturbed(row: dict) -> bool:
    return row["values"].get("others_cores", {"median": 0.0})["median"] > DISTURBED_CORES


def _split(results: Results, dataset: str, name: str = OURS) -> tuple[dict, list[dict]]:
    """Return our row, and those of the rivals that have a result."""
    rows = [row for row in results["rows"] if row["dataset"] == dataset]
    ours = next(row for row in rows if row["rival"] == name)
    return ours, [row for row in rows if row["rival"] != name and row["status"] == "ok"]


def _middle(results: Results, measure: str, value: dict) -> float:
    """Return the number that stands for all runs."""
    return value["mean" if measure in results.get("averaged", ()) else "median"]


def _standard_error(results: Results, fact: str, rows: tuple[dict, dict]) -> float:
    """Return that of a difference of two means: runs of one seed are no new evidence."""
    return sum(row["values"][fact]["median"] ** 2 / results["seeds"] for row in rows) ** 0.5


def _late(results: Results, dataset: str) -> dict[str, float]:
    """Return the rivals that timed out, each with the seconds that it surely needs."""
    return {
        row["rival"]: results["surely_s"]
        for row in results["rows"]
        if row["dataset"] == dataset and row["status"] == "timed out"
    }


def _ratio(results: Results, measure: str, value: dict, ours: dict | None) -> str:
    mine = _middle(results, measure, ours) if ours else 0
    return f"{_middle(results, measure, value) / mine:.2f}" if mine else ""


def label(measure: str) -> str:
    return LABELS.get(measure, measure.replace("_", " "))


def _number(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _versions(versions: dict[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())
