"""A report of a labelling project as one HTML file."""

from __future__ import annotations

from collections.abc import Iterable
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
        ("Pairs that several judged", agreement["n_pairs"]),
        ("Of these, agreed", agreement["n_agreed"]),
        ("Cohen's kappa", agreement["kappa"]),
    ]
    curve = [
        (point["judgements"], *(f"{100 * point[name]:.2f} %" for name in ("error", "low", "high")))
        for point in progress["curve"]
    ]
    conflicts = [
        (c["left"], c["right"], ", ".join(f"{who}: {a}" for who, a in c["answers"].items()))
        for c in agreement["conflicts"]
    ]
    sentences = [progress["stop"]["message"], audit.get("promise", "")]
    sentences += [alarm["message"] for alarm in audit.get("drift", {}).get("alarms", [])]
    sentences += progress["notices"]
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            f"<title>Judgements</title><style>{_STYLE}</style></head><body><h1>Judgements</h1>",
            _table(("", ""), facts),
            *(f"<p>{escape(sentence)}</p>" for sentence in sentences if sentence),
            "<h2>Ranking error on audit pairs, which are never learned from</h2>",
            _table(("Judgements learned", "Error", "95 % from", "to"), curve),
            "<h2>Conflicts between annotators</h2>",
            _table(("Left", "Right", "Answers"), conflicts),
            "</body></html>",
        ]
    )


def _table(head: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> str:
    lines = ["<table><tr>", *(f'<th scope="col">{escape(cell)}</th>' for cell in head), "</tr>"]
    for row in rows:
        cells = ("–" if cell is None else escape(str(cell)) for cell in row)
        lines.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    return "".join([*lines, "</table>"])
