"""Compare our rows with those of the rivals: ratios, targets, and where we lose."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from typing import Any

from benchmarks.base import OURS
from benchmarks.contention import DISTURBED_CORES

Results = dict[str, Any]
Row = dict[str, Any]

LABELS = {
    **{
        f"{measure}_{name}": f"{measure} at {percent} %"
        for measure in ("uncovered", "bound", "broken", "refused")
        for name, percent in (("01", "0.1"), ("1", "1"), ("5", "5"))
    },
    "warm_s": "warm, s",
    "cold_s": "cold, s",
    "cpu_s": "CPU, s",
    "peak_mb": "peak, MB",
    "added_mb": "added, MB",
    "device_s": "device, s",
    "device_mb": "device, MB",
}
TIMES = ("warm_s", "cold_s", "cpu_s", "device_s")
# Mostly the cost of imports: shown and compared in the tables, but no loss.
IMPORTS = ("cold_s", "peak_mb")
# The first call starts threads and finishes lazy imports: less than this is no loss.
NEGLIGIBLE = {"added_mb": 5.0}


@dataclass(frozen=True)
class Amount:
    """What a row needs of a measure, or only a lower bound where it timed out."""

    value: float
    is_bound: bool = False

    def __str__(self) -> str:
        return "more than " * self.is_bound + number(self.value)


def amount(results: Results, row: Row, measure: str) -> Amount | None:
    """Return what stands for all runs of a row, or None where nothing is known."""
    if measure in row["values"]:
        statistic = "mean" if measure in results.get("averaged", ()) else "median"
        return Amount(row["values"][measure][statistic])
    bound = row.get("lower_bounds", {}).get(measure)
    return Amount(bound, is_bound=True) if bound else None


def ratio(theirs: Amount | None, mine: Amount | None) -> str:
    """Return the ratio to ours, with the sign of a bound; nothing where it may be any number."""
    if theirs is None or mine is None or mine.value == 0 or (theirs.is_bound and mine.is_bound):
        return ""
    sign = "> " * theirs.is_bound + "< " * mine.is_bound
    return f"{sign}{theirs.value / mine.value:.2f}"


def rows_of(results: Results, dataset: str) -> list[Row]:
    return [row for row in results["rows"] if row["dataset"] == dataset]


def datasets_of(results: Results) -> list[str]:
    return list(dict.fromkeys(row["dataset"] for row in results["rows"]))


def row_named(results: Results, dataset: str, name: str = OURS) -> Row:
    return next(row for row in rows_of(results, dataset) if row["rival"] == name)


def rivals_of(results: Results, dataset: str) -> list[Row]:
    """Return all rows but ours, of which there may be several."""
    return [
        row
        for row in rows_of(results, dataset)
        if row["rival"] != OURS and not row.get("ours", False)
    ]


def is_disturbed(row: Row) -> bool:
    return row["values"].get("others_cores", {"median": 0.0})["median"] > DISTURBED_CORES


@dataclass(frozen=True)
class Loss:
    """A sentence, and whether what it says may be chance."""

    sentence: str
    within_noise: bool = False


def where_we_lose(results: Results) -> Iterator[Loss]:
    """Yield every loss that matters, and every target that is not reached."""
    for dataset in datasets_of(results):
        place = f"**{results['benchmark']}**, {dataset}"
        ours = row_named(results, dataset)
        if ours["status"] != "ok":
            yield Loss(f"{place}: we have no result: {ours['status']} ({ours['detail']}).")
        for measure in results["measures"]:
            for row in rivals_of(results, dataset) if measure not in IMPORTS else ():
                if _may_be_better(results, measure, row, ours):
                    yield _loss(results, measure, row, ours, place)
    for target in targets(results):
        if not target["verdict"].startswith("reached"):
            yield Loss(
                f"**{results['benchmark']}**, {target['dataset']}: target {target['verdict']}: "
                f"{target['wanted']}; reached {target['reached']}."
            )


def not_compared(results: Results) -> list[str]:
    """Return the measures that rivals have but our row, where it has a result, has not."""
    return [
        measure
        for measure in results["measures"]
        if measure not in IMPORTS
        and any(
            row_named(results, dataset)["status"] == "ok"
            and amount(results, row_named(results, dataset), measure) is None
            and any(amount(results, row, measure) for row in rivals_of(results, dataset))
            for dataset in datasets_of(results)
        )
    ]


def _may_be_better(results: Results, measure: str, row: Row, ours: Row) -> bool:
    theirs, mine = (amount(results, one, measure) for one in (row, ours))
    if theirs is None or mine is None or (theirs.is_bound and mine.is_bound):
        return False
    return theirs.value < mine.value - NEGLIGIBLE.get(measure, 0)


def _loss(results: Results, measure: str, row: Row, ours: Row, place: str) -> Loss:
    theirs, mine = (amount(results, one, measure) for one in (row, ours))
    against = f"{label(measure)}: {theirs} against {mine}"
    if theirs.is_bound:
        return Loss(f"{place}: {row['rival']} timed out, and may be better in {against}.")
    doubt, error = "", f"{measure}_se"
    if error in row["values"] and error in ours["values"]:
        noise = _standard_error(results, error, (row, ours))
        if mine.value - theirs.value <= 2 * noise:
            doubt = f", within two standard errors ({number(noise)})"
    elif not mine.is_bound and row["values"][measure]["high"] >= ours["values"][measure]["low"]:
        doubt = ", though the runs overlap"
    sentence = f"{place}: {row['rival']} is better in {against}{doubt}."
    return Loss(sentence, within_noise=bool(doubt))


def targets(results: Results) -> Iterator[dict[str, str]]:
    """Yield each target with what was reached, for each data set that it is for."""
    for target in results["targets"]:
        for dataset in datasets_of(results):
            if fnmatch(dataset, target["dataset"]):
                reached, verdict = _reached(results, dataset, target)
                outcome = {"reached": reached, "verdict": verdict}
                yield {"wanted": _wanted(target), "dataset": dataset, **outcome}


def _wanted(target: dict[str, Any]) -> str:
    row = target.get("row", OURS)
    whose = "" if row == OURS else f"{row}: "
    goal = (
        f"{target['times']:g} × less than {target.get('against') or 'the best rival'}"
        if target["times"]
        else f"below {target['below']:g}"
    )
    note = f" ({target['note']})" if target.get("note") else ""
    return f"{whose}{label(target['measure'])}: {goal}{note}"


def _reached(results: Results, dataset: str, target: dict[str, Any]) -> tuple[str, str]:
    """Return what was reached, and the verdict: reached, missed or undecided, and what is doubtful.

    It is undecided where the target is missed by a lower bound but not by a measured time.
    """
    measure, times = target["measure"], target["times"]
    ours = row_named(results, dataset, target.get("row", OURS))
    mine = amount(results, ours, measure)
    if mine is None or mine.is_bound:
        return "no result", "missed"
    if not times:
        return str(mine), "reached" if mine.value < target["below"] else "missed"
    against = target.get("against")
    rivals = (
        [row for row in rows_of(results, dataset) if row["rival"] == against]
        if against
        else rivals_of(results, dataset)
    )
    amounts = {row["rival"]: amount(results, row, measure) for row in rivals}
    found = {name: known for name, known in amounts.items() if known is not None}
    if not found:
        return "no result", "missed"
    best = min(found, key=lambda name: found[name].value)
    theirs = found[best]
    shown = f"{'more than ' * theirs.is_bound}{theirs.value / mine.value:.2f} × ({best})"
    disturbed = measure in TIMES and any(map(is_disturbed, (ours, *rivals)))
    doubt = ", but disturbed" * disturbed
    if theirs.value >= times * mine.value:
        return shown, "reached" + doubt
    if all(one.is_bound or one.value >= times * mine.value for one in found.values()):
        return shown, "undecided" + doubt
    error = target.get("standard_error")
    if error:
        noise = _standard_error(results, error, (ours, row_named(results, dataset, best)))
        if mine.value * times <= theirs.value + 2 * noise:
            return shown, f"reached, within two standard errors ({number(noise)}){doubt}"
    return shown, "missed" + doubt


def _standard_error(results: Results, fact: str, rows: tuple[Row, Row]) -> float:
    """Return that of a difference of two means: runs of one seed are no new evidence."""
    return sum(row["values"][fact]["median"] ** 2 / results["seeds"] for row in rows) ** 0.5


def label(measure: str) -> str:
    return LABELS.get(measure, measure.replace("_", " "))


def number(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"
