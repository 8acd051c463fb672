"""Results as tables of text, and as Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_QUICK = (
    "This is the quick size, with fewer rows, data sets or runs than the paper: its numbers are "
    "not compared with the paper's."
)


@dataclass(frozen=True)
class Table:
    """A table of text: one measure, data sets by methods.

    Attributes
    ----------
    title : str
        The measure.
    heading : tuple of str
        Headings of the columns.
    rows : tuple of tuples of str
        The cells, row by row.
    """

    title: str
    heading: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def tables(results: Mapping[str, Any]) -> list[Table]:
    """Return one table per measure from what the JSON file of an experiment holds.

    A cell has our mean ± its standard error and, where the paper has the number, in parentheses
    the paper's value ± its standard deviation and the mark.
    """
    return [
        _table(results, measure)
        for measure in results["measures"]
        if any(cell["measure"] == measure["name"] for cell in results["cells"])
    ]


def summary_sentence(results: Mapping[str, Any]) -> str:
    """Return how many cells agree with the paper; empty if it has no numbers.

    Cells of the quick size are not compared.
    """
    if results["quick"]:
        return _QUICK
    everything = _shares(results["marks"], "numbers in the paper")
    own = _shares(results.get("own_marks", {}), "numbers of its own methods")
    return " ".join(sentence for sentence in (everything, own) if sentence)


def _shares(marks: Mapping[str, int], what: str) -> str:
    total = sum(marks.values())
    if not total:
        return ""
    share = (marks["better"] + marks["same"]) / total
    return (
        f"Of {total} {what} {marks['same']} are the same within two standard errors, "
        f"{marks['better']} better and {marks['worse']} worse: {share:.0%} the same or better."
    )


def markdown(results: Mapping[str, Any]) -> str:
    """Return the results as a page of Markdown."""
    lines = [
        f"# {results['experiment']}: {results['title']}",
        "",
        f"{results['paper']}, {results['place']}.",
        "",
        results["protocol"],
        "",
        *notes(results),
    ]
    for table in tables(results):
        lines += [f"## {table.title}", "", _row(table.heading), _row(["---"] * len(table.heading))]
        lines += [*map(_row, table.rows), ""]
    for figure in results["figures"]:
        lines += [f"![{figure['caption']}]({figure['name']}.svg)", "", figure["caption"], ""]
    return "\n".join(lines)


def notes(results: Mapping[str, Any]) -> list[str]:
    """Return what is to be known about the numbers, each paragraph followed by an empty line."""
    paragraphs = [
        summary_sentence(results),
        "Cells: ours ± standard error (the paper's ± standard deviation: mark).",
        *(
            f"{name}* is a stand-in, which does not count: {what}"
            for name, what in results["stand_ins"].items()
        ),
        *results["reductions"],
    ]
    return [line for paragraph in paragraphs if paragraph for line in (paragraph, "")]


def _table(results: Mapping[str, Any], measure: Mapping[str, Any]) -> Table:
    cells = {
        (cell["dataset"], cell["method"]): cell
        for cell in results["cells"]
        if cell["measure"] == measure["name"]
    }
    datasets = dict.fromkeys(dataset for dataset, _ in cells)
    methods = dict.fromkeys(method for _, method in cells)
    rows = (
        (
            f"{dataset}*" if dataset in results["stand_ins"] else dataset,
            *(_text(cells.get((dataset, method)), measure["decimals"]) for method in methods),
        )
        for dataset in datasets
    )
    return Table(measure["title"], ("", *methods), tuple(rows))


def number_text(value: float, decimals: int | None) -> str:
    """Return a number with some decimals, or with the digits of a round number."""
    return f"{value:g}" if decimals is None else f"{value:.{decimals}f}"


def _text(cell: Mapping[str, Any] | None, decimals: int | None) -> str:
    if cell is None:
        return ""
    ours = _with_spread(cell["mean"], cell["standard_error"], decimals)
    if cell["published"] is None:
        return ours
    paper = _with_spread(cell["published"], cell["published_deviation"], decimals)
    return f"{ours} ({paper}: {cell['mark']})" if cell["mark"] else f"{ours} ({paper})"


def _with_spread(value: float, spread: float | None, decimals: int | None) -> str:
    numbers = (value,) if spread is None else (value, spread)
    return " ± ".join(number_text(number, decimals) for number in numbers)


def _row(cells: Any) -> str:
    return f"| {' | '.join(cells)} |"
