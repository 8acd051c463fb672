"""Verification curves from the thinned ones of a summary."""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise.statistics import VerificationBand, VerificationCurve


def curves_of(found: dict[str, Any]) -> dict[str, VerificationCurve]:
    """Return the curves of a summary by name, the metric that is shown before the baseline."""
    return {
        name: _curve(one, found["n_same"], found["n_different"], found["confidence"])
        for name, one in reversed(found["metrics"].items())
    }


def _curve(
    one: dict[str, Any], n_same: int, n_different: int, confidence: float
) -> VerificationCurve:
    columns = {name: np.array(values, dtype=np.float64) for name, values in one["curve"].items()}
    curve = VerificationCurve(
        # It begins where nothing is accepted.
        thresholds=np.concatenate([[-np.inf], columns["threshold"]]),
        fmr=np.concatenate([[0.0], columns["fmr"]]),
        fnmr=np.concatenate([[1.0], columns["fnmr"]]),
        n_same=n_same,
        n_different=n_different,
        band=VerificationBand(
            columns["threshold"],
            columns["fmr_lower"],
            columns["fmr_upper"],
            columns["fnmr_lower"],
            columns["fnmr_upper"],
            confidence,
        ),
    )
    # The numbers are those of all thresholds, not of the ones that are left.
    vars(curve).update(auc=one["auc"], eer=one["eer"])
    return curve
