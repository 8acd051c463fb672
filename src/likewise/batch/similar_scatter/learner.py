"""What MMC and DML-eig share: rows in which alike pairs are of size 1, and the way back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from scipy.linalg import eigh

from likewise import _loops
from likewise._numerics.centring import centred, robust_centre
from likewise._runtime.arrays import Array
from likewise._runtime.memory import require_memory
from likewise._runtime.threads import run_blocks, single_threaded_blas
from likewise._runtime.validation import between, positive
from likewise.batch._initialisation import rms_scale
from likewise.batch._pair_learner import PairLearner
from likewise.constraints import Pairs
from likewise.solvers import Solution

_PAIRS_AT_ONCE = 2048


class SimilarScatterLearner(PairLearner):
    """Keeps alike pairs together, ``Σ vᵀMv ≤ 1``, and wants different ones apart."""

    _rules: ClassVar = {**PairLearner._rules, "shrinkage": between(0, 1), "tol": positive()}
    shrinkage: float
    tol: float

    def _centred(self, X: Array, pairs: Pairs) -> tuple[Array, float]:
        """Return rows amid which zero lies, of size about 1, and that size, if pairs say enough."""
        name = type(self).__name__
        for alike, word in ((True, "alike"), (False, "different")):
            if not (pairs.same == alike).any():
                raise ValueError(f"No pair is {word}, but {name} needs pairs of both kinds.")
        require_memory(
            8.0 * X.shape[1] * (3 * len(X) + 8 * X.shape[1]),
            f"{name} of {len(X)} rows of {X.shape[1]} features",
        )
        size = rms_scale(X)
        rows = centred(np.ascontiguousarray(X, dtype=np.float64), robust_centre(X))
        return rows / size, size

    def _alike_scatter(self, rows: Array, pairs: Pairs) -> Array:
        """Return ``Σ vvᵀ`` over alike pairs, shrunk towards its mean variance in all directions."""
        first, second = np.ascontiguousarray(pairs.index[pairs.same].T)
        spread = _loops.laplacian_apply(rows, first, second, np.ones(len(first)))
        with single_threaded_blas():
            scatter = rows.T @ spread
        self._require_spread(np.diag(scatter))
        mean = float(np.trace(scatter)) / len(scatter)
        scatter = (1 - self.shrinkage) * (scatter + scatter.T) / 2
        scatter[np.diag_indices_from(scatter)] += self.shrinkage * mean
        return scatter

    def _alike_spreads(self, rows: Array, pairs: Pairs) -> Array:
        """Return the diagonal of that alone."""
        first, second = pairs.index[pairs.same].T

        def block(start: int, stop: int) -> Array:
            V = rows[first[start:stop]] - rows[second[start:stop]]
            return np.asarray(np.einsum("nf,nf->f", V, V))

        spreads = np.sum(run_blocks(block, len(first), _PAIRS_AT_ONCE), axis=0)
        self._require_spread(spreads)
        return np.asarray((1 - self.shrinkage) * spreads + self.shrinkage * spreads.mean())

    def _require_spread(self, spreads: Array) -> None:
        if not spreads.sum() > 0:
            raise ValueError(
                f"The rows of every alike pair are equal, but {type(self).__name__} needs an alike "
                "pair of two different rows."
            )

    def _inverse_root(self, rows: Array, pairs: Pairs) -> Array:
        """Return the symmetric ``A^-½`` of the scatter A of alike pairs, zero where that is empty.

        A direction is empty if nothing but rounding is there.
        """
        with single_threaded_blas():
            values, vectors = eigh(self._alike_scatter(rows, pairs))
        rounding = len(values) * np.finfo(np.float64).eps * values[-1]
        kept = values > rounding
        values, axes = values[kept], vectors[:, kept]

        def seen(v: Array) -> bool:
            # Rounding of A turns the axis of a value λ by about rounding/λ: along it, less of v
            # than that is nothing.
            along = np.abs(v @ (axes * values)).max(axis=1)
            return bool((along > rounding * np.linalg.norm(v, axis=1)).any())

        if not kept.all():
            self._require_seen(rows, pairs, seen)
        return np.asarray((axes / np.sqrt(values)) @ axes.T)

    def _inverse_units(self, rows: Array, pairs: Pairs) -> Array:
        """Return the features' own part of it: ``A_ff^-½``, zero where no alike pair differs."""
        spreads = self._alike_spreads(rows, pairs)
        kept = spreads > len(spreads) * np.finfo(np.float64).eps * spreads.max()
        if not kept.all():
            self._require_seen(rows, pairs, lambda v: bool(v[:, kept].any()))
        return np.asarray(np.divide(1.0, np.sqrt(spreads), out=np.zeros_like(spreads), where=kept))

    def _keep_best(
        self,
        solver: Callable[..., Solution],
        objective: Any,
        start: Array,
        components: Callable[[Array], Array],
        dtype: Any,
    ) -> Self:
        """Maximise, and keep the L that `components` makes of the point that was found."""
        found = self._solve(
            solver,
            objective,
            start,
            fitted=lambda x: {"components_": components(x).astype(dtype)},
            tol=self.tol,
        )
        self.duality_gap_ = float(found.gap or 0.0)
        return self._keep(components(found.x), dtype)

    def _require_seen(self, rows: Array, pairs: Pairs, seen: Callable[[Array], bool]) -> None:
        """Refuse different pairs if none is `seen` to differ, some differences at a time."""
        different = pairs.index[~pairs.same]
        for start in range(0, len(different), _PAIRS_AT_ONCE):
            first, second = different[start : start + _PAIRS_AT_ONCE].T
            if seen(rows[first] - rows[second]):
                return
        raise ValueError(
            "No different pair differs in a direction in which alike pairs do, but "
            f"{type(self).__name__}(shrinkage={self.shrinkage:g}) needs one; raise shrinkage."
        )
