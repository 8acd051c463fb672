"""Online metric learning: the methods and attributes that PAMetric and POLA share.

The path of a batch of pairs: `partial_fit_pairs` checks it, `_learn_pairs` copies the state and
cuts the batch into chunks, `_update` computes the differences of a chunk, `learn_differences`
(``_pair_state.py``) chooses a loop and counts, and `pair_steps` (``_loops/pairs/``) takes the
steps, whose size is `StepRule.step`.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from likewise._loops import pair_sqdist
from likewise._loops.pairs.types import StepRule
from likewise._runtime.arrays import Array, BoolArray, FloatArray, IndexArray
from likewise._runtime.threads import single_threaded_blas
from likewise._runtime.validation import TableLike, check_labelled, check_rows
from likewise.base import MetricLearner, OnlineLearner, fitting, updating
from likewise.base.diagnosis import diagnosed_stream
from likewise.constraints import Pairs, as_pairs, random_pairs
from likewise.constraints._random_pairs import MAX_DEFAULT_PAIRS
from likewise.online._components_cache import ComponentsCache
from likewise.online._history import History
from likewise.online._labels import check_labels
from likewise.online._large_losses import FixedDifferences, learn_large_losses
from likewise.online._pair_checks import (
    as_bool,
    check_label_type,
    check_loaded,
    check_pair_shapes,
    chunk_size,
    raise_out_of_range,
    scaled_differences,
)
from likewise.online._pair_state import (
    HISTORY_COLUMNS,
    PairState,
    Projection,
    learn_differences,
    learn_one_pair,
)
from likewise.online._scale import auto_scale


class OnlineMetricLearner(OnlineLearner, MetricLearner):
    """Base class of online metric learners, which learn a matrix M and a threshold b from pairs.

    A subclass defines the step size (`_step_rule`), when the constraints are applied
    (`_projection`), where learning starts (`_initial_model`) and the passes of `fit`
    (`_fit_passes`).
    """

    scale: str | float
    memory: int
    n_pairs: int | None
    max_iter: int | None
    shuffle: bool
    record_every: int | None
    random_state: Any
    _state: PairState
    _components_cache: ComponentsCache
    _recent_samples: Array
    _recent_labels: Array
    _history: History
    _scale_equivariant: ClassVar[bool] = True

    # -- defined by subclasses -------------------------------------------------------------------

    def _step_rule(self) -> StepRule:
        raise NotImplementedError

    def _projection(self, n_coordinates: int) -> Projection:
        raise NotImplementedError

    def _initial_model(self, n_features: int) -> tuple[FloatArray, float]:
        """Return M, for the user's X, and b before the first event."""
        raise NotImplementedError

    def _fit_passes(self, X: Array, pairs: Pairs, random: np.random.RandomState) -> Self:
        """Learn a new model from several passes over the pairs."""
        raise NotImplementedError

    def _draw_pairs(self, codes: IndexArray, n_pairs: int, random: np.random.RandomState) -> Pairs:
        """Draw the pairs of `fit`."""
        return random_pairs(codes, n_pairs, random_state=random)

    # -- overridden where M is over other coordinates than the features --------------------------

    def _initial_state(self, n_features: int, scale: float) -> PairState:
        M, b = self._initial_model(n_features)
        return PairState.start(M / scale**2, b, self._projection(n_features))

    def _squared_lengths(self, X: Array, index: IndexArray) -> FloatArray:
        """Return the squared length of each difference, before any scaling."""
        return pair_sqdist(X, *np.ascontiguousarray(index.T))

    def _update(
        self,
        state: PairState,
        X: Array,
        index: IndexArray,
        sign: FloatArray,
        min_loss: float = 0.0,
    ) -> FloatArray:
        """Update `state` in place with pairs of rows of X.

        Returns the hinge loss of each pair before its update. If `min_loss` is positive, losses up
        to it cause no update.
        """
        V = scaled_differences(X, index, state.scale)
        rule, psd = self._step_rule(), self._projection(state.n_coordinates)
        if min_loss > 0:
            return learn_large_losses(state, FixedDifferences(V), sign, rule, psd, min_loss)
        return learn_differences(state, V, sign, rule, psd)

    def _update_with_one(
        self, state: PairState, first: FloatArray, second: FloatArray, sign: float
    ) -> float:
        """Update `state` with one pair; return its loss, NaN if the difference is out of range."""
        psd = self._projection(state.n_coordinates)
        return learn_one_pair(state, first, second, sign, self._step_rule(), psd)

    def _matrix(self) -> FloatArray:
        """Return M over the coordinates that `components_` has columns for."""
        return self._fitted_state().dense()

    # -- learning --------------------------------------------------------------------------------

    def learn_pair(self, a: ArrayLike, b: ArrayLike, same: bool | int) -> float:
        """Update the model with one pair and return its hinge loss before the update.

        Parameters
        ----------
        a, b : array-like of shape (n_features,)
            The two samples of the pair.
        same : bool
            True (or 1) for a similar pair, False (or -1) for a dissimilar one.

        Returns
        -------
        float
            0 if the pair was right by the margin.
        """
        try:
            first, second = np.asarray(a, np.float64, "C"), np.asarray(b, np.float64, "C")
        except (TypeError, ValueError):
            raise ValueError("a and b must be numbers, but one of them is not.") from None
        if same is not True and same is not False:
            same = as_bool(same)
        try:
            state = self._state
        except AttributeError:
            return self._learn_first_pair(first, second, same)
        if not first.shape == second.shape == (self.n_features_in_,):
            check_pair_shapes(first, second, self.n_features_in_)
        if state.first_sqdists is not None:
            state = deepcopy(state)
            self._adapt_scale(state, np.stack([first, second]), np.array([[0, 1]]))
        loss = self._update_with_one(state, first, second, 1.0 if same else -1.0)
        if loss != loss:
            raise_out_of_range(first - second, state.scale)
        self._state = state
        if self.record_every and state.n_events % self.record_every == 0:
            self._append_history([state.history_entry()])
        return loss

    @updating
    def partial_fit_pairs(self, X: TableLike, pairs: ArrayLike, same: ArrayLike) -> Self:
        """Update the model with pairs in the given order: `learn_pair` on each, but faster.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples; those in no pair are ignored.
        pairs : int array-like of shape (n_pairs, 2)
            Row numbers of the two samples of each pair.
        same : bool array-like of shape (n_pairs,)
            True for similar pairs, False for dissimilar ones.

        Returns
        -------
        self
            If an error is raised, the model is as it was before the call.
        """
        self._check_parameters()
        # The differences show what is not finite: X, which may be large, is not scanned for it.
        X = check_rows(self, X, reset=not hasattr(self, "_state"), finite=not self._linear)
        checked = as_pairs(pairs, same, len(X))
        self._learn_pairs(X, checked)
        return diagnosed_stream(self, self.n_events_, X, checked)

    @updating
    def partial_fit(self, X: TableLike, y: ArrayLike) -> Self:
        """Update the model with labelled samples, each paired with the last `memory` samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, in the order of the stream. The oldest partner of a sample comes first.
        y : array-like of shape (n_samples,)
            Labels.

        Returns
        -------
        self
            If an error is raised, the model is as it was before the call.
        """
        self._check_parameters()
        samples = check_rows(self, X, reset=not hasattr(self, "_state"))
        labels = np.asarray(y)
        check_labels(labels, len(samples))
        check_label_type(labels, getattr(self, "_recent_labels", labels))
        n_recent = 0
        if hasattr(self, "_recent_samples"):
            n_recent = len(self._recent_samples)
            samples = np.concatenate([self._recent_samples, samples]).astype(
                samples.dtype, copy=False
            )
            labels = np.concatenate([self._recent_labels, labels])
        newer = np.repeat(np.arange(n_recent, len(samples)), self.memory)
        older = newer - np.tile(np.arange(self.memory, 0, -1), len(samples) - n_recent)
        newer, older = newer[older >= 0], older[older >= 0]
        pairs = Pairs(np.column_stack([older, newer]), labels[older] == labels[newer])
        self._learn_pairs(samples, pairs)
        self._recent_samples = samples[-self.memory :].copy()
        self._recent_labels = labels[-self.memory :].copy()
        return diagnosed_stream(self, self.n_events_, samples, pairs)

    @fitting
    def fit(self, X: TableLike, y: ArrayLike) -> Self:
        """Learn a new model from class labels: random pairs, in several passes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Labels of at least two classes.

        Returns
        -------
        self
        """
        X, codes, classes = check_labelled(self, X, y)
        random = check_random_state(self.random_state)
        n_pairs = self.n_pairs or min(40 * len(classes) * (len(classes) - 1), MAX_DEFAULT_PAIRS)
        return self._fit_passes(X, self._draw_pairs(codes, n_pairs, random), random)

    @fitting
    def fit_pairs(self, X: TableLike, pairs: ArrayLike, same: ArrayLike) -> Self:
        """Learn a new model from pairs, in several passes.

        Parameters
        ----------
        X, pairs, same
            As in `partial_fit_pairs`.

        Returns
        -------
        self
        """
        X = check_rows(self, X, reset=True)
        checked, random = as_pairs(pairs, same, len(X)), check_random_state(self.random_state)
        return self._fit_passes(X, checked, random)

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

    # -- fitted attributes -----------------------------------------------------------------------

    @property
    def components_(self) -> Array:  # type: ignore[override]
        """L of the constrained model: computed on demand and cached until the next update."""
        state, cache = self._fitted_state(), self._components_cache
        if not cache.is_valid(state.n_updates, state.scale, self._dtype):
            cache.store(state.n_updates, state.scale, self._matrix(), self._dtype)
        return cache.components

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

    # -- implementation --------------------------------------------------------------------------

    def _fitted_state(self) -> PairState:
        super()._fitted_state()
        return self._state

    def _check_state(self) -> None:
        super()._check_state()
        check_loaded(self)

    def _learn_batch(self, batch: tuple[Any, ...]) -> None:
        learn = self.partial_fit_pairs if len(batch) == 3 else self.partial_fit
        learn(*batch)

    def _reset(self, n_features: int, pairs: tuple[Array, Pairs] | None) -> PairState:
        """Forget what was fitted and return the initial state.

        ``scale="auto"`` is computed from `pairs`; a stream (None) does so from its first pairs.
        """
        scale = 1.0 if isinstance(self.scale, str) else float(self.scale)
        if pairs is not None and self.scale == "auto":
            X, (index, same) = pairs
            scale = auto_scale(self._squared_lengths(X, index), same)
        state = self._initial_state(n_features, scale)
        state.scale = scale
        state.first_sqdists = np.empty(0) if pairs is None and self.scale == "auto" else None
        self.n_features_in_ = n_features
        self._dtype = "float64"
        for name in ("_recent_samples", "_recent_labels", "_history"):
            self.__dict__.pop(name, None)
        self._components_cache = ComponentsCache(-1, 0.0, np.empty((0, 0)))
        return state

    @updating
    def _learn_first_pair(self, first: FloatArray, second: FloatArray, same: bool) -> float:
        check_pair_shapes(first, second, None)
        self._check_parameters()
        self._state = self._reset(first.size, None)
        return self.learn_pair(first, second, same)

    def _ordered(self, pairs: Pairs, random: np.random.RandomState) -> Pairs:
        """Return the pairs in the order of the next pass."""
        order = random.permutation(len(pairs)) if self.shuffle else np.arange(len(pairs))
        return Pairs(pairs.index[order], pairs.same[order])

    def _learn_pairs(self, X: Array, pairs: Pairs, min_loss: float = 0.0) -> FloatArray:
        """Update the model with pairs in order and return the loss of each before its update.

        A copy of the state is updated and stored only at the end: an error changes nothing.
        """
        fitted = hasattr(self, "_state")
        state = deepcopy(self._state) if fitted else self._reset(X.shape[1], None)
        sign = np.where(pairs.same, 1.0, -1.0)
        losses, records = np.empty(len(pairs)), []
        chunk = chunk_size(X.shape[1])
        stride, start = self.record_every or chunk, 0
        with single_threaded_blas():
            while start < len(pairs):
                stop = min(start + min(chunk, stride - state.n_events % stride), len(pairs))
                if state.first_sqdists is not None:
                    stop = start + 1
                    self._adapt_scale(state, X, pairs.index[start:stop])
                part = slice(start, stop)
                losses[part] = self._update(state, X, pairs.index[part], sign[part], min_loss)
                if self.record_every and state.n_events % stride == 0:
                    records.append(state.history_entry())
                start = stop
        self._state = state
        self._dtype = X.dtype.name
        self._append_history(records)
        return losses

    def _adapt_scale(self, state: PairState, X: Array, pair: IndexArray) -> None:
        state.adapt_scale(float(self._squared_lengths(X, pair)[0]))

    def _append_history(self, records: list[tuple[float, ...]]) -> None:
        if self.record_every:
            self._history = getattr(self, "_history", History()).extended(records)
