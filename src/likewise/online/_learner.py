"""What the online learners of a metric share: events in, a metric and a threshold out."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from likewise import _files
from likewise._loops import StepRule, pair_differences, pair_sqdist
from likewise._loops.stream_common import LONGEST2
from likewise._runtime.arrays import Array, BoolArray, FloatArray, IndexArray
from likewise._runtime.threads import single_threaded_blas
from likewise._runtime.validation import TableLike, check_finite, check_labelled, check_rows
from likewise.base import MetricLearner, fitting
from likewise.constraints import Pairs, as_pairs, random_pairs
from likewise.metric import canonical_components
from likewise.online._labels import check_labels
from likewise.online._pair_state import PairState, Projection, advance, advance_by_pair

_CHUNK = 1 << 20  # numbers in the differences that are in memory at a time (measured)


@_files.record
@dataclass
class _View:
    """L as it was after so many updates: a cache, not part of what is learned."""

    n_updates: int
    components: Array


class OnlineMetricLearner(MetricLearner):
    """A metric and a threshold learned pair by pair.

    A subclass says how large steps are (`_step_rule`), when constraints are applied
    (`_projection`) and where learning starts (`_first_model`).
    """

    scale: str | float
    memory: int
    n_pairs: int | None
    max_iter: int | None
    shuffle: bool
    record_every: int | None
    random_state: Any
    _state: PairState
    _view: _View
    _recent_rows: Array
    _recent_labels: Array
    _scale_equivariant: ClassVar[bool] = True

    # -- what subclasses say ---------------------------------------------------------------------

    def _step_rule(self) -> StepRule:
        raise NotImplementedError

    def _projection(self) -> Projection:
        raise NotImplementedError

    def _first_model(self, n_features: int) -> tuple[FloatArray, float]:
        """Return M, for the user's X, and b before the first event."""
        raise NotImplementedError

    # -- what a learner of other coordinates says too ----------------------------------------------

    def _first_state(self, n_features: int, scale: float) -> PairState:
        M, b = self._first_model(n_features)
        return PairState.start(M / scale**2, b, self._projection())

    def _squared_lengths(self, X: Array, index: IndexArray) -> FloatArray:
        """Return the squared length of each difference, before any scaling."""
        return pair_sqdist(X, *np.ascontiguousarray(index.T))

    def _advance(self, state: PairState, X: Array, index: IndexArray, sign: FloatArray) -> None:
        """Take pairs of rows of X in place."""
        V = self._differences(X, index)
        advance(state, V, sign, self._step_rule(), self._projection())

    def _advance_by_one(
        self, state: PairState, first: FloatArray, second: FloatArray, sign: float
    ) -> float:
        """Take one pair in place and return its loss: NaN if it cannot be learned from."""
        return advance_by_pair(
            state, first, second, self.scale_, sign, self._step_rule(), self._projection()
        )

    def _matrix(self) -> FloatArray:
        """Return M over the coordinates that `components_` has columns for."""
        return self._learned().dense()

    # -- learning --------------------------------------------------------------------------------

    def learn_pair(self, a: ArrayLike, b: ArrayLike, same: bool | int) -> float:
        """Learn from one pair and return the hinge loss it suffered before the update.

        Parameters
        ----------
        a, b : array-like of shape (n_features,)
            The two sides.
        same : bool
            Whether they are alike (or 1 / -1).

        Returns
        -------
        float
            0 if the pair was already right by the margin.
        """
        try:
            first, second = np.asarray(a, np.float64, "C"), np.asarray(b, np.float64, "C")
        except (TypeError, ValueError):
            raise ValueError("a and b must be numbers, but one of them is not.") from None
        if same is not True and same is not False:
            same = _answer(same)
        try:
            state = self._state
        except AttributeError:
            _check_sides(first, second, first.size)
            self._check_parameters()
            state = self._begin(first.size, None)
        if not first.shape == second.shape == (self.n_features_in_,):
            _check_sides(first, second, self.n_features_in_)
        sign = 1.0 if same else -1.0
        loss = self._advance_by_one(state, first, second, sign)
        if loss != loss:
            self._refuse(first - second)
        self._state = state
        if self.record_every and state.n_events % self.record_every == 0:
            self._append([_entry(state)])
        return loss

    def partial_fit_pairs(self, X: TableLike, pairs: ArrayLike, same: ArrayLike) -> Self:
        """Learn from pairs in their order: what `learn_pair` on each would give, only faster.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The rows that the pairs name; others are not looked at.
        pairs : int array-like of shape (n_pairs, 2)
            Row numbers.
        same : bool array-like of shape (n_pairs,)
            True where the two rows are alike.

        Returns
        -------
        self
            A batch is learned whole or, if something is wrong with it, not at all.
        """
        self._check_parameters()
        # The differences tell: a large table need not be read for each few pairs of it.
        X = check_rows(self, X, reset=not hasattr(self, "_state"), finite=not self._linear)
        return self._learn(X, as_pairs(pairs, same, len(X)))

    def partial_fit(self, X: TableLike, y: ArrayLike) -> Self:
        """Learn from labelled rows: each is paired with the last `memory` rows, oldest first.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows, in the order in which they came.
        y : array-like of shape (n_rows,)
            Their labels.

        Returns
        -------
        self
        """
        self._check_parameters()
        first = not hasattr(self, "_state")
        rows = check_rows(self, X, reset=first)
        labels = np.asarray(y)
        check_labels(labels, len(rows))
        _check_kind(labels, getattr(self, "_recent_labels", labels))
        remembered = 0
        if hasattr(self, "_recent_rows"):
            remembered = len(self._recent_rows)
            rows = np.concatenate([self._recent_rows, rows]).astype(rows.dtype, copy=False)
            labels = np.concatenate([self._recent_labels, labels])
        newer = np.repeat(np.arange(remembered, len(rows)), self.memory)
        older = newer - np.tile(np.arange(self.memory, 0, -1), len(rows) - remembered)
        newer, older = newer[older >= 0], older[older >= 0]
        index = np.column_stack([older, newer])
        self._learn(rows, Pairs(index, labels[older] == labels[newer]))
        self._recent_rows = rows[-self.memory :].copy()
        self._recent_labels = labels[-self.memory :].copy()
        return self

    @fitting
    def fit(self, X: TableLike, y: ArrayLike) -> Self:
        """Learn afresh from labels: random pairs, in repeated passes.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The data.
        y : array-like of shape (n_rows,)
            Labels of at least two classes.

        Returns
        -------
        self
        """
        X, codes, classes = check_labelled(self, X, y)
        random = check_random_state(self.random_state)
        n_pairs = self.n_pairs or 40 * len(classes) * (len(classes) - 1)
        return self._fit_passes(X, random_pairs(codes, n_pairs, random_state=random), random)

    @fitting
    def fit_pairs(self, X: TableLike, pairs: ArrayLike, same: ArrayLike) -> Self:
        """Learn afresh from pairs, in repeated passes.

        Parameters
        ----------
        X, pairs, same
            As in `partial_fit_pairs`.

        Returns
        -------
        self
        """
        X = check_rows(self, X, reset=True)
        return self._fit_passes(
            X, as_pairs(pairs, same, len(X)), check_random_state(self.random_state)
        )

    def fit_stream(self, batches: Iterable[tuple[Any, ...]]) -> Self:
        """Learn from batches as they come, each ``(X, pairs, same)`` or ``(X, y)``.

        Parameters
        ----------
        batches : iterable
            Read once; may be endless and is then stopped by an interrupt.

        Returns
        -------
        self
        """
        for batch in batches:
            learn = self.partial_fit_pairs if len(batch) == 3 else self.partial_fit
            learn(*batch)
        return self

    def predict_pairs(self, A: TableLike, B: TableLike) -> BoolArray:
        """Return True for each row of `A` that is alike to the same row of `B`.

        Parameters
        ----------
        A, B : array-like of shape (n_pairs, n_features)
            The two sides of the pairs.

        Returns
        -------
        bool array of shape (n_pairs,)
            ``pair_distance(A, B) <= threshold_``.
        """
        return np.asarray(self.pair_distance(A, B) <= self.threshold_)

    # -- what was learned ------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_state")

    @property
    def components_(self) -> Array:  # type: ignore[override]
        """L of the constrained model: computed when asked for, while learning goes on."""
        learned = self._learned()
        view = self._view
        if view.n_updates != learned.n_updates or view.components.dtype.name != self._dtype:
            with single_threaded_blas():
                components = canonical_components(self._matrix()) * self.scale_
            self._view.components = components.astype(self._dtype)
            self._view.n_updates = learned.n_updates
        return self._view.components

    @property
    def b_(self) -> float:
        """The threshold b of the raw model, on squared distances."""
        return self._learned().b

    @property
    def threshold_(self) -> float:
        """The largest distance that is still alike: ``√max(1, b)``."""
        return float(max(1.0, self._learned().b) ** 0.5)

    @property
    def n_updates_(self) -> int:
        """How many pairs changed the model."""
        return self._learned().n_updates

    @property
    def n_events_(self) -> int:
        """How many pairs were seen."""
        return self._learned().n_events

    @property
    def mistakes_(self) -> int:
        """How many pairs the raw model got wrong before it learned from them."""
        return self._learned().mistakes

    @property
    def cumulative_loss_(self) -> float:
        """The sum of the hinge losses before each update."""
        return self._learned().cumulative_loss

    # -- how -------------------------------------------------------------------------------------

    def _learned(self) -> PairState:
        try:
            return self._state
        except AttributeError:
            raise AttributeError(
                f"This {type(self).__name__} has not learned anything yet."
            ) from None

    def _begin(self, n_features: int, pairs: tuple[Array, Pairs] | None) -> PairState:
        """Start afresh; `pairs` (of a whole set) let "auto" find the scale, a stream has none."""
        scale = 1.0 if isinstance(self.scale, str) else float(self.scale)
        if pairs is not None and self.scale == "auto":
            scale = _scale_of(*pairs, self._squared_lengths)
        state = self._first_state(n_features, scale)
        self.n_features_in_ = n_features
        self.scale_ = scale
        self._dtype = "float64"
        for remembered in ("_recent_rows", "_recent_labels", "history_"):
            self.__dict__.pop(remembered, None)
        self._view = _View(-1, np.empty((0, 0)))
        return state

    def _fit_passes(self, X: Array, pairs: Pairs, random: np.random.RandomState) -> Self:
        """Pass over the pairs again and again: the papers' protocol, or `max_iter` passes."""
        self._state = self._begin(X.shape[1], (X, pairs))
        wanted = min(len(X) * (len(X) - 2) // 40, 50 * len(pairs))
        passes = self.max_iter or max(2, -(-wanted // len(pairs)))
        for _ in range(passes):
            order = random.permutation(len(pairs)) if self.shuffle else np.arange(len(pairs))
            self._learn(X, Pairs(pairs.index[order], pairs.same[order]))
        self.n_iter_ = passes
        return self

    def _learn(self, X: Array, pairs: Pairs, advance: Callable[..., None] | None = None) -> Self:
        """Take pairs in order; the model changes only when all of them are taken."""
        advance = advance or self._advance
        known = hasattr(self, "_state")
        state = deepcopy(self._state) if known else self._begin(X.shape[1], None)
        records = []
        sign = np.where(pairs.same, 1.0, -1.0)
        chunk = max(256, _CHUNK // X.shape[1])
        stride = self.record_every or chunk
        start = 0
        with single_threaded_blas():
            while start < len(pairs):
                stop = min(start + min(chunk, stride - state.n_events % stride), len(pairs))
                advance(state, X, pairs.index[start:stop], sign[start:stop])
                if self.record_every and state.n_events % stride == 0:
                    records.append(_entry(state))
                start = stop
        self._state = state
        self._dtype = X.dtype.name
        self._append(records)
        return self

    def _differences(self, X: Array, index: IndexArray) -> FloatArray:
        V, longest2 = pair_differences(X, index, self.scale_)
        if not longest2 <= LONGEST2:
            check_finite(X, "X")
            self._refuse(V / self.scale_)
        return V

    def _refuse(self, V: FloatArray) -> NoReturn:
        raise ValueError(
            f"A pair differs by {np.abs(V).max():.3g}, but only finite differences up to "
            f"{LONGEST2**0.5 / self.scale_:.0e} can be learned from."
        )

    def _append(self, records: list[tuple[float, ...]]) -> None:
        if not self.record_every:
            return
        known = getattr(self, "history_", {name: np.empty(0) for name in _HISTORY})
        columns = np.array(records, dtype=np.float64).reshape(-1, len(_HISTORY)).T
        self.history_ = {
            name: np.concatenate([known[name], column])
            for name, column in zip(_HISTORY, columns, strict=True)
        }


_HISTORY = ("n_events", "predictive_error", "effective_dimension")


def _entry(state: PairState) -> tuple[float, ...]:
    values = np.linalg.eigvalsh(state.dense())
    dimension = np.count_nonzero(values > max(values[-1], 0) * 1e-6)
    return state.n_events, state.mistakes / state.n_events, float(dimension)


def _check_sides(first: FloatArray, second: FloatArray, n_features: int) -> None:
    if not first.shape == second.shape == (max(n_features, 1),):
        raise ValueError(
            f"a and b have shapes {first.shape} and {second.shape}, but vectors of as many features"
            f"{f', {n_features},' if n_features != first.size else ''} are needed."
        )


def _check_kind(labels: Array, known: Array) -> None:
    if (labels.dtype.kind in "US") != (known.dtype.kind in "US"):
        raise ValueError(
            f"y holds {labels.dtype} labels, but those before were {known.dtype}: text and numbers "
            "cannot be told alike or different."
        )


def _answer(same: Any) -> bool:
    if isinstance(same, bool | np.bool_) or (isinstance(same, numbers.Real) and same in (1, -1)):
        return bool(same == 1)
    raise ValueError(f"same={same!r} is not allowed: only True, False, 1 and -1 are.")


def _scale_of(
    X: Array, pairs: Pairs, squared_lengths: Callable[[Array, IndexArray], FloatArray]
) -> float:
    """Return the factor that makes the median squared distance of the same pairs 1."""
    length2 = squared_lengths(X, pairs.index)
    for chosen in (length2[pairs.same], length2):
        typical = float(np.median(chosen[chosen > 0])) if (chosen > 0).any() else 0.0
        if typical == np.inf:
            raise ValueError("Rows of X differ by more than 1e150, which is too far to learn from.")
        if typical:
            return float(typical**-0.5)
    return 1.0
