"""Steps of scikit-learn's pipelines as affine maps."""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise._runtime.arrays import Array


def parts_of_step(step: Any, d: int) -> tuple[Array, Array, bool] | None:
    """Return W, mean and whether images are normalised, of a fitted step that takes `d` numbers.

    None if it is no step of scikit-learn; an error if it is one that is not affine.
    """
    if not type(step).__module__.startswith("sklearn."):
        return None
    # By name: an import of these modules would be long, and most models need none of them.
    match type(step).__name__:
        case "StandardScaler":
            return _diagonal(step.scale_, step.mean_ if step.with_mean else None, d)
        case "RobustScaler":
            return _diagonal(step.scale_, step.center_, d)
        case "MaxAbsScaler":
            return _diagonal(step.scale_, None, d)
        case "MinMaxScaler" if not step.clip:
            return np.diag(step.scale_), -step.min_ / step.scale_, False
        case "PCA":
            lengths = np.sqrt(step.explained_variance_) if step.whiten else 1.0
            return (step.components_.T / lengths).T, step.mean_, False
        case "TruncatedSVD":
            return step.components_, np.zeros(d), False
        case "Normalizer" if step.norm == "l2":
            return np.eye(d), np.zeros(d), True
        case name:
            raise ValueError(
                f"a step of the pipeline is {name}, but only StandardScaler, RobustScaler, "
                "MaxAbsScaler, MinMaxScaler without clip, PCA, TruncatedSVD, Normalizer with norm "
                "l2 and linear metrics have an affine map."
            )


def _diagonal(scale: Array | None, mean: Array | None, d: int) -> tuple[Array, Array, bool]:
    W = np.eye(d) if scale is None else np.diag(1 / scale)
    return W, np.zeros(d) if mean is None else mean, False
