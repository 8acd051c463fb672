"""Online classification: the methods and attributes that all online classifiers share.

The path of a batch: `partial_fit` and `_learn_table` check it and copy the state, `_learn` cuts it
into chunks, and `learn_samples` (``_classifier_state.py``) updates weights and covariance.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from likewise._loops.classifiers.types import ClassifierRule, EventLearner, margins
from likewise._runtime.arrays import Array, FloatArray, IndexArray
from likewise._runtime.interrupts import check_time
from likewise._runtime.invariants import require
from likewise._runtime.memory import require_memory
from likewise._runtime.sklearn_bases import ClassifierMixin
from likewise._runtime.validation import (
    TableLike,
    at_least,
    boolean,
    check_labelled,
    check_rows,
    either,
    none,
    one_of,
)
from likewise.base import fitting, updating
from likewise.online._classifier_state import (
    ClassifierState,
    learn_samples,
    sample_learner,
    state_size,
)
from likewise.online._covariance_state import OutOfRangeError
from likewise.online._labels import check_labels, label_codes, resolve_classes
from likewise.online._samples import (
    check_range,
    is_sparse,
    linear_scores,
    raise_sample_out_of_range,
    raise_wrong_shape,
    samples_in_range,
    without_duplicates,
)
from likewise.online._stream_record import StreamRecord

_CHUNK = 32_768  # samples learned at a time
_CHUNK_BYTES = 2**26  # upper limit of their size, dense and in double precision


class OnlineClassifier(ClassifierMixin, StreamRecord):
    """Base class of linear online classifiers.

    A subclass defines when and how far it steps (`_step_rule`). One of second order also defines
    which covariance of the weights it keeps (`_covariance_of`, `_initial_variance`).
    """

    n_iter_: int
    multiclass: str
    fit_intercept: bool
    max_iter: int
    shuffle: bool
    random_state: Any
    n_features_in_: int
    _ambiguous_classes: bool
    # Not part of the state: what `learn_one` need not work out again for each sample.
    _code_of: dict[Any, int]
    _prepared: tuple[ClassifierState, EventLearner, ClassifierRule, str]

    _shared_rules: ClassVar = {
        "multiclass": one_of("ovr", "top2"),
        "fit_intercept": boolean(),
        "max_iter": at_least(1),
        "shuffle": boolean(),
        "record_every": either(none(), at_least(1)),
    }

    # -- defined by subclasses -------------------------------------------------------------------

    def _step_rule(self) -> ClassifierRule:
        raise NotImplementedError

    def _covariance_of(self, n_features: int) -> str | int | None:
        """Return which covariance the weights of that many features have; None is none."""
        return None

    def _initial_variance(self) -> float:
        """Return the variance of every weight before the first event."""
        return 1.0

    # -- learning --------------------------------------------------------------------------------

    def learn_one(self, x: ArrayLike, y: Any, classes: ArrayLike | None = None) -> float:
        """Update the model with one sample and return its hinge loss before the update.

        Parameters
        ----------
        x : array-like of shape (n_features,), or sparse matrix with one row
            Sample.
        y : label
            Its label.
        classes : array-like, optional
            All labels of the stream, needed in the first call. They may be left out if the labels
            are -1 and 1, 0 and 1, or False and True.

        Returns
        -------
        float
            ``max(0, 1 - m)``. The margin m is the score of y minus the highest other score; with
            two classes it is the score times the sign of y.
        """
        if is_sparse(x):
            return self._learn_table(x, [y], classes)
        try:
            sample = np.asarray(x, np.float64, "C")
        except (TypeError, ValueError):
            raise ValueError("x must be numbers, but it is not.") from None
        try:
            state, learn, rule, multiclass = self._prepared
            code = self._code_of[y]
            ready = (
                state is self._state
                and rule is self._step_rule()
                and multiclass == self.multiclass
                and classes is None
            )
        except (AttributeError, KeyError, TypeError):
            ready = False
        if not ready or sample.shape != (self.n_features_in_,):
            state, learn, code = self._prepare(sample, y, classes)
        margin, guess, updates = learn(sample, code)
        if margin != margin:
            raise_sample_out_of_range(sample[None], "x")
        state.n_events += 1
        state.n_updates += updates
        if guess == code:
            state.outcomes[0, code] += 1
        else:
            state.mistakes += 1
            state.outcomes[1, code] += 1
            state.outcomes[2, guess] += 1
        self._state = state
        if self.record_every and state.n_events % self.record_every == 0:
            self._append_history([state.history_entry()])
        return 1.0 - margin if margin < 1.0 else 0.0

    @updating
    def partial_fit(self, X: TableLike, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Update the model with samples in the given order: `learn_one` on each, but faster.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Labels.
        classes : array-like, optional
            All labels of the stream, needed in the first call; see `learn_one`.

        Returns
        -------
        self
            If an error is raised, the model is as it was before the call.
        """
        self._learn_table(X, y, classes)
        return self

    @fitting
    def fit(self, X: TableLike, y: ArrayLike) -> Self:
        """Learn a new model in `max_iter` passes over the samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Labels of at least two classes.

        Returns
        -------
        self
        """
        X, codes, classes = check_labelled(self, X, y, accept_sparse=True)
        check_range(X)
        random = check_random_state(self.random_state)
        if is_sparse(X):
            X = without_duplicates(X)
        self._state = self._initial_state(X.shape[1], len(classes))
        self._set_classes(classes, ambiguous=False)
        self.__dict__.pop("_history", None)
        chunk = self._chunk_size(X.shape[1])
        passes = 0
        try:
            for _ in range(self.max_iter):
                order = random.permutation(X.shape[0]) if self.shuffle else np.arange(X.shape[0])
                for start in range(0, len(order), chunk):
                    if self.n_events_:
                        check_time()
                    state = deepcopy(self._state)  # an interrupt leaves the model before the chunk
                    _, records = self._learn(state, X, codes, order[start : start + chunk])
                    self._state = state
                    self._append_history(records)
                passes += 1
        except KeyboardInterrupt:
            if not self.n_events_:
                raise
            self._warn_interrupted(passes, self.max_iter)
        self.n_iter_ = max(1, passes)
        return self

    # -- prediction ------------------------------------------------------------------------------

    def decision_function(self, X: TableLike) -> Array:
        """Return confidence scores of samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
            With two classes the score of the second class, else one column per class.
        """
        check_is_fitted(self)
        X = check_rows(self, X, reset=False, accept_sparse=True)
        scores = linear_scores(X, self.coef_, self.intercept_)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: TableLike) -> Array:
        """Predict the label with the highest score; with two classes the second if it is above 0.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        array of shape (n_samples,)
            Labels from `classes_`.
        """
        scores = self.decision_function(X)
        codes = scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(np.int64)
        return np.asarray(self.classes_[codes])

    # -- fitted attributes -----------------------------------------------------------------------

    @property
    def coef_(self) -> FloatArray:
        """Weights of the features: one row for two classes, else one row per class."""
        return self._fitted_state().weights[:, : self.n_features_in_]

    @property
    def intercept_(self) -> FloatArray:
        """Constants added to the scores: zeros unless `fit_intercept`."""
        weights = self._fitted_state().weights
        added = weights[:, self.n_features_in_ :]
        return added[:, 0].copy() if added.size else np.zeros(len(weights))

    # -- implementation --------------------------------------------------------------------------

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __getstate__(self) -> Any:
        return {name: held for name, held in super().__getstate__().items() if name != "_prepared"}

    def _check_state(self) -> None:
        super()._check_state()
        if "_state" in vars(self):
            require(isinstance(self._state, ClassifierState))
            n_models, width = self._state.weights.shape
            require(n_models == (1 if len(self.classes_) == 2 else len(self.classes_)))
            require(width - self.n_features_in_ in (0, 1))

    def _initial_state(self, n_features: int, n_classes: int) -> ClassifierState:
        """Return the state before the first event, if there is enough memory for it."""
        width = n_features + bool(self.fit_intercept)
        n_models = 1 if n_classes == 2 else n_classes
        covariance = self._covariance_of(n_features)
        require_memory(
            2 * 8.0 * state_size(n_models, width, covariance),  # a batch updates a copy
            f"{type(self).__name__}, for weights and covariance={covariance!r} of "
            f"{n_features} features and {n_classes} classes,",
            "covariance='diagonal' needs least" if covariance not in (None, "diagonal") else "",
        )
        return ClassifierState.start(n_models, width, covariance, self._initial_variance())

    @updating
    def _learn_table(self, X: TableLike, y: ArrayLike, classes: ArrayLike | None) -> float:
        """Update the model with a batch, or raise an error and leave it as it was.

        Returns the hinge loss of the last sample before its update.
        """
        self._check_parameters()
        fitted = hasattr(self, "_state")
        # `_learn` checks that all values are finite.
        X = check_rows(self, X, reset=not fitted, accept_sparse=True, finite=False)
        labels = np.asarray(y)
        check_labels(labels, X.shape[0])
        resolved, ambiguous = self._resolve_classes(labels, classes)
        codes = label_codes(labels, resolved)
        state = self._state if fitted else self._initial_state(X.shape[1], len(resolved))
        # One sparse chunk with a diagonal Σ is checked before it is learned: no copy is needed.
        one_chunk = X.shape[0] <= _CHUNK and not self.record_every
        if not (is_sparse(X) and one_chunk and state.covariance.is_diagonal):
            state = deepcopy(state)
        margin, records = self._learn(state, X, codes)
        self._state = state
        self._append_history(records)
        self._set_classes(resolved, ambiguous)
        return max(0.0, 1.0 - margin)

    def _learn(
        self, state: ClassifierState, X: Any, codes: IndexArray, order: Any = None
    ) -> tuple[float, list[tuple[float, ...]]]:
        """Update `state` with samples, in `order` if given.

        Returns the margin of the last one before its update, and what is to be recorded.
        """
        n_samples = len(codes) if order is None else len(order)
        rule, top2 = self._step_rule(), self._top2(state)
        is_diagonal = state.covariance.is_diagonal
        stride = self._chunk_size(X.shape[1])
        if is_sparse(X):
            X = without_duplicates(X)
            if order is None and is_diagonal:
                stride = n_samples  # a part of a sparse matrix would be a copy
        start, records = 0, []
        while start < n_samples:
            stop = start + self._until_record(state, min(stride, n_samples - start))
            part = slice(start, stop) if order is None else order[start:stop]
            samples = X if stop - start == n_samples and order is None else X[part]
            if order is None and (is_sparse(samples) or not is_diagonal):
                check_range(samples)
            try:
                scores = learn_samples(
                    state, samples.astype(np.float64, copy=False), codes[part], top2, rule
                )
            except OutOfRangeError:
                raise_sample_out_of_range(samples, "X")
            if self.record_every and state.n_events % self.record_every == 0:
                records.append(state.history_entry())
            start = stop
        return float(margins(scores[-1:], codes[part][-1:])[0]), records

    @staticmethod
    def _chunk_size(n_features: int) -> int:
        """Return the number of samples that are learned at a time."""
        return max(1, min(_CHUNK, _CHUNK_BYTES // (8 * n_features)))

    @updating
    def _prepare(
        self, sample: FloatArray, y: Any, classes: ArrayLike | None
    ) -> tuple[ClassifierState, EventLearner, int]:
        """Check a sample and its label, and prepare `learn_one` for this and further ones."""
        fitted = hasattr(self, "_state")
        if sample.ndim != 1 or not sample.size or (fitted and len(sample) != self.n_features_in_):
            raise_wrong_shape(sample, self.n_features_in_ if fitted else None)
        if not samples_in_range(sample):
            raise_sample_out_of_range(sample[None], "x")
        label = np.asarray([y])
        check_labels(label, 1)
        self._check_parameters()
        resolved, ambiguous = self._resolve_classes(label, classes)
        code = int(label_codes(label, resolved)[0])
        state = self._state if fitted else self._initial_state(len(sample), len(resolved))
        rule = self._step_rule()
        learn = sample_learner(state, self._top2(state), rule)
        self.n_features_in_ = len(sample)
        self._set_classes(resolved, ambiguous)
        self._prepared = state, learn, rule, self.multiclass
        return state, learn, code

    def _top2(self, state: ClassifierState) -> bool:
        return len(state.weights) > 1 and self.multiclass == "top2"

    def _resolve_classes(self, labels: Array, classes: ArrayLike | None) -> tuple[Array, bool]:
        if hasattr(self, "_state"):
            return resolve_classes(labels, classes, self.classes_, self._ambiguous_classes)
        return resolve_classes(labels, classes, None, False)

    def _set_classes(self, classes: Array, ambiguous: bool) -> None:
        same = classes is getattr(self, "classes_", None) and hasattr(self, "_code_of")
        if same and ambiguous == self._ambiguous_classes:
            return
        self.classes_ = classes
        self._ambiguous_classes = ambiguous
        # While classes are ambiguous, `learn_one` has to resolve them for each label.
        self._code_of = {} if ambiguous else {c: i for i, c in enumerate(classes.tolist())}
