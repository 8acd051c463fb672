"""What is shown of one metric, as plain numbers, from rows that it was not fitted to."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise._runtime.arrays import Array, FloatArray
from likewise.base.metric_learner import linear_components
from likewise.batch import Euclidean
from likewise.evaluation import NeighborChanges, effective_dimension, neighbor_changes
from likewise.evaluation._trials import one_line
from likewise.neighbors import vote
from likewise.plotting._convergence import fit_record
from likewise.plotting._embedding import project
from likewise.plotting._feature_weights import feature_shares
from likewise.plotting._spectrum import metric_eigenvalues
from likewise.report._findings import findings
from likewise.report._held_out import HeldOut
from likewise.report._held_out_errors import held_out_errors
from likewise.report._items import Items
from likewise.report._learning import learning, n_learning_steps
from likewise.report._verification import verification

BEFORE = "Euclidean"
_N_STEPS = 5  # without the learning curve
_N_ITEMS = 6  # rows, or pairs, that are shown of each kind


@dataclass(frozen=True, eq=False)
class Evidence:
    """Sections of the summary, warnings, and the seconds that the fit took."""

    sections: dict[str, Any]
    warnings: list[dict[str, str]]
    fit_seconds: float


def gather_evidence(
    held: HeldOut,
    raw: Array,
    items: Items,
    names: Sequence[str],
    shown: str,
    estimator: Any,
    *,
    n_neighbors: int,
    random_state: int,
    step: Callable[[str], None],
) -> Evidence:
    """Fit a metric to the first part of the data, and look at the others with it.

    Parameters
    ----------
    held : HeldOut
    raw : array
        The rows as given.
    items : Items
    names : sequence of str
        Of the features.
    shown : str
        What the metric is called.
    estimator : unfitted estimator
    n_neighbors, random_state : int
    step : callable
        Called with what is done next.
    """
    step(f"fitting {shown}")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        metric = held.fitted(estimator)
        fit_seconds = time.perf_counter() - start
    euclidean = Euclidean().fit(held.X[held.fit_rows[:1]])
    metrics = {BEFORE: euclidean} | ({} if shown == BEFORE else {shown: metric})
    step("embedding")
    sections: dict[str, Any] = {"embedding": _embeddings(held, metrics, items)}
    step("pairs of held-out rows")
    sections["verification"], distances = verification(held, metrics, random_state)
    step("neighbours")
    errors = None
    if held.codes is not None:
        changes = neighbor_changes(
            held.X[held.fit_rows],
            held.codes[held.fit_rows],
            held.X[held.voted_rows],
            held.codes[held.voted_rows],
            metric=metric,
            n_neighbors=n_neighbors,
        )
        sections["neighbors"] = _changed_neighbors(held, changes, items)
        errors = _errors(held, changes)
        sections["errors"] = errors
    else:
        sections["decisions"] = _changed_decisions(held, sections["verification"], distances, items)
    L = linear_components(metric)
    shares = None
    if L is None:
        sections["spectrum"] = {"missing": f"{shown} has no matrix over the features."}
        sections["features"] = sections["spectrum"]
    else:
        L = np.asarray(L, dtype=np.float64)
        shares = feature_shares(L, np.asarray(held.X[held.test_rows], dtype=np.float64))
        sections["spectrum"] = {
            "eigenvalues": metric_eigenvalues(L).tolist(),
            "dimension": effective_dimension(L),
            "n_features": int(L.shape[1]),
        }
        sections["features"] = {"names": list(names), "shares": shares.tolist()}
    sections["convergence"] = _convergence(metric, shown)
    sections["learning"] = learning(
        held,
        {BEFORE: Euclidean()} | ({} if shown == BEFORE else {shown: estimator}),
        metrics,
        n_neighbors,
        random_state,
        step,
    )
    step("warnings")
    found = [_warned(message) for message in caught]
    found += findings(held, raw, names, shown, metric, shares, errors, n_neighbors)
    return Evidence(sections, _without_repeats(found), fit_seconds)


def n_steps(held: HeldOut, shown: str) -> int:
    """Return how often `gather_evidence` calls `step`."""
    return _N_STEPS + n_learning_steps(held, 1 if shown == BEFORE else 2)


def _warned(caught: warnings.WarningMessage) -> dict[str, str]:
    kinds = {"OverfitWarning": "overfit", "ConvergenceWarning": "not converged"}
    name = caught.category.__name__
    return {"kind": kinds.get(name, "warning"), "text": one_line(str(caught.message))}


def _without_repeats(found: list[dict[str, str]]) -> list[dict[str, str]]:
    return list({finding["text"]: finding for finding in found}.values())


def _embeddings(held: HeldOut, metrics: dict[str, Any], items: Items) -> dict[str, Any]:
    rows = held.X[held.test_rows]
    found = {}
    for name, metric in metrics.items():
        projected = project(np.asarray(metric.transform(rows), dtype=np.float64))
        found[name] = {
            "points": _rounded(projected.points),
            "variance_share": projected.variance_share,
        }
    return {
        "metrics": found,
        "rows": held.test_rows.tolist(),
        "ids": None if items.ids is None else [items.ids[row] for row in held.test_rows],
        "codes": None if held.codes is None else held.codes[held.test_rows].tolist(),
        "classes": None if held.classes is None else [str(label) for label in held.classes],
    }


def _rounded(points: FloatArray) -> list[list[float]]:
    """Return points with four digits of the size of the figure."""
    size = float(np.abs(points).max(initial=0.0)) or 1.0
    decimals = max(0, 3 - int(np.floor(np.log10(size))))
    return np.asarray(points.round(decimals)).tolist()  # type: ignore[no-any-return]


def _errors(held: HeldOut, changes: NeighborChanges) -> dict[str, Any]:
    """Return the errors of the neighbours' vote on the test rows that are shown."""
    assert held.codes is not None
    codes, truth = held.codes[held.fit_rows], held.codes[held.voted_rows]
    n_classes = int(held.codes.max()) + 1
    before, after = (
        vote(codes[index], n_classes)[0] != truth for index in (changes.before, changes.after)
    )
    groups = None if held.groups is None else held.groups[held.voted_rows]
    return held_out_errors(before, after, groups)


def _changed_neighbors(held: HeldOut, changes: NeighborChanges, items: Items) -> dict[str, Any]:
    def examples(*, gained: bool) -> list[dict[str, Any]]:
        return [
            {
                "item": items.describe(held.voted_rows[row]),
                "before": [items.describe(held.fit_rows[i]) for i in changes.before[row]],
                "after": [items.describe(held.fit_rows[i]) for i in changes.after[row]],
            }
            for row in changes.largest(_N_ITEMS, gained=gained).tolist()
        ]

    return {
        "n_neighbors": changes.n_neighbors,
        "n_rows": len(changes.before),
        "counts": changes.counts.tolist(),
        "mean_replaced": float(changes.replaced.mean()),
        "gained": examples(gained=True),
        "lost": examples(gained=False),
    }


def _changed_decisions(
    held: HeldOut, found: dict[str, Any], distances: dict[str, FloatArray], items: Items
) -> dict[str, Any]:
    """Return test pairs that one metric decides rightly and the other wrongly."""
    if len(distances) < 2:
        return {"missing": "There is one metric only, so no decision changes."}
    assert held.test_pairs is not None
    index, same = held.test_pairs
    right = {
        name: (values <= found["metrics"][name]["threshold"]) == same
        for name, values in distances.items()
    }
    before, after = right.values()
    units = [distances[name] / found["metrics"][name]["threshold"] for name in distances]

    def examples(chosen: Any) -> list[dict[str, Any]]:
        # Those whose distance, in units of the threshold, changes most.
        places = np.flatnonzero(chosen)
        order = np.argsort(-np.abs(units[1] - units[0])[places], kind="stable")
        return [
            {
                "pair": [items.describe(row) for row in index[place]],
                "same": bool(same[place]),
                "before": float(units[0][place]),
                "after": float(units[1][place]),
            }
            for place in places[order[:_N_ITEMS]].tolist()
        ]

    return {
        "n_pairs": len(same),
        "n_corrected": int((after & ~before).sum()),
        "n_spoilt": int((before & ~after).sum()),
        "corrected": examples(after & ~before),
        "spoilt": examples(before & ~after),
    }


def _convergence(metric: Any, shown: str) -> dict[str, Any]:
    record = fit_record(metric)
    if record is None:
        return {"missing": f"{shown} has no iterations, or records no objective."}
    bound = None if record.bound is None else record.bound.tolist()
    return {
        "at": record.at.tolist(),
        "unit": record.unit,
        "objective": record.objective.tolist(),
        "bound": bound,
        "converged": bool(getattr(metric, "converged_", True)),
        "gap": float(metric.duality_gap_) if hasattr(metric, "duality_gap_") else None,
    }
