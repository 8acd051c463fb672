"""Updates of a full covariance in blocks of samples, with matrix products.

Between two blocks Σ is a dense matrix. Within a block the current Σ is that matrix minus the
low-rank updates so far, so that only ``Σx`` of the samples that are likely to cause an update is
needed in advance. The steps are those of one sample at a time.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import blas, lapack

from likewise import _loops
from likewise._loops.classifiers.types import ClassifierRule, Kind
from likewise._runtime.arrays import BoolArray, FloatArray, IndexArray
from likewise._runtime.threads import single_threaded_blas

# Measured: more updates per block make its products faster and its corrections slower.
_BLOCK_UPDATES = 64
_MAX_SAMPLES = 1024  # samples that are searched for likely updates, at most


def dense_covariance(columns: FloatArray, diagonal: FloatArray) -> FloatArray:
    """Return Σ = U diag(D) Uᵀ, exactly symmetric, from the columns of U above its diagonal."""
    sigma = _upper_triangle(columns, diagonal)
    return np.asarray(np.triu(sigma) + np.triu(sigma, 1).T)


def _upper_triangle(columns: FloatArray, diagonal: FloatArray) -> FloatArray:
    if not columns.any():
        return np.diag(diagonal)
    root = np.sqrt(diagonal)
    upper = columns[:, : len(diagonal)].T * root
    upper[np.diag_indices_from(upper)] = root
    product, _ = lapack.dlauum(np.asfortranarray(upper), lower=0, overwrite_c=1)
    return np.ascontiguousarray(product)


def covariance_factors(sigma: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Return U (its columns as rows, without the diagonal) and D from the upper triangle of Σ.

    Returns None if Σ is not positive definite because of rounding.
    """
    # Cholesky from the last feature to the first gives an upper triangular factor.
    reversed_sigma = sigma[::-1, ::-1]  # its lower triangle is the upper one of Σ
    lower, failed = lapack.dpotrf(
        np.asfortranarray(reversed_sigma), lower=1, clean=1, overwrite_a=1
    )
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
    """Update one model in place with samples, as long as a dense Σ is precise enough.

    Parameters
    ----------
    w, columns, diagonal
        Weights and factors of Σ; updated.
    X, labels
        Samples, and 0 or 1 for each.
    rule : ClassifierRule
        When to update, and the step size.

    Returns
    -------
    scores, updates
        Scores of the samples that were learned, possibly not all or none, and the number of
        updates.
    """
    if rule.bias:
        X = np.column_stack([X, np.full(len(X), rule.bias)])
    before = w.copy()
    scores, updates, taken = np.empty(len(X)), 0, 0
    history, shrink = np.empty((_BLOCK_UPDATES, len(w))), np.empty(_BLOCK_UPDATES)
    n_searched = 2 * _BLOCK_UPDATES
    with single_threaded_blas():
        sigma = _upper_triangle(columns, diagonal)
        precise = True
        while precise and taken < len(X):
            samples, codes = X[taken : taken + n_searched], labels[taken : taken + n_searched]
            products = _Products(sigma, samples)
            quadratics = products.quadratic_forms() if rule.kind is Kind.CW else None
            likely = np.flatnonzero(likely_updates(w, samples, codes, rule, quadratics))
            if len(likely) > _BLOCK_UPDATES:
                likely = likely[:_BLOCK_UPDATES]
                samples, codes = samples[: likely[-1] + 1], codes[: likely[-1] + 1]
            found, changed, precise = _loops.block_events(
                w,
                sigma,
                products.diagonal,
                samples,
                codes,
                likely,
                products.of(likely),
                products.quadratics[: len(samples)],
                history,
                shrink,
                rule,
            )
            if changed:
                scaled = history[:changed] * np.sqrt(shrink[:changed])[:, None]
                blas.dsyrk(-1.0, scaled.T, beta=1.0, c=sigma.T, lower=1, overwrite_c=1)
            scores[taken : taken + len(found)] = found
            taken, updates = taken + len(found), updates + changed
            # The number of samples that are expected to almost fill the next block.
            update_rate = max(changed, 1) / max(len(found), 1)
            expected = 0.9 * _BLOCK_UPDATES / update_rate
            n_searched = int(np.clip(expected, _BLOCK_UPDATES, _MAX_SAMPLES))
        factors = covariance_factors(sigma)
    if factors is None:
        w[:] = before
        return scores[:0], 0
    columns[:, : len(w)], diagonal[:] = factors
    return scores[:taken], updates


class _Products:
    """``Σx`` and ``xᵀΣx`` of the samples of a block, computed on demand."""

    def __init__(self, sigma: FloatArray, samples: FloatArray) -> None:
        # In Fortran order, as BLAS reads it, the upper triangle is the lower one.
        self._by_columns, self._samples = sigma.T, samples
        self.diagonal = sigma.diagonal().copy()
        self._halves = np.empty((0, len(sigma)))
        self.quadratics = np.empty(0)

    def quadratic_forms(self) -> FloatArray:
        """Return ``xᵀΣx`` of all samples, from a triangular product that `of` can use too."""
        self._halves = blas.dtrmm(1.0, self._by_columns, self._samples.T, lower=1).T
        self.quadratics = _loops.triangle_quadratics(self._samples, self._halves, self.diagonal)
        return self.quadratics

    def of(self, chosen: IndexArray) -> FloatArray:
        """Return Σx of some samples."""
        samples = self._samples[chosen]
        if not len(samples):
            return samples
        if not len(self._halves):
            return np.ascontiguousarray(blas.dsymm(1.0, self._by_columns, samples.T, lower=1).T)
        others = blas.dtrmm(1.0, self._by_columns, samples.T, lower=1, trans_a=1).T
        return np.asarray(others + self._halves[chosen] - self.diagonal * samples)


def likely_updates(
    w: FloatArray,
    X: FloatArray,
    labels: IndexArray,
    rule: ClassifierRule,
    quadratics: FloatArray | None = None,
) -> BoolArray:
    """Return which samples would cause an update of the current model.

    `quadratics` are their ``xᵀΣx``, which only confidence-weighted learning needs.
    """
    max_margin: FloatArray | float = 0.0 if rule.kind is Kind.SECOND_ORDER_PERCEPTRON else 1.0
    if rule.kind is Kind.CW:
        if quadratics is None:
            return np.ones(len(X), dtype=bool)
        max_margin = rule.size * quadratics
    scores = X @ w[: X.shape[1]]
    if len(w) > X.shape[1]:
        scores += rule.bias * w[-1]
    return np.asarray(np.where(labels == 1, scores, -scores) <= max_margin)
