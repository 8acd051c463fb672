"""What an online classifier reports about the stream that it has learned."""

from __future__ import annotations

from collections.abc import Sequence

from likewise._runtime.arrays import Array, FloatArray
from likewise._runtime.invariants import require
from likewise.base import OnlineLearner
from likewise.online._classifier_state import ClassifierState
from likewise.online._history import History


class StreamRecord(OnlineLearner):
    """Base class of online classifiers: errors on the stream, and their history."""

    record_every: int | None
    classes_: Array
    _state: ClassifierState
    _history: History

    @property
    def cumulative_error_(self) -> float:
        """Fraction of the samples that were predicted wrongly before the update with them."""
        state = self._fitted_state()
        return state.mistakes / max(1, state.n_events)

    @property
    def f1_(self) -> FloatArray:
        """F1 score of each class, of the predictions before the update with each sample."""
        return self._fitted_state().f1()

    @property
    def history_(self) -> dict[str, FloatArray]:  # type: ignore[override]
        """What `record_every` has recorded: one array per column, of `f1` one column per class."""
        entries = self._history.recorded(2 + len(self.classes_))
        n_events, mistakes = entries[:, 0], entries[:, 1]
        return {
            "n_events": n_events,
            "mistakes": mistakes,
            "predictive_error": mistakes / n_events,
            "f1": entries[:, 2:],
        }

    def _fitted_state(self) -> ClassifierState:
        super()._fitted_state()
        return self._state

    def _check_state(self) -> None:
        super()._check_state()
        if "_state" in vars(self):
            history = vars(self).get("_history", History())
            require(isinstance(history, History) and history.fits(2 + len(self.classes_)))

    def _append_history(self, records: Sequence[Sequence[float]]) -> None:
        if self.record_every:
            self._history = getattr(self, "_history", History()).extended(records)

    def _until_record(self, state: ClassifierState, n_samples: int) -> int:
        """Return how many of the next samples can be learned before something is recorded."""
        if not self.record_every:
            return n_samples
        return min(n_samples, self.record_every - state.n_events % self.record_every)
