"""What a notebook shows of a fitted estimator, beside scikit-learn's diagram."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from likewise._runtime.text import printable
from likewise.metric import count_directions

_MAX_TEXT = 400
_NAME = "text-align:left;white-space:nowrap;padding:1px 12px 1px 0;font-weight:500"
_MAX_FEATURES = 1000  # beyond it, the eigenvalues would take longer than a notebook should
_NUMBERS = {
    "objective_": "objective",
    "duality_gap_": "relative duality gap",
    "optimality_": "optimality residual",
    "n_iter_": "iterations",
    "threshold_": "threshold",
    "n_events_": "events learned",
}


def notebook_summary(model: Any) -> str:
    """Return method, objective, gap, rank and warnings as HTML; nothing if it is not fitted."""
    try:
        check_is_fitted(model)
    except NotFittedError:
        return ""
    rows = "".join(
        f'<tr style="vertical-align:top"><th scope="row" style="{_NAME}">{escape(name)}</th>'
        f'<td style="text-align:left;padding:1px 0">{escape(value)}</td></tr>'
        for name, value in _facts(model)
    )
    return (
        '<div class="likewise-summary" style="margin:0 0 8px;font-size:0.9em">'
        f"<strong>{escape(type(model).__name__)}</strong>: {escape(_what(model))}"
        '<table style="border-collapse:collapse;font-size:inherit;margin:4px 0 0">'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _what(model: Any) -> str:
    """Return the first line of the class's documentation."""
    lines = (type(model).__doc__ or "fitted.").strip().splitlines()
    return printable(lines[0].replace("`", ""), _MAX_TEXT)


def _facts(model: Any) -> Iterator[tuple[str, str]]:
    for attribute, name in _NUMBERS.items():
        value = getattr(model, attribute, None)
        if isinstance(value, Integral):
            yield name, f"{int(value)}"
        elif isinstance(value, Real):
            yield name, f"{float(value):.6g}"
    if isinstance(converged := getattr(model, "converged_", None), bool | np.bool_):
        yield "converged", "yes" if converged else "no"
    rank = _rank(model)
    if rank is not None:
        yield "rank", rank
    promise = getattr(model, "promise_", None)
    if isinstance(promise, str):
        yield "promise", printable(promise, _MAX_TEXT)
    warned = getattr(model, "_fit_warnings", ())
    for message in warned if isinstance(warned, tuple) else ():
        yield "warning", printable(str(message), _MAX_TEXT)


def _rank(model: Any) -> str | None:
    """Return how many directions matter, of how many features there are."""
    if not getattr(model, "_linear", False):
        return None
    L = np.asarray(getattr(model, "components_", None))
    if L.ndim != 2 or max(L.shape) > _MAX_FEATURES or not np.isfinite(L).all():
        return None
    return f"{count_directions(L)} of {L.shape[1]} directions"
