"""Rows in blocks, on the workers of a Dask cluster or on disk. Dask is imported on use."""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise._runtime.configuration import max_working_bytes
from likewise._runtime.memory import free_memory

# A fit in memory takes about as many copies of X. Where they are free, reading it as a whole is
# faster, and joblib passes every large array to its processes as a memory map.
_COPIES_IN_MEMORY = 8


def is_dask(X: Any) -> bool:
    """Return whether X is a Dask array, dataframe or series, without importing Dask."""
    return type(X).__module__.split(".")[0] == "dask" and hasattr(X, "__dask_graph__")


def is_read_in_blocks(X: Any) -> bool:
    """Return whether X is a memory map that is too large for a fit in memory.

    That is so if the free memory does not hold a fit, or if `max_memory` is set.
    """
    if not (isinstance(X, np.memmap) and X.ndim == 2):
        return False
    if max_working_bytes() is not None:
        return True
    free = free_memory()
    itemsize = 4 if X.dtype == np.float32 else 8  # of the numbers that are computed with
    return free is not None and _COPIES_IN_MEMORY * X.size * itemsize > free


def require_in_memory(X: Any, name: str, owner: str) -> None:
    """Raise if X is a Dask collection, which `owner` would gather."""
    if is_dask(X):
        raise ValueError(
            f"{name} is a Dask collection, but {owner} needs rows in memory: {name}.compute() "
            "gathers them."
        )
