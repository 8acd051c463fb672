"""What the online classifiers share: labelled rows in, a linear decision out."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from likewise._loops import ClassifierRule
from likewise._loops.classifier_common import EventLearner, margins
from likewise._runtime.arrays import Array, FloatArray, IndexArray
from likewise._runtime.memory import require_memory
from likewise._runtime.threads import run_blocks
from likewise._runtime.validation import (
    TableLike,
    at_least,
    check_labelled,
    check_rows,
    codes_of,
    one_of,
    warn_user,
    yes_or_no,
)
from likewise.base import Learner, fitting
from likewise.online._classifier_state import (
    ClassifierState,
    DiagonalForm,
    UnlearnableError,
    advance,
    row_learner,
    size_of,
)
from likewise.online._labels import (
    check_labels,
    codes_among,
    listed,
    understood_classes,
)
from likewise.online._rows import (
    canonical,
    check_size,
    is_sparse,
    learnable,
    refuse_shape,
    refuse_size,
)

_CHUNK = 32_768  # rows taken at a time
_CHUNK_BYTES = 2**26  # and no more of them than this, once they are dense and double
_MAP_BLOCK = 4096  # rows scored at a time


class OnlineClassifier(ClassifierMixin, Learner):  # type: ignore[misc]
    """A linear classifier learned row by row.

    A subclass says when and how far it steps (`_step_rule`) and, if it is of second order, what it
    keeps of the covariance of its weights (`covariance`, `_variance`).
    """

    multiclass: str
    fit_intercept: bool
    max_iter: int
    shuffle: bool
    random_state: Any
    classes_: Array
    n_features_in_: int
    _state: ClassifierState
    _code_of: dict[Any, int]
    _at_hand: tuple[ClassifierState, EventLearner, ClassifierRule, str]
    _undecided: bool

    covariance: str | int | None = None
    _shared_rules: ClassVar = {
        "multiclass": one_of("ovr", "top2"),
        "fit_intercept": yes_or_no(),
        "max_iter": at_least(1),
        "shuffle": yes_or_no(),
    }

    # -- what subclasses say ---------------------------------------------------------------------

    def _step_rule(self) -> ClassifierRule:
        raise NotImplementedError

    def _variance(self) -> float:
        """Return the variance of every weight before the first event."""
        return 1.0

    # -- learning --------------------------------------------------------------------------------

    def learn_one(self, x: ArrayLike, y: Any, classes: ArrayLike | None = None) -> float:
        """Learn from one row and return the hinge loss it suffered before the update.

        Parameters
        ----------
        x : array-like of shape (n_features,), or sparse matrix with one row
            The row.
        y : label
            Its class.
        classes : array-like, optional
            All labels that will ever come, with the first event. Without them -1 and 1, 0 and 1,
            and False and True are understood.

        Returns
        -------
        float
            ``max(0, 1 - m)`` with the margin m: the score of y less the best other one (of two
            classes: y's own sign times the score).
        """
        if is_sparse(x):
            return self._learn_table(x, [y], classes)
        try:
            row = np.asarray(x, np.float64, "C")
        except (TypeError, ValueError):
            raise ValueError("x must be numbers, but it is not.") from None
        try:
            state, learn, rule, multiclass = self._at_hand
            label = self._code_of[y]
            ready = (
                state is self._state
                and rule is self._step_rule()
                and multiclass == self.multiclass
                and classes is None
            )
        except (AttributeError, KeyError, TypeError):
            ready = False
        if not ready or row.shape != (self.n_features_in_,):
            state, learn, label = self._prepare_row(row, y, classes)
        margin, mistake, updates = learn(row, label)
        if margin != margin:
            refuse_size(row[None], "x")
        state.n_events += 1
        state.n_updates += updates
        state.mistakes += mistake
        self._state = state
        return 1.0 - margin if margin < 1.0 else 0.0

    def partial_fit(self, X: TableLike, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Learn from rows in their order: what `learn_one` on each would give, only faster.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows.
        y : array-like of shape (n_rows,)
            Their labels.
        classes : array-like, optional
            All labels that will ever come, with the first batch; see `learn_one`.

        Returns
        -------
        self
            A batch is learned whole or, if something is wrong with it, not at all.
        """
        self._learn_table(X, y, classes)
        return self

    @fitting
    def fit(self, X: TableLike, y: ArrayLike) -> Self:
        """Learn afresh, in `max_iter` passes over the rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows.
        y : array-like of shape (n_rows,)
            Labels of at least two classes.

        Returns
        -------
        self
        """
        X, codes, classes = check_labelled(self, X, y, accept_sparse=True)
        check_size(X)
        random = check_random_state(self.random_state)
        state = self._begin(X.shape[1], len(classes))
        self._decide(classes, undecided=False)
        self._state = state
        passes = 0
        try:
            for _ in range(self.max_iter):
                order = random.permutation(X.shape[0]) if self.shuffle else np.arange(X.shape[0])
                self._learn(state, X, codes, order)
                passes += 1
        except KeyboardInterrupt:
            warn_user(
                f"{type(self).__name__} was interrupted after {passes} of {self.max_iter} passes; "
                "what was learned so far is kept.",
                ConvergenceWarning,
            )
        self.n_iter_ = max(1, passes)
        return self

    def fit_stream(self, batches: Iterable[tuple[Any, Any]]) -> Self:
        """Learn from batches ``(X, y)`` as they come.

        Parameters
        ----------
        batches : iterable
            Read once; may be endless and is then stopped by an interrupt.

        Returns
        -------
        self
        """
        for X, y in batches:
            self.partial_fit(X, y)
        return self

    # -- answers ---------------------------------------------------------------------------------

    def decision_function(self, X: TableLike) -> Array:
        """Return the scores of rows: the larger, the surer of a class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        array of shape (n_rows,) or (n_rows, n_classes)
            Of two classes the score of the second one; else of each.
        """
        check_is_fitted(self)
        X = check_rows(self, X, reset=False, accept_sparse=True)
        coef = self.coef_.astype(X.dtype)
        if is_sparse(X):
            scores = np.asarray(X @ coef.T)
        else:
            scores = np.empty((len(X), len(coef)), dtype=X.dtype)

            def block(start: int, stop: int) -> None:
                scores[start:stop] = X[start:stop] @ coef.T

            run_blocks(block, len(X), _MAP_BLOCK)
        scores += self.intercept_.astype(X.dtype)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: TableLike) -> Array:
        """Return the label of the largest score; of two classes, the second if it is above 0.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        array of shape (n_rows,)
            Labels, as in `classes_`.
        """
        scores = self.decision_function(X)
        places = scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(np.int64)
        return np.asarray(self.classes_[places])

    # -- what was learned ------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_state")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @property
    def coef_(self) -> FloatArray:
        """The weights of the features: one row for two classes, else one a class."""
        return self._learned().weights[:, : self.n_features_in_]

    @property
    def intercept_(self) -> FloatArray:
        """What is added to the scores: zeros unless `fit_intercept`."""
        weights = self._learned().weights
        added = weights[:, self.n_features_in_ :]
        return added[:, 0].copy() if added.size else np.zeros(len(weights))

    @property
    def n_events_(self) -> int:
        """How many rows were seen."""
        return self._learned().n_events

    @property
    def n_updates_(self) -> int:
        """How often a model changed; one against the rest, every class has a model of its own."""
        return self._learned().n_updates

    @property
    def mistakes_(self) -> int:
        """How many rows were predicted wrongly before they were learned."""
        return self._learned().mistakes

    @property
    def cumulative_error_(self) -> float:
        """The share of the rows that were predicted wrongly before they were learned."""
        learned = self._learned()
        return learned.mistakes / max(1, learned.n_events)

    # -- how -------------------------------------------------------------------------------------

    def _learned(self) -> ClassifierState:
        try:
            return self._state
        except AttributeError:
            raise AttributeError(
                f"This {type(self).__name__} has not learned anything yet."
            ) from None

    def _begin(self, n_features: int, n_classes: int) -> ClassifierState:
        """Return the state before the first event, if there is memory for it."""
        width = n_features + bool(self.fit_intercept)
        n_models = 1 if n_classes == 2 else n_classes
        covariance = self.covariance
        require_memory(
            2 * 8.0 * size_of(n_models, width, covariance),  # a batch is learned on a copy
            f"{type(self).__name__}, for weights and covariance={covariance!r} of "
            f"{n_features} features and {n_classes} classes,",
            "covariance='diagonal' needs least" if covariance not in (None, "diagonal") else "",
        )
        return ClassifierState.start(n_models, width, covariance, self._variance())

    def _learn_table(self, X: TableLike, y: ArrayLike, classes: ArrayLike | None) -> float:
        """Learn a batch whole or not at all, and return the hinge loss of its last row."""
        self._check_parameters()
        known = hasattr(self, "_state")
        # Whether all numbers are finite is seen while they are learned: one pass less.
        X = check_rows(self, X, reset=not known, accept_sparse=True, finite=False)
        labels = np.asarray(y)
        check_labels(labels, X.shape[0])
        decided, undecided = self._classes_for(labels, classes)
        codes = codes_among(labels, decided)
        state = self._state if known else self._begin(X.shape[1], len(decided))
        # What can be interrupted or refused half-way works on a copy; a few sparse rows cannot.
        if not (
            is_sparse(X) and X.shape[0] <= _CHUNK and isinstance(state.form, DiagonalForm | None)
        ):
            state = deepcopy(state)
        margin = self._learn(state, X, codes)
        self._state = state
        self._decide(decided, undecided)
        return max(0.0, 1.0 - margin)

    def _learn(self, state: ClassifierState, X: Any, codes: IndexArray, order: Any = None) -> float:
        """Take rows, in a given order if there is one; return the margin of the last before."""
        n_rows = len(codes)
        rule, top2 = self._step_rule(), self._top2(state)
        stride = max(1, min(_CHUNK, _CHUNK_BYTES // (8 * X.shape[1])))
        if is_sparse(X):
            X = canonical(X)
            if order is None and isinstance(state.form, DiagonalForm | None):
                stride = n_rows  # to cut sparse rows is to copy them
        for start in range(0, n_rows, stride):
            part = slice(start, start + stride)
            if order is not None:
                part = order[part]
            rows = X if stride >= n_rows and order is None else X[part]
            if order is None and (
                is_sparse(rows) or not isinstance(state.form, DiagonalForm | None)
            ):
                check_size(rows)
            try:
                scores = advance(
                    state, rows.astype(np.float64, copy=False), codes[part], top2, rule
                )
            except UnlearnableError:
                refuse_size(rows, "X")
        return float(margins(scores[-1:], codes[part][-1:])[0])

    # -- labels ----------------------------------------------------------------------------------

    def _prepare_row(
        self, row: FloatArray, y: Any, classes: ArrayLike | None
    ) -> tuple[ClassifierState, EventLearner, int]:
        """Check a row and its label, and have everything at hand for more of the kind."""
        known = hasattr(self, "_state")
        if row.ndim != 1 or not row.size or (known and len(row) != self.n_features_in_):
            refuse_shape(row, self.n_features_in_ if known else None)
        if not learnable(row):
            refuse_size(row[None], "x")
        label = np.asarray([y])
        check_labels(label, 1)
        self._check_parameters()
        decided, undecided = self._classes_for(label, classes)
        code = int(codes_among(label, decided)[0])
        state = self._state if known else self._begin(len(row), len(decided))
        rule = self._step_rule()
        learn = row_learner(state, self._top2(state), rule)
        self.n_features_in_ = len(row)
        self._decide(decided, undecided)
        self._at_hand = state, learn, rule, self.multiclass
        return state, learn, code

    def _top2(self, state: ClassifierState) -> bool:
        return len(state.weights) > 1 and self.multiclass == "top2"

    def __getstate__(self) -> Any:
        return {name: held for name, held in super().__getstate__().items() if name != "_at_hand"}

    def _classes_for(self, labels: Array, classes: ArrayLike | None) -> tuple[Array, bool]:
        """Return the classes of these labels, and whether 1 may go with 0 or with -1 still."""
        known = getattr(self, "classes_", None) if hasattr(self, "_state") else None
        if classes is not None:
            given, _ = codes_of(classes)
            if len(given) < 2:
                raise ValueError(f"classes={classes!r} names one class, but at least 2 are needed.")
            if known is not None and not np.array_equal(given, known):
                raise ValueError(
                    f"classes={listed(given)} differ from the classes of the first call, "
                    f"{listed(known)}."
                )
            return given, False
        if known is not None and not (self._undecided and 0 in labels):
            return known, self._undecided and not bool((labels == -1).any())
        return understood_classes(labels)

    def _decide(self, classes: Array, undecided: bool) -> None:
        same = classes is getattr(self, "classes_", None) and hasattr(self, "_code_of")
        if same and undecided == self._undecided:
            return
        self.classes_ = classes
        self._undecided = undecided
        # Labels of which one may still turn out to be another are looked at one by one.
        self._code_of = {} if undecided else {c: i for i, c in enumerate(classes.tolist())}
