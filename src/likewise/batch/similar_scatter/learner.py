"""The base of MMC and DML-eig: bound the scatter of similar pairs, separate dissimilar ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from scipy.linalg import eigh

from likewise import _loops
from likewise._numerics.centring import centred, robust_centre
from likewise._numerics.products import product_over_rows
from likewise._runtime.arrays import Array
from likewise._runtime.memory import require_memory
from likewise._runtime.threads import run_blocks, single_threaded_blas
from likewise._runtime.validation import between, positive
from likewise.batch._initialisation import rms_scale
from likewise.batch._pair_learner import PairLearner
from likewise.batch._scatter import recompute_small_eigenvalues
from likewise.constraints import Pairs
from likewise.solvers import Solution

_BLOCK_PAIRS = 2048


class SimilarScatterLearner(PairLearner):
    """Maximises a function of the distances of dissimilar pairs subject to ``tr(AM) ≤ 1``.

    ``A = Σ vvᵀ`` is the scatter of the differences v of similar pairs, shrunk towards a multiple of
    the identity. In data whitened by ``A^-½`` the constraint becomes ``tr N ≤ 1`` with
    ``N = A^½ M A^½``.
    """

    duality_gap_: float

    _rules: ClassVar = {**PairLearner._rules, "shrinkage": between(0, 1), "tol": positive()}
    shrinkage: float
    tol: float

    def _centred_and_scaled(self, X: Array, pairs: Pairs) -> tuple[Array, float]:
        """Return X, centred and divided by its root mean square, and that root mean square."""
        name = type(self).__name__
        for same, kind in ((True, "similar"), (False, "dissimilar")):
            if not (pairs.same == same).any():
                raise ValueError(
                    f"No pair is {kind} (same={same}), but {name} needs similar and dissimilar "
                    "pairs."
                )
        require_memory(
            8.0 * X.shape[1] * (3 * len(X) + 8 * X.shape[1]),
            f"{name} of {len(X)} samples of {X.shape[1]} features",
        )
        scale = rms_scale(X)
        X = centred(np.ascontiguousarray(X, dtype=np.float64), robust_centre(X))
        return X / scale, scale

    def _similar_scatter(self, X: Array, pairs: Pairs) -> Array:
        """Return A: ``Σ vvᵀ`` over similar pairs, shrunk towards its mean variance."""
        first, second = np.ascontiguousarray(pairs.index[pairs.same].T)
        laplacian = _loops.laplacian_apply(X, first, second, np.ones(len(first)))
        scatter = product_over_rows(X, laplacian, None)
        self._require_positive(np.diag(scatter))
        mean = float(np.trace(scatter)) / len(scatter)
        scatter = (1 - self.shrinkage) * (scatter + scatter.T) / 2
        scatter[np.diag_indices_from(scatter)] += self.shrinkage * mean
        return scatter

    def _similar_variances(self, X: Array, pairs: Pairs) -> Array:
        """Return the diagonal of A."""
        first, second = pairs.index[pairs.same].T

        def block(start: int, stop: int) -> Array:
            V = X[first[start:stop]] - X[second[start:stop]]
            return np.asarray(np.einsum("nf,nf->f", V, V))

        variances = np.sum(run_blocks(block, len(first), _BLOCK_PAIRS), axis=0)
        self._require_positive(variances)
        return np.asarray((1 - self.shrinkage) * variances + self.shrinkage * variances.mean())

    def _require_positive(self, variances: Array) -> None:
        if not variances.sum() > 0:
            raise ValueError(
                f"The rows of every similar pair are equal, but {type(self).__name__} needs a "
                "similar pair of two different rows."
            )

    def _whitener(self, X: Array, pairs: Pairs) -> Array:
        """Return the symmetric ``A^-½``, zero in the null space of A.

        A direction belongs to the null space if its eigenvalue is within rounding of zero.
        """
        with single_threaded_blas():
            values, vectors = eigh(self._similar_scatter(X, pairs))
        if not self.shrinkage:
            first, second = pairs.index[pairs.same].T
            axes = np.ascontiguousarray(vectors.T)

            def differences(directions: Array) -> list[Array]:
                def block(start: int, stop: int) -> Array:
                    return np.asarray((X[first[start:stop]] - X[second[start:stop]]) @ directions.T)

                return run_blocks(block, len(first), _BLOCK_PAIRS)

            recompute_small_eigenvalues(values, axes, differences)
            vectors = axes.T
        rounding = len(values) * np.finfo(np.float64).eps * values[-1]
        kept = values > rounding
        values, axes = values[kept], vectors[:, kept]

        def in_range(V: Array) -> bool:
            # Rounding of A turns the eigenvector of λ by about rounding/λ: a smaller component of
            # v along it is within rounding of zero.
            along = np.abs(V @ (axes * values)).max(axis=1)
            return bool((along > rounding * np.linalg.norm(V, axis=1)).any())

        if not kept.all():
            self._require_dissimilar(X, pairs, in_range)
        return np.asarray((axes / np.sqrt(values)) @ axes.T)

    def _diagonal_whitener(self, X: Array, pairs: Pairs) -> Array:
        """Return ``A_ff^-½`` per feature f, zero where no similar pair differs."""
        variances = self._similar_variances(X, pairs)
        kept = variances > len(variances) * np.finfo(np.float64).eps * variances.max()
        if not kept.all():
            self._require_dissimilar(X, pairs, lambda V: bool(V[:, kept].any()))
        return np.asarray(
            np.divide(1.0, np.sqrt(variances), out=np.zeros_like(variances), where=kept)
        )

    def _require_dissimilar(
        self, X: Array, pairs: Pairs, in_range: Callable[[Array], bool]
    ) -> None:
        """Raise a ValueError if no dissimilar pair differs in the range of A."""
        dissimilar = pairs.index[~pairs.same]
        for start in range(0, len(dissimilar), _BLOCK_PAIRS):
            first, second = dissimilar[start : start + _BLOCK_PAIRS].T
            if in_range(X[first] - X[second]):
                return
        raise ValueError(
            "No dissimilar pair differs in a direction in which similar pairs do, but "
            f"{type(self).__name__}(shrinkage={self.shrinkage:g}) needs one; raise shrinkage."
        )

    def _maximise(
        self,
        solver: Callable[..., Solution],
        objective: Any,
        start: Array,
        components: Callable[[Array], Array],
        dtype: Any,
    ) -> Self:
        """Run the solver and store the L that `components` makes of its solution."""
        found = self._solve(
            solver,
            objective,
            start,
            fitted=lambda x: {"components_": components(x).astype(dtype)},
            tol=self.tol,
        )
        self.duality_gap_ = float(found.gap or 0.0)
        return self._keep(components(found.x), dtype)
