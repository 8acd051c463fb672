"""How much memory objectives need besides their data, for checks before a fit and for estimates."""

from __future__ import annotations

from likewise._numerics.products import count_sums

# Arrays of the shape of L: the ten pairs in the memory of L-BFGS, and the current points.
_COMPONENT_COPIES = 28
# Matrices of n_features × n_features per metric: the pull, its eigenvectors, the preconditioner.
_SQUARE_MATRICES = 6
_DATA_COPIES = 5  # original, preconditioned and transformed
_KERNEL_MATRICES = 4  # of n_samples × n_samples, at a time: the kernel, its eigenvectors


def large_margin_matrix_bytes(
    n_samples: int, n_columns: int, n_components: int, n_metrics: int = 1
) -> float:
    """Return the bytes of the matrices of an LMNN fit, which are on the host in any case.

    Parameters
    ----------
    n_samples, n_columns : int
        The shape of X.
    n_components : int
        Rows of L.
    n_metrics : int
        Number of metrics.
    """
    components = _COMPONENT_COPIES * n_metrics + count_sums(n_samples, (n_components, n_columns))
    matrices = _SQUARE_MATRICES * n_metrics + count_sums(n_samples, (n_columns, n_columns))
    n_directions = min(n_columns, n_samples)  # that the data span
    return 8.0 * n_directions * (components * n_components + matrices * n_columns)


def large_margin_data_bytes(
    n_samples: int, n_columns: int, itemsize: int, n_metrics: int = 1
) -> float:
    """Return the bytes of the copies of X in an LMNN fit, without the pairs of its working set."""
    return float(n_samples * n_columns * (_DATA_COPIES * itemsize * n_metrics + 8))


def lbfgs_bytes(n_components: int, n_columns: int) -> float:
    """Return the bytes of the points and gradients that L-BFGS on L holds."""
    return 8.0 * _COMPONENT_COPIES * n_components * n_columns


def kernel_pca_bytes(n_samples: int) -> float:
    """Return the bytes of kernel PCA of samples, or of pairs, while it finds all directions."""
    return 8.0 * _KERNEL_MATRICES * n_samples**2
