"""Which features vary within groups, and warnings that name those that hardly do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from likewise._runtime.arrays import Array, IndexArray
from likewise._runtime.validation import warn_user
from likewise.exceptions import DegenerateMetricWarning

_MAX_NAMED = 10  # columns in a warning
_CONSTANT_SPREAD = 1e-20  # of the median spread: a smaller one counts as constant
_TINY_SPREAD = 1e-6  # of the median spread: a smaller one dominates the metric, with a warning


def inverse_stds_of(stds: Array, rounding: Array, others: Array) -> Array:
    """Return 1/std of each feature, 0 if it is constant up to rounding or next to the others."""
    varies = (stds > rounding) & (stds > _CONSTANT_SPREAD * _median_std(others, rounding))
    return np.divide(1.0, stds, out=np.zeros_like(stds), where=varies)


def _median_std(stds: Array, rounding: Array) -> float:
    """Return the median spread of the features that vary."""
    varying = stds[stds > rounding]
    return float(np.median(varying)) if len(varying) else 0.0


def warn_of_tiny_spreads(
    stds: Array, rounding: Array, feature_names: ArrayLike | None = None
) -> None:
    """Warn of features that vary, but so little that they get a very large weight."""
    median = _median_std(stds, rounding)
    tiny = np.flatnonzero((stds > rounding) & (stds < _TINY_SPREAD * median))
    if not len(tiny):
        return
    spreads = [f" ({stds[j]:.1g})" for j in tiny]
    columns = _columns(tiny, feature_names, spreads)
    one = len(tiny) == 1
    warn_user(
        f"{'A feature varies' if one else f'{len(tiny)} features vary'} far less than the others, "
        f"whose median standard deviation is {median:.1g}: {columns}. A standard deviation below "
        f"{_CONSTANT_SPREAD:g} of the median counts as zero; any other makes the weight as large "
        "as it is small. Remove features that are only noise.",
        DegenerateMetricWarning,
    )


def warn_of_separating_features(
    separating: Array, treatment: Literal["keep", "drop"], feature_names: ArrayLike | None
) -> None:
    """Warn of features that vary between groups only."""
    found = np.flatnonzero(separating)
    if not len(found):
        return
    one = len(found) == 1
    them = "it" if one else "them"
    weight = "the largest weight" if treatment == "keep" else "weight zero"
    warn_user(
        f"{'A feature is' if one else f'{len(found)} features are'} constant within every group "
        f"but not over all: {_columns(found, feature_names)}. The inverse of the covariance within "
        f"groups does not exist for {them}, and the metric gives {them} {weight}. Remove features "
        "that are known only with the label.",
        DegenerateMetricWarning,
    )


def _columns(
    numbers: IndexArray, feature_names: ArrayLike | None, suffixes: Sequence[str] | None = None
) -> str:
    """Return the names of columns, each followed by its suffix, for a warning."""
    names = numbers if feature_names is None else np.asarray(feature_names)[numbers]
    suffixes = suffixes or [""] * len(names)
    shown = [f"{name!s}{suffix}" for name, suffix in zip(names, suffixes, strict=True)]
    if len(shown) > _MAX_NAMED:
        shown[_MAX_NAMED:] = [f"{len(shown) - _MAX_NAMED} more"]
    return f"{'column' if len(numbers) == 1 else 'columns'} {', '.join(shown)}"
