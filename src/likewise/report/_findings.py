"""What a reader must know before trusting the figures: overfit, dead features, leaks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from likewise._runtime.arrays import Array, FloatArray
from likewise._runtime.text import list_some
from likewise._runtime.validation import pluralize
from likewise.evaluation import leave_one_out_error
from likewise.evaluation._leaking_columns import describe_leaks, leaking_columns
from likewise.report._held_out import HeldOut
from likewise.report._held_out_errors import within_chance

_MAX_ROWS = 2000
_RELEVANT_GAP = 0.05
_STANDARD_ERRORS = 3.0
_NO_WEIGHT = 1e-6  # share of the squared distances


def findings(
    held: HeldOut,
    raw: Array,
    names: Sequence[str],
    shown: str,
    metric: Any,
    shares: FloatArray | None,
    errors: dict[str, Any] | None,
    n_neighbors: int,
) -> list[dict[str, str]]:
    """Return warnings, each with a kind and a sentence.

    Parameters
    ----------
    held : HeldOut
    raw : array
        The rows as given.
    names : sequence of str
        Of the features.
    shown : str
        The name of the metric in the figures.
    metric : fitted estimator
    shares : array or None
        The features' shares of the squared distances, for a linear metric.
    errors : dict or None
        Test errors of "before" and "after"; None without labels.
    n_neighbors : int
    """
    found = [*_dead_features(held, raw, names, shares), *_leaks(held, raw)]
    found += _leaking_features(held, raw, names)
    if errors is not None:
        found += _overfit(held, metric, shown, errors, n_neighbors)
    return found


def _dead_features(
    held: HeldOut, raw: Array, names: Sequence[str], shares: FloatArray | None
) -> list[dict[str, str]]:
    found = []
    constant = np.ptp(raw[held.fit_rows], axis=0) == 0
    if constant.any():
        listed = list_some([names[i] for i in np.flatnonzero(constant).tolist()], 8)
        found.append(
            {
                "kind": "dead features",
                "text": f"{pluralize(int(constant.sum()), 'feature')} with one value only in the "
                f"rows that the metric was fitted to: {listed}.",
            }
        )
    if shares is not None:
        ignored = (np.abs(shares) < _NO_WEIGHT) & ~constant
        if ignored.any():
            listed = list_some([names[i] for i in np.flatnonzero(ignored).tolist()], 8)
            found.append(
                {
                    "kind": "dead features",
                    "text": f"{pluralize(int(ignored.sum()), 'feature')} with no weight in the "
                    f"metric: {listed}.",
                }
            )
    return found


def _leaks(held: HeldOut, raw: Array) -> list[dict[str, str]]:
    """Test rows that are equal to a row of the fit have been seen, whatever their number."""
    seen = {row.tobytes() for row in raw[held.fit_rows] + 0.0}
    n_seen = sum(row.tobytes() in seen for row in raw[held.test_rows] + 0.0)
    if not n_seen:
        return []
    return [
        {
            "kind": "leakage",
            "text": f"{n_seen} of {len(held.test_rows)} test rows are equal to a row that the "
            "metric was fitted to, so errors may be too low: remove copies, or keep them together "
            "as groups.",
        }
    ]


def _leaking_features(held: HeldOut, raw: Array, names: Sequence[str]) -> list[dict[str, str]]:
    if held.codes is None or not (found := leaking_columns(raw, held.codes)):
        return []
    n_classes = len(np.unique(held.codes))
    text = describe_leaks([str(names[i]) for i in found], n_classes, "Feature")
    return [{"kind": "leakage", "text": text}]


def _overfit(
    held: HeldOut, metric: Any, shown: str, errors: dict[str, Any], n_neighbors: int
) -> list[dict[str, str]]:
    """Compare the error on rows of the fit, each left out in turn, with that on test rows."""
    assert held.codes is not None
    rows = held.fit_rows
    if len(rows) > _MAX_ROWS:
        rows = rows[np.linspace(0, len(rows) - 1, _MAX_ROWS).astype(np.int64)]
    if len(rows) <= n_neighbors:
        return []
    seen = leave_one_out_error(
        metric.transform(held.X[rows]), held.codes[rows], n_neighbors=n_neighbors
    ).error
    found, after = [], errors["after"]
    deviation = np.sqrt(max(after * (1 - after), 1e-12) / len(held.voted_rows))
    if after - seen > max(_RELEVANT_GAP, _STANDARD_ERRORS * deviation):
        found.append(
            {
                "kind": "overfit",
                "text": f"{shown} has {seen:.1%} error on rows that it was fitted to (each left "
                f"out of its neighbours), but {after:.1%} on held-out rows.",
            }
        )
    if after > errors["before"] and not within_chance(errors):
        found.append(
            {
                "kind": "worse",
                "text": f"On the held-out rows, {shown} has {after:.2%} error, more than the "
                f"{errors['before']:.2%} of the Euclidean distance.",
            }
        )
    return found
