"""A full covariance in blocks of events: matrix products do the work, the steps stay the same.

Between two blocks Σ is an explicit matrix. Inside one it is Σ minus the few updates so far, of
which only ``Σx`` of the events that are likely to cause an update has to be known beforehand.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import blas, lapack

from likewise import _loops
from likewise._loops import ClassifierRule
from likewise._loops.classifier_common import Kind
from likewise._runtime.arrays import BoolArray, FloatArray, IndexArray
from likewise._runtime.threads import single_threaded_blas

# Measured: more updates in a block make its products faster and its corrections dearer.
_BLOCK = 64
_AHEAD = 1024  # rows that are looked at, at most, for those likely to cause an update


def matrix_of(columns: FloatArray, diagonal: FloatArray) -> FloatArray:
    """Return Σ = U diag(D) Uᵀ, exactly symmetric, from the columns of U above its diagonal."""
    sigma = _upper_half(columns, diagonal)
    return np.asarray(np.triu(sigma) + np.triu(sigma, 1).T)


def _upper_half(columns: FloatArray, diagonal: FloatArray) -> FloatArray:
    if not columns.any():
        return np.diag(diagonal)
    root = np.sqrt(diagonal)
    upper = columns[:, : len(diagonal)].T * root
    upper[np.diag_indices_from(upper)] = root
    product, _ = lapack.dlauum(np.asfortranarray(upper), lower=0, overwrite_c=1)
    return np.ascontiguousarray(product)


def factors_of(sigma: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Return U (its columns as rows, without the diagonal) and D from the upper half of Σ.

    None if rounding has left a matrix that is not positive definite.
    """
    # Cholesky from the last feature to the first leaves an upper triangle on the left.
    backwards = sigma[::-1, ::-1]  # its lower half is the upper half of Σ
    lower, failed = lapack.dpotrf(np.asfortranarray(backwards), lower=1, clean=1, overwrite_a=1)
    if failed:
        return None
    upper = lower[::-1, ::-1]
    root = upper.diagonal().copy()
    columns = np.ascontiguousarray((upper / root).T)
    columns[np.diag_indices_from(columns)] = 0
    return columns, root**2


def learn_in_blocks(
    w: FloatArray,
    columns: FloatArray,
    diagonal: FloatArray,
    X: FloatArray,
    labels: IndexArray,
    rule: ClassifierRule,
) -> tuple[FloatArray, int]:
    """Take events of one model in place, for as long as an explicit Σ is precise enough.

    Parameters
    ----------
    w, columns, diagonal
        Weights and factors of Σ; they change.
    X, labels
        Rows, and 0 or 1 for each.
    rule : ClassifierRule
        When and how far to step.

    Returns
    -------
    scores, updates
        Of the events that were taken, which may be fewer than there are, or none.
    """
    if rule.bias:
        X = np.column_stack([X, np.full(len(X), rule.bias)])
    before = w.copy()
    scores, updates, taken = np.empty(len(X)), 0, 0
    history, shrink = np.empty((_BLOCK, len(w))), np.empty(_BLOCK)
    ahead = 2 * _BLOCK
    with single_threaded_blas():
        sigma = _upper_half(columns, diagonal)
        trusted = True
        while trusted and taken < len(X):
            rows, codes = X[taken : taken + ahead], labels[taken : taken + ahead]
            products = _Products(sigma, rows)
            quadratics = products.measure() if rule.kind is Kind.CONFIDENCE else None
            asked = np.flatnonzero(likely(w, rows, codes, rule, quadratics))
            if len(asked) > _BLOCK:
                asked = asked[:_BLOCK]
                rows, codes = rows[: asked[-1] + 1], codes[: asked[-1] + 1]
            found, changed, trusted = _loops.block_events(
                w,
                sigma,
                products.diagonal,
                rows,
                codes,
                asked,
                products.of(asked),
                products.quadratics[: len(rows)],
                history,
                shrink,
                rule,
            )
            if changed:
                noted = history[:changed] * np.sqrt(shrink[:changed])[:, None]
                blas.dsyrk(-1.0, noted.T, beta=1.0, c=sigma.T, lower=1, overwrite_c=1)
            scores[taken : taken + len(found)] = found
            taken, updates = taken + len(found), updates + changed
            # So many rows that a block will be almost full.
            share = max(changed, 1) / max(len(found), 1)
            ahead = int(np.clip(0.9 * _BLOCK / share, _BLOCK, _AHEAD))
        factors = factors_of(sigma)
    if factors is None:
        w[:] = before
        return scores[:0], 0
    columns[:, : len(w)], diagonal[:] = factors
    return scores[:taken], updates


class _Products:
    """``Σ x`` of the rows of a block, as far as somebody asks."""

    def __init__(self, sigma: FloatArray, rows: FloatArray) -> None:
        # As BLAS counts, by columns, the upper half is the lower one of a symmetric matrix.
        self._by_columns, self._rows = sigma.T, rows
        self.diagonal = sigma.diagonal().copy()
        self._halves = np.empty((0, len(sigma)))
        self.quadratics = np.empty(0)

    def measure(self) -> FloatArray:
        """Return ``xᵀΣx`` of all rows: half the work of Σx, which is no less work after it."""
        self._halves = blas.dtrmm(1.0, self._by_columns, self._rows.T, lower=1).T
        self.quadratics = _loops.triangle_quadratics(self._rows, self._halves, self.diagonal)
        return self.quadratics

    def of(self, asked: IndexArray) -> FloatArray:
        """Return Σx of the rows asked for."""
        rows = self._rows[asked]
        if not len(rows):
            return rows
        if not len(self._halves):
            return np.ascontiguousarray(blas.dsymm(1.0, self._by_columns, rows.T, lower=1).T)
        others = blas.dtrmm(1.0, self._by_columns, rows.T, lower=1, trans_a=1).T
        return np.asarray(others + self._halves[asked] - self.diagonal * rows)


def likely(
    w: FloatArray,
    X: FloatArray,
    labels: IndexArray,
    rule: ClassifierRule,
    quadratics: FloatArray | None = None,
) -> BoolArray:
    """Return which rows would cause an update by themselves, as far as w and ``xᵀΣx`` can tell."""
    least: FloatArray | float = 0.0 if rule.kind is Kind.SECOND_ORDER_PERCEPTRON else 1.0
    if rule.kind is Kind.CONFIDENCE:
        if quadratics is None:
            return np.ones(len(X), dtype=bool)
        least = rule.size * quadratics
    scores = X @ w[: X.shape[1]]
    if len(w) > X.shape[1]:
        scores += rule.bias * w[-1]
    return np.asarray(np.where(labels == 1, scores, -scores) <= least)
