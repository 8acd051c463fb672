"""Same or different: distances of held-out pairs, and a threshold from others."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from likewise._runtime.arrays import FloatArray
from likewise.constraints import Pairs
from likewise.evaluation._pair_distances import pair_distances
from likewise.plotting._pair_histogram import count_pairs
from likewise.report._held_out import HeldOut
from likewise.statistics import (
    VerificationCurve,
    choose_threshold,
    error_rates,
    verification_curve,
)

_N_BINS = 40
_N_POINTS = 150  # of a curve, in the figure and in its table
_CONFIDENCE = 0.95


def verification(
    held: HeldOut, metrics: dict[str, Any], random_state: int
) -> tuple[dict[str, Any], dict[str, FloatArray]]:
    """Return histograms, thresholds, error rates and curves, and the distances, of each metric."""
    if held.threshold_pairs is None or held.test_pairs is None:
        why = "The held-out rows have no two rows of one class, or only one class."
        return {"missing": why}, {}
    tested = held.test_pairs
    shared: dict[str, Any] = {"items": tested.index, "groups": held.groups}
    found, distances = {}, {}
    for name, metric in metrics.items():
        with warnings.catch_warnings():
            # Of few degrees of freedom: the page says what the intervals rest on.
            warnings.simplefilter("ignore", UserWarning)
            chosen = choose_threshold(
                _distances(held, metric, held.threshold_pairs), held.threshold_pairs.same, "eer"
            ).threshold
            distances[name] = _distances(held, metric, tested)
            rates = error_rates(distances[name], tested.same, chosen, **shared)
            curve = verification_curve(
                distances[name],
                tested.same,
                confidence=_CONFIDENCE,
                random_state=random_state,
                **shared,
            )
        histogram = count_pairs(distances[name], tested.same, _N_BINS)
        found[name] = {
            "threshold": chosen,
            "fmr": rates.fmr,
            "fmr_interval": list(rates.fmr_interval),
            "fnmr": rates.fnmr,
            "fnmr_interval": list(rates.fnmr_interval),
            "eer": curve.eer,
            "auc": curve.auc,
            "histogram": {
                "edges": histogram.edges.tolist(),
                "same": histogram.same.tolist(),
                "different": histogram.different.tolist(),
            },
            "curve": _thinned(curve),
        }
    summary = {
        "metrics": found,
        "n_same": int(tested.same.sum()),
        "n_different": int((~tested.same).sum()),
        "n_items": len(np.unique(tested.index)),
        "n_threshold_pairs": len(held.threshold_pairs),
        "confidence": _CONFIDENCE,
    }
    return summary, distances


def _distances(held: HeldOut, metric: Any, pairs: Pairs) -> FloatArray:
    return pair_distances(metric, held.X[pairs.index[:, 0]], held.X[pairs.index[:, 1]])


def _thinned(curve: VerificationCurve) -> dict[str, list[float]]:
    """Return some thresholds of a curve, and of its band, evenly spread over both rates.

    The thresholds are those of the band, where limits are known, so that all columns are about the
    same decisions.
    """
    assert curve.band is not None
    band = curve.band
    place = np.searchsorted(curve.thresholds, band.thresholds, side="right") - 1
    fmr, fnmr = curve.fmr[place], curve.fnmr[place]
    # Along the curve in the plane of both rates, and on the logarithms of small rates.
    small = 1 / (curve.n_same + curve.n_different)
    way = np.abs(np.diff(fmr)) + np.abs(np.diff(fnmr))
    way += 0.1 * np.abs(np.diff(np.log(fmr + small)))
    way += 0.1 * np.abs(np.diff(np.log(fnmr + small)))
    length = np.concatenate([[0.0], np.cumsum(way)])
    wanted = np.linspace(0, length[-1], min(_N_POINTS, len(length)))
    kept = np.unique(np.searchsorted(length, wanted).clip(max=len(length) - 1))
    columns = {
        "threshold": band.thresholds,
        "fmr": fmr,
        "fmr_lower": band.fmr_lower,
        "fmr_upper": band.fmr_upper,
        "fnmr": fnmr,
        "fnmr_lower": band.fnmr_lower,
        "fnmr_upper": band.fnmr_upper,
    }
    return {name: column[kept].tolist() for name, column in columns.items()}
