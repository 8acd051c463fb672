"""A summary as one HTML file."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from typing import Any

from likewise._runtime.text import quote
from likewise.plotting._style import require_matplotlib


def render(summary: dict[str, Any]) -> str:
    """Return a summary as an HTML page that needs no other file and no network.

    Text from the data is escaped, and the page's content security policy runs no script but its
    own. The page has a light and a dark look, and one for paper.

    Parameters
    ----------
    summary : dict
        What `summarise` returns, or the same read from JSON.

    Returns
    -------
    str
        HTML.

    Examples
    --------
    >>> from likewise.datasets import load
    >>> from likewise.report import render, summarise
    >>> wine = load("wine")
    >>> page = render(summarise(wine.X, wine.y, methods=["Euclidean", "RCA"], name="wine"))
    >>> page[:15], "Which metric for wine?" in page
    ('<!DOCTYPE html>', True)
    """
    if not isinstance(summary, dict) or summary.get("format") != 1:
        raise ValueError(f"summary is {quote(summary)}, but what summarise returns is needed.")
    require_report()
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    from likewise.report._sections import facts_of, sections_of, tag_of

    page = files("likewise.report") / "page"
    css, script, macros, body = (
        (page / name).read_text(encoding="utf-8")
        for name in ("style.css", "script.js", "macros.html", "report.html")
    )
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return (
        environment.from_string(macros + body)
        .render(
            summary=summary,
            title=summary["title"],
            subtitle=_subtitle(summary),
            tag=tag_of(summary["answer"]),
            facts=facts_of(summary),
            sections=sections_of(summary),
            css=Markup(css),
            script=Markup(script),
            script_hash=f"sha256-{digest}",
        )
        .lstrip()
    )


def require_report() -> None:
    """Raise an ImportError that names the extra if jinja2 or matplotlib is missing."""
    try:
        import jinja2  # noqa: F401

        require_matplotlib()
    except ImportError as error:
        raise ImportError(
            'reports need jinja2 and matplotlib, which come with pip install "likewise[report]"'
        ) from error


def _subtitle(summary: dict[str, Any]) -> str:
    n_methods = len(summary["comparison"]["rows"])
    learned = "judged pairs" if summary["data"]["n_pairs"] is not None else "class labels"
    return (
        f"{n_methods} metrics, learned from {learned} and tested on rows that they were not "
        "fitted to."
    )
