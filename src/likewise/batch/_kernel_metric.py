"""Base class of metric learners with an optional kernel."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from likewise._runtime.arrays import Array
from likewise.base import MetricLearner
from likewise.base.metric_learner import as_vector
from likewise.batch._kernel_space import KernelSpace
from likewise.kernels import check_kernel
from likewise.metric import row_norms


class KernelMetric(MetricLearner):
    """A metric learner with the optional parameters `kernel` and `kernel_params`.

    With a kernel it learns from the kernel PCA coordinates of the training rows
    (`_map_to_space`), and maps new rows to these coordinates first. Without one it is linear.
    """

    duality_gap_: float
    kernel: Any
    kernel_params: dict[str, Any] | None
    _space: Any  # KernelSpace or None; NCML may have a PairKernelSpace
    _kernel_used: tuple[Any, dict[str, Any]] | None

    def _map_to_space(
        self, X: Array, budget: int | None = None
    ) -> tuple[KernelSpace | None, Array]:
        """Return the feature space and the coordinates of X in it; None and X without a kernel."""
        kernel = getattr(self, "kernel", None)
        if kernel is None:
            return None, X
        return KernelSpace.from_rows(X, kernel, self.kernel_params or {}, budget)

    def _coordinates(self, X: Array, space: KernelSpace | None) -> Array:
        """Return the coordinates of further rows in `space`, or the rows if there is none."""
        if space is None:
            return X
        n_jobs = getattr(self, "n_jobs", None)
        return space.coordinates(X, self.kernel, self.kernel_params or {}, n_jobs)

    def _max_components(
        self, n_samples: int, n_features: int, budget: int | None
    ) -> tuple[int, str]:
        """Return the largest `n_components` before the kernel is computed, and its reason."""
        if self.kernel is None:
            return n_features, "the features of X"
        most = min(n_samples - 1, budget or n_samples)
        return most, "the budget" if most == budget else "one fewer than rows to learn from"

    def _space_attributes(self, space: KernelSpace | None) -> dict[str, Any]:
        """Return the attributes of a fitted model that describe the space and its kernel.

        They do not change if the parameters are set again after fitting.
        """
        used = None if space is None else (self.kernel, dict(self.kernel_params or {}))
        return {"_space": space, "_kernel_used": used}

    @property
    def _linear(self) -> bool:
        return getattr(self, "_space", None) is None

    def get_metric(self) -> Callable[[ArrayLike, ArrayLike], float]:
        """Return the distance as a plain function of two vectors, for SciPy and scikit-learn."""
        check_is_fitted(self)
        if self._linear:
            return super().get_metric()
        return partial(_distance, self._map, self.n_features_in_)

    def _map(self, X: Any) -> Any:
        if self._space is None:
            return super()._map(X)
        assert self._kernel_used is not None
        coordinates = self._space.coordinates(X, *self._kernel_used, getattr(self, "n_jobs", None))
        return np.asarray(super()._map(coordinates), dtype=X.dtype)

    def _map_differences(self, A: Array, B: Array) -> Any:
        return super()._map_differences(A, B) if self._linear else self._map(A) - self._map(B)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if getattr(self, "kernel", None) is not None:
            check_kernel(self.kernel, self.kernel_params or {})
            return
        for name in ("kernel_params", "budget"):
            if getattr(self, name, None):
                raise ValueError(
                    f"{name}={getattr(self, name)!r} needs a kernel, but kernel=None; set a kernel "
                    f"or {name}=None."
                )


def _distance(
    transform: Callable[[Array], Array], n_features: int, first: ArrayLike, second: ArrayLike
) -> float:
    rows = np.stack([as_vector(side, n_features) for side in (first, second)]).astype(np.float64)
    return float(row_norms(np.diff(transform(rows), axis=0))[0])
