"""Online metric learning: the methods and attributes that PAMetric and POLA share.

The path of a batch of pairs: `partial_fit_pairs` checks it, `_learn_pairs` copies the state and
cuts the batch into chunks, `_update` computes the differences of a chunk, `learn_differences`
(``_pair_state.py``) chooses a loop and counts, and `pair_steps` (``_loops/pairs/``) takes the
steps, whose size is `StepRule.step`. If the samples are a tensor, so are the differences and M
until the batch is learned (``_device_batches.py``), and ``_torch_steps.py`` takes the steps.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from likewise._loops.pairs.types import StepRule
from likewise._runtime.arrays import Array, FloatArray, IndexArray
from likewise._runtime.tensors import Tensor, device_memory_errors, numpy_dtype, to_numpy
from likewise._runtime.threads import single_threaded_blas
from likewise._runtime.validation import TableLike, check_labelled, check_rows
from likewise.base import fitting, updating
from likewise.base.diagnosis import diagnosed_stream
from likewise.constraints import Pairs, as_pairs, random_pairs
from likewise.constraints._random_pairs import MAX_DEFAULT_PAIRS
from likewise.online._components_cache import ComponentsCache
from likewise.online._device_batches import concatenate, matrix_on_device, wide_enough_for_device
from likewise.online._history import History
from likewise.online._labels import check_labels
from likewise.online._large_losses import FixedDifferences, learn_large_losses
from likewise.online._online_metric import OnlineMetric
from likewise.online._pair_checks import (
    as_bool,
    check_label_type,
    check_pair_shapes,
    chunk_size,
    raise_out_of_range,
    scaled_differences,
    squared_lengths,
)
from likewise.online._pair_state import PairState, Projection, learn_differences, learn_one_pair
from likewise.online._scale import auto_scale


class OnlineMetricLearner(OnlineMetric):
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
    _recent_samples: Array
    _recent_labels: Array
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
        return squared_lengths(X, index)

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
        X = self._check_batch(X, finite=not self._linear)
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
        samples, labels = self._check_batch(X), np.asarray(to_numpy(y))
        check_labels(labels, len(samples))
        check_label_type(labels, getattr(self, "_recent_labels", labels))
        n_recent = 0
        if hasattr(self, "_recent_samples"):
            n_recent = len(self._recent_samples)
            samples = concatenate(self._recent_samples, samples)
            labels = np.concatenate([self._recent_labels, labels])
        newer = np.repeat(np.arange(n_recent, len(samples)), self.memory)
        older = newer - np.tile(np.arange(self.memory, 0, -1), len(samples) - n_recent)
        newer, older = newer[older >= 0], older[older >= 0]
        pairs = Pairs(np.column_stack([older, newer]), labels[older] == labels[newer])
        self._learn_pairs(samples, pairs)
        self._recent_samples = to_numpy(samples[-self.memory :]).copy()
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
        X, codes, classes = check_labelled(self, X, y, tensors=self._on_device(X))
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
        X = check_rows(self, X, reset=True, tensors=self._on_device(X))
        checked, random = as_pairs(pairs, same, len(X)), check_random_state(self.random_state)
        return self._fit_passes(X, checked, random)

    # -- implementation --------------------------------------------------------------------------

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

    def _on_device(self, X: TableLike) -> bool:
        """Return whether a batch of the rows of X is learned on a device, if there is one."""
        return wide_enough_for_device(X) and self._projection(X.shape[1]) != "each"

    def _check_batch(self, X: TableLike, finite: bool = True) -> Array | Tensor:
        """Return the checked samples of a batch of the stream."""
        state = getattr(self, "_state", None)
        tensors = self._on_device(X) and (state is None or state.matrix is not None)
        with device_memory_errors(type(self).__name__):
            return check_rows(self, X, reset=state is None, finite=finite, tensors=tensors)

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
        chunk = chunk_size(X)
        stride, start = self.record_every or chunk, 0
        with single_threaded_blas(), matrix_on_device(state, X, type(self).__name__):
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
        self._dtype = numpy_dtype(X).name
        self._append_history(records)
        return losses

    def _adapt_scale(self, state: PairState, X: Array, pair: IndexArray) -> None:
        rows = to_numpy(X[pair[0]])
        state.adapt_scale(float(self._squared_lengths(rows, np.array([[0, 1]]))[0]))

    def _append_history(self, records: list[tuple[float, ...]]) -> None:
        if self.record_every:
            self._history = getattr(self, "_history", History()).extended(records)
