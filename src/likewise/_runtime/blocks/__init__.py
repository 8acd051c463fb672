"""Rows in blocks on the workers of a Dask cluster. Dask is imported on use."""

from __future__ import annotations

from typing import Any


def is_dask(X: Any) -> bool:
    """Return whether X is a Dask array, dataframe or series, without importing Dask."""
    return type(X).__module__.split(".")[0] == "dask" and hasattr(X, "__dask_graph__")


def require_in_memory(X: Any, name: str, owner: str) -> None:
    """Raise if X is a Dask collection, which `owner` would gather."""
    if is_dask(X):
        raise ValueError(
            f"{name} is a Dask collection, but {owner} needs rows in memory: {name}.compute() "
            "gathers them."
        )
