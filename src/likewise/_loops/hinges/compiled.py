"""The loops over hinge losses in C++: the functions of `reference`."""

import numpy as np

import likewise._loops._native as _native
from likewise._loops.hinges.types import Hinges, check_groups
from likewise._runtime.arrays import FloatArray, IndexArray
from likewise._runtime.threads import run_blocks

_GROUP_BLOCK = 1 << 13


def group_hinges(
    near: FloatArray,
    near_start: IndexArray,
    far: FloatArray,
    far_start: IndexArray,
    weights: FloatArray,
    pull: float,
    push: float,
    margin: float,
    smoothing: float,
    *,
    out: Hinges | None = None,
    n_jobs: int | None = None,
) -> Hinges:
    """See `likewise._loops.hinges.reference.group_hinges`."""
    check_groups(near, near_start, far, far_start, weights, margin, smoothing)
    hinges = out or Hinges.empty(len(near_start) - 1, len(near), len(far))

    def block(start: int, stop: int) -> None:
        _native.group_hinges(
            *(near, near_start, far, far_start, weights, pull, push, margin, smoothing),
            *(start, stop, *hinges),
        )

    run_blocks(block, len(hinges.value), _GROUP_BLOCK, n_jobs)
    return hinges


def anchor_hinges(sqdist: FloatArray, class_start: IndexArray, sqradii: FloatArray) -> FloatArray:
    """See `likewise._loops.hinges.reference.anchor_hinges`."""
    out = np.empty((len(sqdist), len(class_start) - 1))
    _native.anchor_hinges(sqdist, class_start, sqradii, out)
    return out


def impostor_hinges(sqdist: FloatArray, class_start: IndexArray, sqradii: FloatArray) -> FloatArray:
    """See `likewise._loops.hinges.reference.impostor_hinges`."""
    out = np.empty((len(sqdist), len(class_start) - 1))
    _native.impostor_hinges(sqdist, class_start, sqradii, out)
    return out
