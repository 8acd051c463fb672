"""Online learners for river: events are dicts of features, one at a time.

river itself is needed only by `pipeline_step`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from importlib import import_module
from typing import Any

import numpy as np

from likewise._runtime.arrays import FloatArray
from likewise.online._classifier import OnlineClassifier
from likewise.online._metric_learner import OnlineMetricLearner

Features = Mapping[Hashable, float]
Columns = tuple[Hashable, ...]


class PairStream:
    """Learn a metric from dicts, in pairs or with labels, and map dicts with it.

    The features of the first event, in sorted order, become the columns. Later a missing feature
    is 0, and a new one is an error: the metric has no entry for it.

    Parameters
    ----------
    model : online metric learner
        A `PAMetric`, say; it learns in place.

    Attributes
    ----------
    features : tuple or None
        The columns, once the first event has come.

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
        """Learn from one event.

        Parameters
        ----------
        x : pair of dicts, or dict
            Two sides of a pair; or one labelled row, which is paired with the last
            ``model.memory`` ones.
        y : bool, or label
            Whether the two are alike; or the row's label.
        """
        sides = (x,) if isinstance(x, Mapping) else _sides(x)
        columns = self.features or _sorted({name for side in sides for name in side})
        rows = [_row(side, columns) for side in sides]
        if len(rows) == 1:
            self.model.partial_fit(rows[0][None], np.array([y]))
        else:
            self.model.learn_pair(rows[0], rows[1], y)
        self.features = columns  # only now: a refused event decides nothing

    def predict_one(self, x: tuple[Features, Features]) -> bool:
        """Return whether the two dicts of the pair are alike."""
        if self.features is None:
            raise ValueError("This PairStream is not fitted yet: call learn_one first.")
        first, second = (_row(side, self.features)[None] for side in _sides(x))
        return bool(self.model.predict_pairs(first, second)[0])

    def transform_one(self, x: Features) -> dict[int, float]:
        """Return where the metric maps a dict: Euclidean distances there are the learned ones.

        Before the first event that is the dict's own values, in sorted order.
        """
        if self.features is None:
            return dict(enumerate(_row(x, _sorted(x)).tolist()))
        mapped = np.asarray(self.model.transform(_row(x, self.features)[None]))[0]
        return dict(enumerate(mapped.tolist()))

    def pipeline_step(self) -> Any:
        """Return a supervised transformer for river's pipelines that learns into this stream."""
        base: Any = _river()

        class MetricStep(base.SupervisedTransformer):  # type: ignore[misc]
            def __init__(self, stream: PairStream) -> None:
                self.stream = stream

            def learn_one(self, x: Features, y: Any) -> None:
                self.stream.learn_one(x, y)

            def transform_one(self, x: Features) -> dict[int, float]:
                return self.stream.transform_one(x)

        return MetricStep(self)


class ClassifierStream:
    """Learn a classifier from dicts with labels, and classify dicts with it.

    The features of the first event, in sorted order, become the columns. Later a missing feature
    is 0, and a new one is an error: the classifier has no weight for it.

    Parameters
    ----------
    model : online classifier
        An `AROW`, say; it learns in place.
    classes : array-like, optional
        All labels that will ever come; not needed for two that are -1 and 1, 0 and 1, or False
        and True.

    Attributes
    ----------
    features : tuple or None
        The columns, once the first event has come.

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
        """Learn from one labelled dict."""
        columns = self.features or _sorted(x)
        self.model.learn_one(_row(x, columns), y, classes=self.classes)
        self.features = columns  # only now: a refused event decides nothing

    def predict_one(self, x: Features) -> Any:
        """Return the label of a dict; None before the first event."""
        if self.features is None:
            return None
        return self.model.predict(_row(x, self.features)[None])[0].item()

    def decision_one(self, x: Features) -> dict[Any, float]:
        """Return scores by class: of two classes that of the second; {} before the first event."""
        if self.features is None:
            return {}
        scores = np.atleast_1d(self.model.decision_function(_row(x, self.features)[None])[0])
        classes = self.model.classes_.tolist()
        return dict(zip(classes[-len(scores) :], scores.tolist(), strict=True))

    def pipeline_step(self) -> Any:
        """Return a classifier for river's pipelines that learns into this stream."""
        base: Any = _river()

        class ClassifierStep(base.Classifier):  # type: ignore[misc]
            def __init__(self, stream: ClassifierStream) -> None:
                self.stream = stream

            @property
            def _multiclass(self) -> bool:
                return True

            def learn_one(self, x: Features, y: Any) -> None:
                self.stream.learn_one(x, y)

            def predict_one(self, x: Features) -> Any:
                return self.stream.predict_one(x)

        return ClassifierStep(self)


def _river() -> Any:
    try:
        return import_module("river.base")
    except ImportError:
        raise ImportError("A step of a river pipeline needs river: pip install river") from None


def _sorted(names: Any) -> Columns:
    return tuple(sorted(names, key=lambda name: (type(name).__name__, name)))


def _row(x: Features, columns: Columns) -> FloatArray:
    unknown = [name for name in x if name not in columns]
    if unknown:
        raise ValueError(
            f"The feature {unknown[0]!r} is new, but only those of the first event can be used: "
            f"{', '.join(map(repr, columns))}."
        )
    return np.array([x.get(name, 0.0) for name in columns], dtype=np.float64)


def _sides(x: Any) -> tuple[Features, Features]:
    match x:
        case (Mapping() as first, Mapping() as second):
            return first, second
    raise ValueError(f"x must be a pair of dicts of features, but it is {repr(x)[:80]}.")
