"""Steps of river's pipelines; importing this module needs river."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from copy import deepcopy
from typing import Any, Self

import numpy as np
from river import base

from likewise.neighbors import vote
from likewise.online._features import Features, row_of
from likewise.online.arow import AROW
from likewise.online.pa_metric import PAMetric
from likewise.online.river import ClassifierStream, PairStream


class _StreamStep(base.Estimator):  # type: ignore[misc]
    """A step that updates the model of a stream; `clone` is that of river."""

    stream: Any

    def clone(
        self, new_params: dict[str, Any] | None = None, include_attributes: bool = False
    ) -> Self:
        """Return a step that has learned nothing, or a copy if `include_attributes`."""
        params = {**self._get_params(), **(new_params or {})}
        if not include_attributes:
            return type(self)(**{**params, "stream": params["stream"].unfitted()})
        copy = deepcopy(self)
        copy.__dict__.update(deepcopy(new_params or {}))
        return copy

    def _unit_test_skips(self) -> set[str]:
        return {"check_emerging_features"}  # a feature that is new raises an error


class MetricStep(_StreamStep, base.SupervisedTransformer):  # type: ignore[misc]
    """A supervised transformer that maps by the metric of a stream, and updates it.

    Parameters
    ----------
    stream
        A `PairStream`, which is updated in place.
    """

    def __init__(self, stream: PairStream) -> None:
        self.stream = stream

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"stream": PairStream(PAMetric())}

    def learn_one(self, x: Features, y: Any) -> None:
        """Update the metric with one labelled sample."""
        self.stream.learn_one(x, y)

    def transform_one(self, x: Features) -> dict[int, float]:
        """Map a sample by the metric learned so far."""
        mapped: dict[int, float] = self.stream.transform_one(x)
        return mapped


class MetricKNNStep(_StreamStep, base.Classifier):  # type: ignore[misc]
    """k nearest neighbours among the last samples, under the metric of a stream, and updates it.

    The samples are kept as they came. All distances are those of the metric learned so far.

    Parameters
    ----------
    stream
        A `PairStream`, which is updated in place.
    n_neighbors
        How many neighbours vote; ties are broken by dropping the farthest.
    window_size
        How many of the last samples are kept.
    """

    def __init__(self, stream: PairStream, n_neighbors: int = 3, window_size: int = 1000) -> None:
        self.stream = stream
        self.n_neighbors = n_neighbors
        self.window_size = window_size
        self._rows: deque[Any] = deque(maxlen=window_size)
        self._labels: deque[Any] = deque(maxlen=window_size)
        self._seen: dict[Any, None] = {}  # every label so far, in order of its first event

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"stream": PairStream(PAMetric())}

    @property
    def _multiclass(self) -> bool:
        return True

    def learn_one(self, x: Features, y: Any) -> None:
        """Update the metric with one labelled sample, and keep the sample."""
        self.stream.learn_one(x, y)
        self._rows.append(row_of(x, self.stream.features))
        self._labels.append(y)
        self._seen[y] = None

    def predict_proba_one(self, x: Features) -> dict[Any, float]:
        """Return the shares of the votes that decided; {} before the first event."""
        if not self._rows:
            return {}
        known = np.stack(self._rows)
        query = np.broadcast_to(row_of(x, self.stream.features), known.shape)
        distances = self.stream.model.pair_distance(query, known)
        nearest = np.argsort(distances, kind="stable")[: self.n_neighbors]
        codes = {label: code for code, label in enumerate(self._seen)}
        votes = np.array([[codes[self._labels[place]] for place in nearest]])
        _, counts = vote(votes, len(codes))
        return dict(zip(codes, (counts[0] / counts.sum()).tolist(), strict=True))


class ClassifierStep(_StreamStep, base.Classifier):  # type: ignore[misc]
    """A classifier that updates the model of a stream.

    Parameters
    ----------
    stream
        A `ClassifierStream`, which is updated in place.
    """

    def __init__(self, stream: ClassifierStream) -> None:
        self.stream = stream

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"stream": ClassifierStream(AROW())}

    @property
    def _multiclass(self) -> bool:
        return self.stream.classes is not None and len(self.stream.classes) > 2

    def learn_one(self, x: Features, y: Any) -> None:
        """Update the classifier with one labelled sample."""
        self.stream.learn_one(x, y)

    def predict_one(self, x: Features) -> Any:
        """Predict the label of a sample; None before the first event."""
        return self.stream.predict_one(x)
