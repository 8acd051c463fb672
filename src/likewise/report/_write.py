"""Compare, look, and write the page."""

from __future__ import annotations

import os
from typing import Any

from numpy.typing import ArrayLike

from likewise._runtime.validation import TableLike
from likewise._runtime.writing import write_atomically
from likewise.report._render import render, require_report
from likewise.report._summarise import summarise


def write_report(
    path: str | os.PathLike[str], X: TableLike, y: ArrayLike | None = None, **options: Any
) -> dict[str, Any]:
    """Compare metrics and write a report of the answer as one HTML file.

    Parameters
    ----------
    path : str or path
        The file; it appears whole or not at all.
    X, y : array-like
        As for `summarise`.
    **options
        Further arguments of `summarise`: judged `pairs`, `groups`, a `comparison`, `methods`,
        names, pictures and text.

    Returns
    -------
    dict
        The summary that the page shows.

    Examples
    --------
    >>> from likewise.datasets import load
    >>> from likewise.report import write_report
    >>> wine = load("wine")
    >>> summary = write_report("wine.html", wine.X, wine.y, methods=["Euclidean", "RCA"])
    >>> summary["answer"]["recommended"]
    'RCA'
    """
    require_report()
    summary = summarise(X, y, **options)
    if (progress := options.get("progress")) is not None:
        progress(0, 1, "drawing the figures")
    write_atomically(path, render(summary).encode())
    return summary
