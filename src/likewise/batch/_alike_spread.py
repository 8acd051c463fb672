"""What MMC and DML-eig share: rows in which alike pairs are of size 1, and the way back."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from likewise import _kernels
from likewise._memory import require_memory
from likewise._threads import single_threaded_blas
from likewise._validation import between, positive
from likewise.batch._pair_learner import PairLearner
from likewise.batch._start import size_of
from likewise.constraints import Pairs
from likewise.metric import canonical_components

Array = NDArray[Any]


class AlikeSpreadLearner(PairLearner):
    """Keeps alike pairs together, ``Σ vᵀMv ≤ 1``, and wants different ones apart."""

    _rules: ClassVar = {**PairLearner._rules, "shrinkage": between(0, 1), "tol": positive()}
    shrinkage: float

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
