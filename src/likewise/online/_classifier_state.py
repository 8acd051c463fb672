"""The models of an online classifier, and their update by labelled samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise import _files
from likewise._loops.checks import padded
from likewise._loops.classifiers.types import ClassifierRule, EventLearner, predicted
from likewise._runtime.arrays import FloatArray, IndexArray
from likewise._runtime.invariants import require, require_array, require_count
from likewise.online._covariance_state import (
    CovarianceState,
    DiagonalCovariance,
    FactoredCovariance,
)
from likewise.online._sketched_covariance import SketchedCovariance


@_files.record
@dataclass
class ClassifierState:
    """Weights and covariance of every model, and the counters.

    `max_sqnorm` is the squared length of the longest sample that each model has seen, which PAUM
    needs. `outcomes` has three rows with a number for each class: samples of the class that were
    predicted right, samples of the class that were not, and other samples predicted as the class.
    """

    weights: FloatArray
    max_sqnorm: FloatArray
    covariance: CovarianceState
    outcomes: IndexArray
    n_events: int = 0
    n_updates: int = 0
    mistakes: int = 0

    def check(self) -> None:
        """Raise a ValueError if the fields are not valid."""
        require_array(self.weights, None, None)
        n_models, width = self.weights.shape
        require(n_models > 0 and width > 0)
        require_array(self.max_sqnorm, n_models)
        require(isinstance(self.covariance, CovarianceState))
        require(self.covariance.shape in (None, (n_models, width)))
        require_array(self.outcomes, 3, 2 if n_models == 1 else n_models, kind="i")
        require(bool((self.outcomes >= 0).all()))
        for count in (self.n_events, self.n_updates, self.mistakes):
            require_count(count)

    @classmethod
    def start(
        cls, n_models: int, width: int, covariance: str | int | None, variance: float
    ) -> ClassifierState:
        """Return the state before the first event."""
        return cls(
            np.zeros((n_models, width)),
            np.zeros(n_models),
            _start_covariance(n_models, width, covariance, variance),
            np.zeros((3, 2 if n_models == 1 else n_models), dtype=np.int64),
        )

    def f1(self) -> FloatArray:
        """Return the F1 score of each class; 0 for a class that was neither seen nor predicted."""
        right, missed, wrong = self.outcomes
        return np.asarray(2 * right / np.maximum(2 * right + missed + wrong, 1))

    def history_entry(self) -> tuple[float, ...]:
        """Return the number of events and of mistakes, and the F1 score of each class."""
        return self.n_events, self.mistakes, *self.f1().tolist()


def state_size(n_models: int, width: int, covariance: str | int | None) -> float:
    """Return the approximate number of values in the arrays of a state."""
    outcomes = 3 * max(2, n_models)
    if isinstance(covariance, str | None):
        per_weight = {None: 1, "diagonal": 2, "full": 2 + padded(width)}[covariance]
        return float(n_models * width * per_weight + outcomes)
    capacity = 2 * min(covariance, width)
    sketch = width * capacity + capacity * (capacity + padded(capacity))
    return float(n_models * (2 * width + sketch) + outcomes)


def learn_samples(
    state: ClassifierState, X: Any, labels: IndexArray, top2: bool, rule: ClassifierRule
) -> FloatArray:
    """Update `state` in place with samples in order; return the scores of each before its update.

    Parameters
    ----------
    state : ClassifierState
        Is updated.
    X : float64 array of shape (n_samples, n_features), or CSR matrix without duplicates
        Samples.
    labels : int64 array of shape (n_samples,)
        Class numbers; 0 and 1 where there is a single model.
    top2 : bool
        Whether the label's model learns against the best other one, or each against the rest.
    rule : ClassifierRule
        When to update, and the step size.
    """
    scores, updates = state.covariance.learn(state.weights, state.max_sqnorm, X, labels, top2, rule)
    state.n_events += len(labels)
    state.n_updates += updates
    guesses = predicted(scores)
    wrong = guesses != labels
    state.mistakes += int(np.count_nonzero(wrong))
    counted = (labels[~wrong], labels[wrong], guesses[wrong])
    for row, classes in zip(state.outcomes, counted, strict=True):
        row += np.bincount(classes, minlength=len(row))
    return scores


def sample_learner(state: ClassifierState, top2: bool, rule: ClassifierRule) -> EventLearner:
    """Return a function that updates `state` with one dense sample and its class number.

    It returns the margin (NaN, and nothing changed, if the sample is out of range), the class that
    was predicted, and the number of updates. The caller counts.
    """
    return state.covariance.event_learner(state.weights, state.max_sqnorm, top2, rule)


def _start_covariance(
    n_models: int, width: int, covariance: str | int | None, variance: float
) -> CovarianceState:
    """Return Σ before the first event, for a value of the parameter `covariance`."""
    match covariance:
        case None:
            return DiagonalCovariance.identity()
        case "diagonal":
            return DiagonalCovariance.start(n_models, width, variance)
        case "full":
            return FactoredCovariance.start(n_models, width, variance)
    return SketchedCovariance.start(n_models, width, variance, int(covariance))
