"""Online metric learning over the features or in the feature space of a kernel."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from likewise._loops.pairs.types import MAX_PAIR_SQNORM
from likewise._runtime.arrays import Array, FloatArray, IndexArray
from likewise._runtime.invariants import require
from likewise._runtime.threads import run_blocks, single_threaded_blas
from likewise.base.metric_learner import as_vector
from likewise.kernels import Kernel, check_kernel, kernel_function
from likewise.metric import row_norms
from likewise.online._kernel_basis import (
    KernelBasis,
    KernelDifferences,
    KernelState,
    squared_lengths,
)
from likewise.online._large_losses import learn_large_losses
from likewise.online._metric_learner import OnlineMetricLearner
from likewise.online._pair_state import PairState

_KERNEL_PAIRS = 128  # pairs whose kernel values are in memory at a time
_LENGTH_PAIRS = 32  # the same where only squared lengths are needed
_MAP_BLOCK = 512  # samples mapped at a time


class KernelMetricLearner(OnlineMetricLearner):
    """Base class of online metric learners with an optional kernel.

    With a kernel, M is a matrix over an orthonormal basis of directions of its feature space, and
    is projected after every update. Without one, everything is inherited.
    """

    kernel: str | Callable[..., Any] | None
    kernel_params: dict[str, Any] | None
    budget: int | None
    tol: float
    # The kernel of the state: parameters that are set later take effect in the next fit.
    _fitted_kernel: tuple[Any, dict[str, Any]]

    # -- learning --------------------------------------------------------------------------------

    def _initial_state(self, n_features: int, scale: float) -> PairState:
        if self.kernel is None:
            return super()._initial_state(n_features, scale)
        self._fitted_kernel = (self.kernel, dict(self.kernel_params or {}))
        return KernelState.empty(n_features, self.budget)

    def _squared_lengths(self, X: Array, index: IndexArray) -> FloatArray:
        if self.kernel is None:
            return super()._squared_lengths(X, index)
        kernel = kernel_function(self.kernel, self.kernel_params or {}, X.shape[1])
        starts = range(0, len(index), _LENGTH_PAIRS)
        parts = [index[start : start + _LENGTH_PAIRS] for start in starts]
        return np.concatenate([squared_lengths(kernel, *_sides(X, part)) for part in parts])

    def _update(
        self,
        state: PairState,
        X: Array,
        index: IndexArray,
        sign: FloatArray,
        min_loss: float = 0.0,
    ) -> FloatArray:
        if not isinstance(state, KernelState):
            return super()._update(state, X, index, sign, min_loss)
        kernel = self._kernel_for(X.shape[1])
        losses = []
        for start in range(0, len(sign), _KERNEL_PAIRS):
            part = slice(start, start + _KERNEL_PAIRS)
            differences = KernelDifferences(
                state,
                kernel,
                *_sides(X, index[part]),
                scale=state.scale,
                tolerance=self.tol,
                budget=self.budget,
            )
            if not differences.max_sqnorm <= MAX_PAIR_SQNORM:
                raise ValueError(
                    f"A pair is {differences.max_sqnorm**0.5:.3g} apart in feature space, but only "
                    f"differences up to {MAX_PAIR_SQNORM**0.5:.0e} can be learned from."
                )
            rule = self._step_rule()
            losses.append(
                learn_large_losses(state, differences, sign[part], rule, "each", min_loss)
            )
        return np.concatenate(losses)

    def _update_with_one(
        self, state: PairState, first: FloatArray, second: FloatArray, sign: float
    ) -> float:
        if not isinstance(state, KernelState):
            return super()._update_with_one(state, first, second, sign)
        if not (np.isfinite(first).all() and np.isfinite(second).all()):
            return np.nan
        with single_threaded_blas():
            sides, pair = np.array([first, second]), np.array([[0, 1]])
            losses = self._update(state, sides, pair, np.array([sign]))
        return float(losses[0])

    # -- the learned metric ----------------------------------------------------------------------

    @property
    def _linear(self) -> bool:
        return self._basis is None

    def get_metric(self) -> Callable[[ArrayLike, ArrayLike], float]:
        """Return the distance as a plain function of two vectors, for SciPy and scikit-learn."""
        check_is_fitted(self)
        if self._basis is None:
            return super().get_metric()
        kernel = self._kernel_for(self.n_features_in_)
        basis = deepcopy(self._basis)
        return partial(_distance, basis, kernel, self.components_, self.n_features_in_)

    def _map(self, X: Any) -> Any:
        return super()._map(X) if self._basis is None else self._map_images(X)

    def _map_differences(self, A: Array, B: Array) -> Any:
        return super()._map_differences(A, B) if self._linear else self._map_images(A, B)

    def _map_images(self, A: Array, B: Array | None = None) -> Array:
        """Map the images φ(a) of samples, or the differences φ(a) - φ(b)."""
        basis, kernel, L = self._basis, self._kernel_for(A.shape[1]), self.components_
        assert basis is not None
        mapped = np.empty((len(A), len(L)), dtype=A.dtype)

        def block(start: int, stop: int) -> None:
            products = basis.products(kernel, A[start:stop])
            if B is not None:
                products -= basis.products(kernel, B[start:stop])
            mapped[start:stop] = basis.coordinates(products) @ L[:, : basis.count].T

        # A user's own kernel may not be thread-safe.
        n_jobs = 1 if callable(self._fitted_kernel[0]) else None
        run_blocks(block, len(A), _MAP_BLOCK, n_jobs=n_jobs)
        return mapped

    def _check_state(self) -> None:
        super()._check_state()
        if self._basis is not None:
            require(self._basis.first.shape[1] == self.n_features_in_)
            require(isinstance(self._fitted_kernel, tuple) and len(self._fitted_kernel) == 2)

    @property
    def _basis(self) -> KernelBasis | None:
        state = getattr(self, "_state", None)
        return state.basis if isinstance(state, KernelState) else None

    def _matrix(self) -> FloatArray:
        M = super()._matrix()
        if self._basis is None:
            return M
        count = max(1, self._basis.count)  # an empty matrix has no eigenvalues
        return M[:count, :count]

    def _kernel_for(self, n_features: int) -> Kernel:
        return kernel_function(*self._fitted_kernel, n_features)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.kernel is not None:
            check_kernel(self.kernel, self.kernel_params or {})


def _sides(X: Array, index: IndexArray) -> tuple[FloatArray, FloatArray]:
    """Return the first and the second samples of pairs, in double precision."""
    return X[index[:, 0]].astype(np.float64), X[index[:, 1]].astype(np.float64)


def _distance(
    basis: KernelBasis,
    kernel: Kernel,
    components: Array,
    n_features: int,
    first: ArrayLike,
    second: ArrayLike,
) -> float:
    sides = (as_vector(side, n_features)[None].astype(np.float64) for side in (first, second))
    a, b = (basis.products(kernel, side) for side in sides)
    return float(row_norms(basis.coordinates(a - b) @ components[:, : basis.count].T)[0])
