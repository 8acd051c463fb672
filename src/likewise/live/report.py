"""A report of a labelling project as one HTML file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

__all__ = ["report_html"]

_STYLE = (
    "body{font:16px/1.5 sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse}th,td{text-align:left;padding:.2rem .8rem .2rem 0;"
    "border-bottom:1px solid #ccc}"
)


def report_html(progress: dict[str, Any], agreement: dict[str, Any]) -> str:
    """Return the report; everything in it is escaped, and nothing is loaded from elsewhere."""
    audit = progress["audit"] or {}
    facts = [
        ("Items", progress["items"]),
        ("Judgements in force", progress["judgements"]),
        ("Learned from", progress["learned"]),
        ("Audit pairs, decided", audit.get("pairs", 0)),
        ("Choice of pairs", progress["choice"]),
        ("Threshold", audit.get("threshold")),
        ("FMR on audit pairs: different ones taken for the same", _percent(audit.get("fmr"))),
        ("FNMR on audit pairs: same ones that are missed", _percent(audit.get("fnmr"))),
        ("Pairs that several judged", agreement["n_pairs"]),
        ("Of these, agreed", agreement["n_agreed"]),
        ("Cohen's kappa", agreement["kappa"]),
    ]
    curve = [
        (point["judgements"], *(_percent(point[name]) for name in ("error", "low", "high")))
        for point in progress["curve"]
    ]
    conflicts = [
        (c["left"], c["right"], ", ".join(f"{who}: {a}" for who, a in c["answers"].items()))
        for c in agreement["conflicts"]
    ]
    annotators = [
        (name, counts["judgements"], counts["shared"], counts["agreed"])
        for name, counts in agreement["by_annotator"].items()
    ]
    sentences = [progress["stop"]["message"], audit.get("promise", "")]
    sentences += [alarm["message"] for alarm in audit.get("drift", {}).get("alarms", [])]
    sentences += progress["notices"]
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>Judgements</title><style>{_STYLE}</style></head><body><h1>Judgements</h1>",
            _table(("", ""), facts),
            *(f"<p>{escape(sentence)}</p>" for sentence in sentences if sentence),
            *_section(
                "Ranking error on audit pairs, which are never learned from",
                ("Judgements learned", "Error", "95 % from", "to"),
                curve,
            ),
            *_section(
                "Annotators",
                (
                    "Annotator",
                    "Judgements in force",
                    "Pairs others judged, too",
                    "Of these, agreed",
                ),
                annotators,
            ),
            *_section("Conflicts between annotators", ("Left", "Right", "Answers"), conflicts),
            "</body></html>",
        ]
    )


def _section(title: str, head: tuple[str, ...], rows: Sequence[tuple[Any, ...]]) -> tuple[str, ...]:
    """Return a title and a table, or nothing where the table would be empty."""
    return (f"<h2>{escape(title)}</h2>", _table(head, rows)) if rows else ()


def _percent(rate: float | None) -> str | None:
    return None if rate is None else f"{100 * rate:.2f} %"


def _table(head: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> str:
    lines = ["<table><tr>", *(f'<th scope="col">{escape(cell)}</th>' for cell in head), "</tr>"]
    for row in rows:
        cells = ("–" if cell is None else escape(str(cell)) for cell in row)
        lines.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    return "".join([*lines, "</table>"])
