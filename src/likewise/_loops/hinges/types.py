"""The results of the loops over hinge losses, and the checks of their arguments."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from likewise._loops.checks import check_vector
from likewise._runtime.arrays import FloatArray, IndexArray


class Hinges(NamedTuple):
    """The sums of the hinge losses of groups of pairs, and their derivatives.

    Attributes
    ----------
    value : float64 array of shape (n_groups,)
    near_derivative : float64 array of shape (m,)
        The weighted derivative with respect to each near pair.
    far_derivative : float64 array of shape (p,)
        That with respect to each far pair, at most 0 for positive weights.
    """

    value: FloatArray
    near_derivative: FloatArray
    far_derivative: FloatArray

    @classmethod
    def empty(cls, n_groups: int, n_near: int, n_far: int) -> Hinges:
        """Return memory for them."""
        return cls(np.empty(n_groups), np.empty(n_near), np.empty(n_far))


def check_groups(
    near: FloatArray,
    near_start: IndexArray,
    far: FloatArray,
    far_start: IndexArray,
    weights: FloatArray,
    margin: float,
    smoothing: float,
) -> None:
    """Raise unless the groups partition their pairs, and margin and smoothing are valid."""
    for name, values, start in (("near", near, near_start), ("far", far, far_start)):
        check_vector(name, values, np.float64)
        check_vector(f"{name}_start", start, np.int64)
        whole = len(start) and start[0] == 0 and start[-1] == len(values)
        if not whole or (np.diff(start) < 0).any():
            raise ValueError(
                f"{name}_start must rise from 0 to {len(values)}, the number of {name} pairs."
            )
    if len(near_start) != len(far_start):
        raise ValueError(
            f"near_start and far_start must have the same length, but have {len(near_start)} and "
            f"{len(far_start)}."
        )
    check_vector("weights", weights, np.float64)
    if len(weights) != len(near_start) - 1:
        raise ValueError(
            f"weights must hold {len(near_start) - 1} values, one per group, not {len(weights)}."
        )
    if not (np.isfinite(margin) and 0 <= smoothing < np.inf):
        raise ValueError(
            "margin must be finite and smoothing at least 0, but they are "
            f"{margin} and {smoothing}."
        )
