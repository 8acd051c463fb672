"""The loops over hinge losses in C++: the functions of `reference`."""

import numpy as np

import likewise._loops._native as _native
from likewise._loops.hinges.types import check_groups
from likewise._runtime.arrays import FloatArray, IndexArray
from likewise._runtime.threads import run_blocks

_GROUP_BLOCK = 1 << 13


def group_hinges(
    near: FloatArray,
    near_start: IndexArray,
    far: FloatArray,
    far_start: IndexArray,
    margin: float,
    width: float,
    *,
    n_jobs: int | None = None,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """See `likewise._loops.hinges.reference.group_hinges`."""
    check_groups(near, near_start, far, far_start, margin, width)
    value, near_slope, far_slope = (np.empty(n) for n in (len(near_start) - 1, len(near), len(far)))

    def block(start: int, stop: int) -> None:
        _native.group_hinges(
            *(near, near_start, far, far_start, margin, width),
            *(start, stop, value, near_slope, far_slope),
        )

    run_blocks(block, len(value), _GROUP_BLOCK, n_jobs)
    return value, near_slope, far_slope


def invader_hinges(distances: FloatArray, class_start: IndexArray, radii: FloatArray) -> FloatArray:
    """See `likewise._loops.hinges.reference.invader_hinges`."""
    out = np.empty((len(distances), len(class_start) - 1))
    _native.invader_hinges(distances, class_start, radii, out)
    return out


def invaded_hinges(distances: FloatArray, class_start: IndexArray, radii: FloatArray) -> FloatArray:
    """See `likewise._loops.hinges.reference.invaded_hinges`."""
    out = np.empty((len(distances), len(class_start) - 1))
    _native.invaded_hinges(distances, class_start, radii, out)
    return out
