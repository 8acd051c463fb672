"""What an online metric learner has learned: its fitted attributes, computed from its state."""

from __future__ import annotations

from typing import Any

from likewise._runtime.arrays import Array, BoolArray, FloatArray
from likewise._runtime.tensors import Tensor, is_tensor
from likewise._runtime.validation import TableLike
from likewise.base import MetricLearner, OnlineLearner
from likewise.online._components_cache import ComponentsCache
from likewise.online._device_batches import to_device_of, wide_enough_for_device
from likewise.online._history import History
from likewise.online._pair_checks import check_loaded
from likewise.online._pair_state import HISTORY_COLUMNS, PairState


class OnlineMetric(OnlineLearner, MetricLearner):
    """Base class of `OnlineMetricLearner`: the metric, threshold and counters of a `PairState`."""

    _dtype: str
    _state: PairState
    _components_cache: ComponentsCache
    _history: History

    @property
    def components_(self) -> Array:  # type: ignore[override]
        """L of the constrained model: computed on demand and cached until the next update."""
        return self._cached_components()

    @property
    def scale_(self) -> float:
        """Factor that X is multiplied by internally."""
        return self._fitted_state().scale

    @property
    def b_(self) -> float:
        """Threshold b of the unconstrained model, on squared distances."""
        return self._fitted_state().b

    @property
    def threshold_(self) -> float:
        """Largest distance of a pair that is predicted similar: ``√max(1, b)``."""
        return float(max(1.0, self._fitted_state().b) ** 0.5)

    @property
    def cumulative_loss_(self) -> float:
        """Sum of the hinge losses before each update."""
        return self._fitted_state().cumulative_loss

    @property
    def history_(self) -> dict[str, FloatArray]:  # type: ignore[override]
        """What `record_every` has recorded: one array per column."""
        columns = self._history.recorded(len(HISTORY_COLUMNS)).T
        return dict(zip(HISTORY_COLUMNS, columns, strict=True))

    def predict_pairs(self, A: TableLike, B: TableLike) -> BoolArray:
        """Predict whether each row of `A` is similar to the same row of `B`.

        Parameters
        ----------
        A, B : array-like of shape (n_pairs, n_features)
            The two samples of each pair.

        Returns
        -------
        bool array of shape (n_pairs,)
            ``pair_distance(A, B) <= threshold_``; a Dask array or tensor where that is one.
        """
        same: BoolArray = self.pair_distance(A, B) <= self.threshold_
        return same

    def _matrix(self) -> FloatArray:
        """Return M over the coordinates that `components_` has columns for."""
        return self._fitted_state().dense()

    def _fitted_state(self) -> PairState:
        super()._fitted_state()
        return self._state

    def _check_state(self) -> None:
        super()._check_state()
        check_loaded(self)

    def _map(self, X: Any) -> Any:
        if is_tensor(X) and wide_enough_for_device(X):
            self._cached_components(X)
        return super()._map(X)

    def _cached_components(self, like: Tensor | None = None) -> Array:
        """Return L, computed on the device of a tensor if one is given."""
        state, cache = self._fitted_state(), self._components_cache
        if not cache.is_valid(state.n_updates, state.scale, self._dtype):
            matrix = self._matrix() if like is None else to_device_of(like, self._matrix())
            cache.store(state.n_updates, state.scale, matrix, self._dtype)
        return cache.components
