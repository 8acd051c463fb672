"""Adapters of the online learners to river, where a sample is a dict of features.

Only `pipeline_step` needs river to be installed.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import clone

from likewise.online._classifier import OnlineClassifier
from likewise.online._features import Columns, Features, row_of, sides_of, sorted_columns
from likewise.online._metric_learner import OnlineMetricLearner


class PairStream:
    """Online metric learning from dicts of features, in pairs or with labels.

    The features of the first event, in sorted order, become the columns. Later a missing feature
    counts as 0, and a new one raises an error.

    Parameters
    ----------
    model : online metric learner
        For example `PAMetric`; it is updated in place.

    Attributes
    ----------
    features : tuple or None
        Names of the columns; None before the first event.

    Examples
    --------
    >>> import likewise as lw
    >>> from likewise.online.river import PairStream
    >>> stream = PairStream(lw.PAMetric())
    >>> stream.learn_one(({"width": 0.0, "colour": 1.0}, {"width": 2.0, "colour": 1.0}), True)
    >>> stream.learn_one(({"width": 0.0, "colour": 1.0}, {"colour": 4.0}), False)
    >>> stream.features
    ('colour', 'width')
    >>> stream.predict_one(({"width": 0.0, "colour": 0.0}, {"width": 5.0}))
    True
    """

    def __init__(self, model: OnlineMetricLearner) -> None:
        self.model = model
        self.features: Columns | None = None

    def learn_one(self, x: tuple[Features, Features] | Features, y: Any) -> None:
        """Update the model with one event.

        Parameters
        ----------
        x : pair of dicts, or dict
            The two samples of a pair; or one labelled sample, which is paired with the last
            ``model.memory`` samples.
        y : bool, or label
            Whether the pair is similar; or the label of the sample.
        """
        sides = (x,) if isinstance(x, Mapping) else sides_of(x)
        columns = self.features or sorted_columns({name for side in sides for name in side})
        rows = [row_of(side, columns) for side in sides]
        if len(rows) == 1:
            self.model.partial_fit(rows[0][None], np.array([y]))
        else:
            self.model.learn_pair(rows[0], rows[1], y)
        self.features = columns  # only now: an event that raises an error must not set them

    def predict_one(self, x: tuple[Features, Features]) -> bool:
        """Predict whether the two dicts of a pair are similar."""
        if self.features is None:
            raise ValueError("This PairStream is not fitted yet: call learn_one first.")
        first, second = (row_of(side, self.features)[None] for side in sides_of(x))
        return bool(self.model.predict_pairs(first, second)[0])

    def transform_one(self, x: Features) -> dict[int, float]:
        """Map a dict to where the Euclidean distance is the learned one.

        Before the first event, return the values of the dict in the order of its sorted keys.
        """
        if self.features is None:
            return dict(enumerate(row_of(x, sorted_columns(x)).tolist()))
        mapped = np.asarray(self.model.transform(row_of(x, self.features)[None]))[0]
        return dict(enumerate(mapped.tolist()))

    def pipeline_step(self) -> Any:
        """Return a supervised transformer for river's pipelines, which updates this model."""
        return _steps().MetricStep(self)

    def knn_step(self, n_neighbors: int = 3, window_size: int = 1000) -> Any:
        """Return a kNN classifier for river's pipelines, which updates this model.

        Parameters
        ----------
        n_neighbors : int
            How many neighbours vote.
        window_size : int
            How many of the last samples are searched. They are kept as they came, so that all
            distances are those of the metric learned so far.

        Returns
        -------
        river classifier
            The last step of a pipeline.
        """
        return _steps().MetricKNNStep(self, n_neighbors, window_size)

    def unfitted(self) -> PairStream:
        """Return a stream with the same parameters that has learned nothing."""
        return PairStream(clone(self.model))

    def __repr__(self) -> str:
        return f"PairStream({self.model!r})"


class ClassifierStream:
    """Online classification of dicts of features.

    The features of the first event, in sorted order, become the columns. Later a missing feature
    counts as 0, and a new one raises an error.

    Parameters
    ----------
    model : online classifier
        For example `AROW`; it is updated in place.
    classes : array-like, optional
        All labels of the stream. They may be left out if the labels are -1 and 1, 0 and 1, or
        False and True.

    Attributes
    ----------
    features : tuple or None
        Names of the columns; None before the first event.

    Examples
    --------
    >>> import likewise as lw
    >>> from likewise.online.river import ClassifierStream
    >>> stream = ClassifierStream(lw.PA(), classes=["ham", "spam"])
    >>> stream.learn_one({"meeting": 2.0, "prize": 0.0}, "ham")
    >>> stream.learn_one({"prize": 1.0}, "spam")
    >>> stream.predict_one({"prize": 3.0})
    'spam'
    """

    def __init__(self, model: OnlineClassifier, classes: Any = None) -> None:
        self.model = model
        self.classes = classes
        self.features: Columns | None = None

    def learn_one(self, x: Features, y: Any) -> None:
        """Update the model with one labelled dict."""
        columns = self.features or sorted_columns(x)
        self.model.learn_one(row_of(x, columns), y, classes=self.classes)
        self.features = columns  # only now: an event that raises an error must not set them

    def predict_one(self, x: Features) -> Any:
        """Predict the label of a dict; None before the first event."""
        if self.features is None:
            return None
        return self.model.predict(row_of(x, self.features)[None])[0].item()

    def decision_one(self, x: Features) -> dict[Any, float]:
        """Return the scores by class, of two classes only the second; {} before the first event."""
        if self.features is None:
            return {}
        scores = np.atleast_1d(self.model.decision_function(row_of(x, self.features)[None])[0])
        classes = self.model.classes_.tolist()
        return dict(zip(classes[-len(scores) :], scores.tolist(), strict=True))

    def pipeline_step(self) -> Any:
        """Return a classifier for river's pipelines, which updates this model."""
        return _steps().ClassifierStep(self)

    def unfitted(self) -> ClassifierStream:
        """Return a stream with the same parameters that has learned nothing."""
        return ClassifierStream(clone(self.model), self.classes)

    def __repr__(self) -> str:
        return f"ClassifierStream({self.model!r}, classes={self.classes!r})"


def _steps() -> Any:
    try:
        import_module("river.base")
        return import_module("likewise.online._river_steps")
    except ImportError:
        raise ImportError("A step of a river pipeline needs river: pip install river.") from None
