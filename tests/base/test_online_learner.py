"""OnlineLearner: what a learner of one's own inherits."""

from dataclasses import dataclass

import numpy as np
import pytest

import likewise as lw
from likewise import _files
from likewise.base import OnlineLearner


@_files.record
@dataclass
class MajorityState:
    counts: np.ndarray
    n_events: int = 0
    n_updates: int = 0
    mistakes: int = 0


class Majority(OnlineLearner):
    """Predicts the most frequent of the labels 0 and 1."""

    def partial_fit(self, X, y):
        state = self._state = getattr(self, "_state", MajorityState(np.zeros(2)))
        for label in y:
            state.mistakes += label != state.counts.argmax()
            state.counts[label] += 1
            state.n_events += 1
            state.n_updates += 1
        return self


def test_fit_stream_passes_every_batch_to_partial_fit():
    X, y = np.zeros((7, 1)), np.array([1, 1, 0, 1, 0, 0, 1])
    whole = Majority().partial_fit(X, y)
    stream = Majority().fit_stream((X[i : i + 2], y[i : i + 2]) for i in range(0, 7, 2))
    assert (stream._state.counts == whole._state.counts).all()
    assert (stream.n_events_, stream.n_updates_, stream.mistakes_) == (7, 7, 5)


def test_interrupted_stream_keeps_the_batches_so_far():
    def batches():
        yield np.zeros((3, 1)), [1, 1, 0]
        raise KeyboardInterrupt

    model = Majority()
    with pytest.raises(KeyboardInterrupt):
        model.fit_stream(batches())
    assert model.n_events_ == 3


def test_counters_before_the_first_event_raise_a_clear_error():
    for name in ("n_events_", "n_updates_", "mistakes_"):
        with pytest.raises(AttributeError, match="This Majority is not fitted yet: call fit"):
            getattr(Majority(), name)
    assert not Majority().__sklearn_is_fitted__()


def test_partial_fit_is_left_to_the_subclass():
    with pytest.raises(NotImplementedError):
        OnlineLearner().partial_fit([[0.0]], [1])


@pytest.mark.parametrize("model", [lw.PAMetric(), lw.POLA(), lw.AROW(), lw.Perceptron()], ids=repr)
def test_online_methods_share_the_base(model):
    assert isinstance(model, OnlineLearner)
    assert not {"n_events_", "n_updates_", "mistakes_", "fit_stream"} & {
        name
        for cls in type(model).__mro__[: type(model).__mro__.index(OnlineLearner)]
        for name in vars(cls)
    }
