"""How much memory LMNN takes beside the pairs of its working set."""

from __future__ import annotations

from likewise._numerics.products import count_sums
from likewise._runtime.arrays import Array
from likewise._runtime.memory import require_memory

# Arrays of the size of L: ten steps and slopes in L-BFGS's memory, and the points around them.
_MAPS = 28
# Features by features, for each metric: the pull, its directions, coordinates and the way back.
_MATRICES = 6
_ROWS = 5  # copies of the rows, plain and mapped


def require_memory_for_lmnn(
    owner: str,
    X: Array,
    n_components: int,
    *,
    n_metrics: int = 1,
    in_feature_space: bool = False,
) -> None:
    """Refuse what does not fit, before any work.

    Parameters
    ----------
    owner : str
        Who learns.
    X : array of shape (n_rows, n_columns)
        What is learned from.
    n_components : int
        Rows of L.
    n_metrics : int
        How many L there are.
    in_feature_space : bool
        Whether columns are directions of a kernel's space.
    """
    n_rows, n_columns = X.shape
    maps = _MAPS * n_metrics + count_sums(n_rows, (n_components, n_columns))
    matrices = _MATRICES * n_metrics + count_sums(n_rows, (n_columns, n_columns))
    entries = n_columns * (maps * n_components + matrices * n_columns)
    rows = X.size * (_ROWS * X.itemsize * n_metrics + 8)
    several = f" with {n_metrics} metrics" if n_metrics > 1 else ""
    columns = "directions" if in_feature_space else "features"
    advice = "reduce the features first, with PCA for instance"
    if in_feature_space:
        advice = "a smaller budget keeps fewer of them"
    elif n_metrics > 1:
        advice += ", or learn fewer metrics"
    purpose = f"{owner}{several} of {n_rows} rows of {n_columns} {columns}"
    require_memory(8.0 * entries + rows, purpose, advice)
