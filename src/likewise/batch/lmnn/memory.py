"""How much memory LMNN needs besides the pairs of its working set."""

from __future__ import annotations

from typing import Any

from likewise._runtime.blocks.rows import BlockedRows
from likewise._runtime.memory import require_memory
from likewise._runtime.tensors import is_tensor, require_memory_on
from likewise.objectives.working_memory import large_margin_data_bytes, large_margin_matrix_bytes


def require_memory_for_lmnn(
    owner: str,
    X: Any,
    n_components: int,
    *,
    n_metrics: int = 1,
    in_feature_space: bool = False,
) -> None:
    """Raise MemoryError if a fit would need more memory than is free.

    Parameters
    ----------
    owner : str
        Name of the estimator.
    X : array of shape (n_samples, n_columns), or BlockedRows
        The training data.
    n_components : int
        Rows of L.
    n_metrics : int
        Number of metrics.
    in_feature_space : bool
        Whether the columns are directions of a kernel's feature space.
    """
    n_samples, n_columns = X.shape
    n_held = 0 if isinstance(X, BlockedRows) else n_samples  # in this process
    matrices = large_margin_matrix_bytes(n_samples, n_columns, n_components, n_metrics)
    data = large_margin_data_bytes(n_held, n_columns, X.dtype.itemsize, n_metrics)
    metrics = f" with {n_metrics} metrics" if n_metrics > 1 else ""
    columns = "directions" if in_feature_space else "features"
    advice = "reduce the features first, with PCA for instance"
    if in_feature_space:
        advice = "a smaller budget keeps fewer of them"
    elif n_metrics > 1:
        advice += ", or learn fewer metrics"
    elif n_held and not is_tensor(X):
        advice += ", or open X as a memory map, which is read in blocks"
    purpose = f"{owner}{metrics} of {n_samples} rows of {n_columns} {columns}"
    if is_tensor(X):
        # Besides, gradients in float64 as large as the rows.
        require_memory_on(X.device, data + 16.0 * n_samples * n_columns, purpose, advice)
    require_memory(matrices + (0 if is_tensor(X) else data), purpose, advice)
