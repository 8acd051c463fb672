"""Rows in blocks, on the workers of a Dask cluster or on disk. Dask is imported on use."""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise._runtime.configuration import max_working_bytes

# A smaller memory map is read as a whole, unless `max_memory` is set: joblib makes some of 1 MB.
_MIN_BLOCKED_BYTES = 1 << 25


def is_dask(X: Any) -> bool:
    """Return whether X is a Dask array, dataframe or series, without importing Dask."""
    return type(X).__module__.split(".")[0] == "dask" and hasattr(X, "__dask_graph__")


def is_read_in_blocks(X: Any) -> bool:
    """Return whether X is a table in a file that should not be in memory as a whole."""
    return (
        isinstance(X, np.memmap)
        and X.ndim == 2
        and (X.nbytes >= _MIN_BLOCKED_BYTES or max_working_bytes() is not None)
    )


def require_in_memory(X: Any, name: str, owner: str) -> None:
    """Raise if X is a Dask collection, which `owner` would gather."""
    if is_dask(X):
        raise ValueError(
            f"{name} is a Dask collection, but {owner} needs rows in memory: {name}.compute() "
            "gathers them."
        )
