"""Online learners: estimators that update their model event by event."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol, Self

from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from likewise._runtime.interrupts import out_of_time
from likewise._runtime.validation import TableLike, warn_user
from likewise.base.learner import Learner


class OnlineState(Protocol):
    """What the state of every online learner counts."""

    n_events: int
    n_updates: int
    mistakes: int


class OnlineLearner(Learner):
    """Base class of estimators that learn from a stream.

    A subclass implements `partial_fit` and keeps all that it has learned in ``_state``, which
    exists from the first event on and has the counters of `OnlineState`. Then a model that is saved
    and loaded continues with the same bits.
    """

    _state: OnlineState

    def partial_fit(self, X: TableLike, y: ArrayLike) -> Self:
        """Update the model with labelled samples, in the given order.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Labels.

        Returns
        -------
        self
        """
        raise NotImplementedError

    def fit_stream(self, batches: Iterable[tuple[Any, ...]]) -> Self:
        """Update the model with one batch after the other.

        Parameters
        ----------
        batches : iterable of tuples
            Each batch is ``(X, y)``, as for `partial_fit`; a metric learner also takes
            ``(X, pairs, same)``, as for `partial_fit_pairs`. The iterable is read once and may be
            endless; an interrupt keeps all batches learned so far.

        Returns
        -------
        self
        """
        for batch in batches:
            self._learn_batch(batch)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_state")

    @property
    def n_events_(self) -> int:
        """Number of events seen: pairs for a metric learner, samples for a classifier."""
        return self._fitted_state().n_events

    @property
    def n_updates_(self) -> int:
        """Number of updates; with one model per class, an event may update several models."""
        return self._fitted_state().n_updates

    @property
    def mistakes_(self) -> int:
        """Number of events that were predicted wrongly before the model was updated with them."""
        return self._fitted_state().mistakes

    def _learn_batch(self, batch: tuple[Any, ...]) -> None:
        X, y = batch
        self.partial_fit(X, y)

    def _warn_interrupted(self, passes: int, wanted: int) -> None:
        how = "stopped by the time limit" if out_of_time() else "interrupted"
        warn_user(
            f"{type(self).__name__} was {how} after {passes} of {wanted} passes; the model "
            "so far is kept.",
            ConvergenceWarning,
        )

    def _fitted_state(self) -> OnlineState:
        try:
            return self._state
        except AttributeError:
            raise AttributeError(
                f"This {type(self).__name__} is not fitted yet: call fit or partial_fit first."
            ) from None
