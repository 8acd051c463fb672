"""What MMC and DML-eig share: rows in which alike pairs are of size 1, and the way back."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh
from sklearn.utils import check_random_state

from likewise import _kernels
from likewise._memory import require_memory
from likewise._threads import single_threaded_blas
from likewise._validation import (
    TableLike,
    at_least,
    between,
    check_labelled,
    check_rows,
    either,
    none,
    positive,
)
from likewise.base import MetricLearner, fitting
from likewise.batch._pairs import pairs_of_labels, refuse_equal_different
from likewise.batch._start import size_of
from likewise.constraints import Pairs, as_pairs
from likewise.metric import canonical_components

Array = NDArray[Any]


class AlikeSpreadLearner(MetricLearner):
    """Keeps alike pairs together, ``Σ vᵀMv ≤ 1``, and wants different ones apart."""

    _rules: ClassVar = {
        "shrinkage": between(0, 1),
        "n_pairs": either(none(), at_least(2)),
        "max_iter": at_least(1),
        "tol": positive(),
    }
    shrinkage: float
    n_pairs: int | None
    random_state: int | np.random.RandomState | None

    @fitting
    def fit(self, X: TableLike, y: ArrayLike) -> Self:
        """Learn from labels, by pairs drawn at random.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The data.
        y : array-like of shape (n_rows,)
            Labels of at least two classes.

        Returns
        -------
        MetricLearner
            The fitted metric.
        """
        X, codes, _ = check_labelled(self, X, y)
        random = check_random_state(self.random_state)
        return self._learn(X, pairs_of_labels(X, codes, self.n_pairs, random))

    @fitting
    def fit_pairs(self, X: TableLike, pairs: ArrayLike, same: ArrayLike) -> Self:
        """Learn from pairs.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The data.
        pairs : int array-like of shape (n_pairs, 2)
            Row numbers.
        same : bool array-like of shape (n_pairs,)
            True where the two rows are alike.

        Returns
        -------
        MetricLearner
            The fitted metric.
        """
        X = check_rows(self, X, reset=True, min_rows=2)
        checked = as_pairs(pairs, same, len(X))
        refuse_equal_different(X, checked)
        return self._learn(X, checked)

    def _learn(self, X: Array, pairs: Pairs) -> Self:
        raise NotImplementedError

    def _centred(self, X: Array, pairs: Pairs) -> tuple[Array, float]:
        """Return rows about the first, of size about 1, and that size, if pairs say enough."""
        name = type(self).__name__
        for alike, word in ((True, "alike"), (False, "different")):
            if not (pairs.same == alike).any():
                raise ValueError(f"No pair is {word}, but {name} needs pairs of both kinds.")
        require_memory(
            8.0 * X.shape[1] * (3 * len(X) + 8 * X.shape[1]),
            f"{name} of {len(X)} rows of {X.shape[1]} features",
        )
        size = size_of(X)
        return np.ascontiguousarray(np.subtract(X, X[0], dtype=np.float64) / size), size

    def _alike_scatter(self, rows: Array, pairs: Pairs) -> Array:
        """Return ``Σ vvᵀ`` over alike pairs, shrunk towards its mean variance in all directions."""
        first, second = np.ascontiguousarray(pairs.index[pairs.same].T)
        spread = _kernels.laplacian_apply(rows, first, second, np.ones(len(first)))
        with single_threaded_blas():
            scatter = rows.T @ spread
        mean = float(np.trace(scatter)) / len(scatter)
        if not mean > 0:
            raise ValueError(
                f"The rows of every alike pair are equal, but {type(self).__name__} needs an alike "
                "pair of two different rows."
            )
        scatter = (1 - self.shrinkage) * (scatter + scatter.T) / 2
        scatter[np.diag_indices_from(scatter)] += self.shrinkage * mean
        return scatter

    def _inverse_root(self, scatter: Array) -> Array:
        """Return the symmetric ``A^-½``, zero in directions that are empty but for rounding."""
        with single_threaded_blas():
            values, vectors = eigh(scatter)
        kept = values > len(values) * np.finfo(np.float64).eps * values[-1]
        return np.asarray((vectors[:, kept] / np.sqrt(values[kept])) @ vectors[:, kept].T)

    def _keep_matrix(self, M: Array, size: float, dtype: Any) -> Self:
        return self._keep(canonical_components(M) / size, dtype)
