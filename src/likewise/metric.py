"""Canonical components L of a Mahalanobis matrix M, and the nearest such matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh, qr, svd

from likewise._runtime.arrays import Array
from likewise._runtime.tensors import Tensor, is_tensor, to_numpy
from likewise._runtime.threads import single_threaded_blas


def nearest_psd(matrix: Array | Tensor) -> Array:
    """Return the positive semi-definite matrix closest to a symmetric one (Frobenius norm).

    A tensor is worked on where it is, and the result is a tensor.

    Examples
    --------
    >>> import numpy as np
    >>> nearest_psd(np.diag([2.0, -1.0]))
    array([[2., 0.],
           [0., 0.]])
    """
    symmetric: Array = _symmetric(matrix)
    if not symmetric.any() or _has_cholesky(symmetric):
        return symmetric  # a factorisation costs a thirtieth of the eigenvectors
    with single_threaded_blas():
        values, vectors = _eigh(symmetric)
        if values[0] >= 0:
            return symmetric
        kept = values > 0
        positive: Array = _symmetric((vectors[:, kept] * values[kept]) @ vectors[:, kept].T)
    return positive


def _eigh(symmetric: Any) -> Any:
    """Return eigenvalues in ascending order, and eigenvectors: tensors if the matrix is one."""
    if not is_tensor(symmetric):
        return eigh(symmetric)
    import torch

    return torch.linalg.eigh(symmetric)


def _has_cholesky(symmetric: Any) -> bool:
    if is_tensor(symmetric):
        import torch

        factor, info = torch.linalg.cholesky_ex(symmetric)
        return bool((info == 0) & factor.isfinite().all())
    with single_threaded_blas():
        try:
            factor = np.linalg.cholesky(symmetric)
        except np.linalg.LinAlgError:
            return False
    return bool(np.isfinite(factor).all())  # it lets NaN pass


def canonical_components(matrix: Array | Tensor, n_components: int | None = None) -> Array:
    """Return L with ``L.T @ L`` the nearest PSD matrix: rows are scaled eigenvectors.

    Eigenvalues descend, the entry of largest magnitude in each row is positive, and there are as
    many rows as features unless `n_components` asks for fewer. One matrix has one such L, which
    makes two fitted metrics comparable. A tensor is decomposed where it is; L is an array.

    Examples
    --------
    >>> import numpy as np
    >>> canonical_components(np.diag([1.0, 4.0]))
    array([[0., 2.],
           [1., 0.]])
    """
    with single_threaded_blas():
        values, vectors = map(to_numpy, _eigh(_symmetric(matrix)))
    roots = np.sqrt(np.maximum(values[::-1], 0))
    components = roots[:, None] * vectors.T[::-1]
    return np.ascontiguousarray(with_positive_peaks(components)[:n_components])


def canonical_form(components: Array) -> Array:
    """Return the canonical L of the same metric without forming M, which would square its range.

    Examples
    --------
    >>> import numpy as np
    >>> canonical_form(np.array([[0.0, 2.0], [-1.0, 0.0]]))
    array([[0., 2.],
           [1., 0.]])
    """
    n_features = components.shape[1]
    canonical = np.zeros((n_features, n_features))
    if not len(components):  # SciPy decomposes an empty matrix since 1.14
        return canonical
    with single_threaded_blas():
        # Rotating L keeps each of its columns to the last digits; multiplying the factors of its
        # SVD would lose the columns of features whose units make them small.
        tall = len(components) > n_features
        rows = qr(components, mode="r")[0][:n_features] if tall else components
        rotated = svd(rows, full_matrices=False)[0].T @ rows
    canonical[: len(rotated)] = with_positive_peaks(rotated)
    return canonical


def with_positive_peaks(rows: Array) -> Array:
    """Flip signs so that the entry of largest magnitude in each row is positive."""
    peaks = np.take_along_axis(rows, np.abs(rows).argmax(axis=1)[:, None], axis=1)
    # Adding 0 turns -0.0 into 0.0, so that equal metrics print equal.
    return np.asarray(rows * np.where(peaks < 0, -1.0, 1.0).astype(rows.dtype) + 0.0)


def row_norms(rows: Any) -> Array:
    """Euclidean length of each row, safe against overflow and underflow of the squares."""
    if sp.issparse(rows):
        return _sparse_row_norms(rows)
    if is_tensor(rows):
        scale = or_one(abs(rows).amax(dim=1))
        norms: Array = scale * (rows / scale[:, None]).square().sum(dim=1).sqrt()
        return norms
    scale = or_one(np.abs(rows).max(axis=1, initial=0.0))
    return np.asarray(scale * np.sqrt(np.square(rows / scale[:, None]).sum(axis=1)))


def _sparse_row_norms(rows: Any) -> Array:
    rows = rows.tocsr(copy=True)
    rows.sum_duplicates()
    n_rows = rows.shape[0]
    row_of = np.repeat(np.arange(n_rows), np.diff(rows.indptr))
    largest = np.zeros(n_rows, dtype=rows.dtype)
    np.maximum.at(largest, row_of, np.abs(rows.data))
    scale = or_one(largest)
    squares = np.bincount(row_of, np.square(rows.data / scale[row_of]), minlength=n_rows)
    return np.asarray(scale * np.sqrt(squares), dtype=rows.dtype)


def or_one(lengths: Any) -> Any:
    """Replace zeros by ones, in an array or a tensor, so that one can divide."""
    if is_tensor(lengths):
        return lengths.where(lengths > 0, 1.0)
    return np.where(lengths > 0, lengths, 1).astype(lengths.dtype)


def _symmetric(matrix: Any) -> Any:
    return (matrix + matrix.T) / 2


def count_directions(components: Array, threshold: float = 1e-6) -> int:
    """Return the number of eigenvalues of ``L.T @ L`` above `threshold` times the largest one."""
    largest = np.abs(components).max(initial=0.0)
    if largest == 0:
        return 0
    # LLᵀ and LᵀL share their non-zero eigenvalues, so the smaller one will do, and eigenvalues
    # come several times faster than singular values. Scaled first: squares could overflow.
    scaled = np.asarray(components, dtype=np.float64) / largest
    wide = scaled.shape[0] <= scaled.shape[1]
    eigenvalues = np.linalg.eigvalsh(scaled @ scaled.T if wide else scaled.T @ scaled)
    return int(np.count_nonzero(eigenvalues > threshold * eigenvalues[-1]))
