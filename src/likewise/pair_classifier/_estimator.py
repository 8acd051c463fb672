"""The estimator: a metric, and a threshold on its distance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from likewise._metric_parameter import (
    METRIC_RULE,
    fresh_metric,
    nested_fits,
    require_no_gathering,
)
from likewise._numerics.centring import robust_centre
from likewise._runtime.arrays import Array, IndexArray
from likewise._runtime.blocks.rows import BlockedRows
from likewise._runtime.memory import require_memory
from likewise._runtime.tensors import to_numpy
from likewise._runtime.text import quote
from likewise._runtime.validation import (
    Rule,
    TableLike,
    at_least,
    boolean,
    check_labelled,
    check_rows,
    either,
    none,
    one_of,
    strictly_between,
)
from likewise.base import Learner, fitting
from likewise.base.estimate import NestedFit
from likewise.batch import Euclidean
from likewise.constraints import Pairs, as_pairs
from likewise.exceptions import GuaranteeError
from likewise.pair_classifier._calibration import calibrate
from likewise.pair_classifier._decisions import SHARE, PairDecisions
from likewise.pair_classifier._parts import Parts, split_labelled, split_pairs
from likewise.statistics import choose_threshold
from likewise.statistics._pair_units import check_groups, require_both_kinds
from likewise.statistics._rate_bounds import GUARANTEES, Guarantee
from likewise.statistics._target import parse_target
from likewise.statistics.threshold import check_prevalence

_COPIES = 4  # of rows that are gathered: those of the metric, mapped, and their differences
NEW_CLASSES = "give groups=y for new classes"
"""What a promise of labelled rows ends with; the command line has an option for it."""


def _is_cosine(metric: object) -> bool:
    return isinstance(metric, str) and metric.lower() == "cosine"


class PairClassifier(PairDecisions):
    """Decides whether two rows are the same thing: a metric, and a threshold that can be promised.

    The metric is learned from one part of the items, and the threshold from pairs of the others:
    distances of pairs that a metric was learned from are smaller, or larger, than those of new
    ones.

    Parameters
    ----------
    metric : MetricLearner or str, optional
        The metric to learn, or its name in any case, such as "itml"; None is the Euclidean
        distance, and "cosine" that of rows scaled to length 1. With these two, and with a metric
        in scikit-learn's ``FrozenEstimator``, nothing is learned, and all items serve for the
        threshold. The items given must then be others than those that the frozen metric was learned
        from. `fit_pairs` needs a metric with that method.
    target : str
        What the threshold is for: "eer", "accuracy", "fmr<=0.001", "fnmr<=0.05", "recall>=0.95" or
        "precision>=0.99", with a rate of your choice; see `likewise.statistics.choose_threshold`.
        Nothing is promised for the first two.
    prevalence : float, optional
        The share of same pairs where decisions will be made. Needed for a precision; also used for
        the accuracy and for probabilities, where it is one half by default.
    confidence : float
        That the target is kept, over draws of items.
    guarantee : {"approximate", "exact", "bootstrap"}
        How error rates are bounded; see `likewise.statistics.error_rates`.
    validation_fraction : float
        The share of the items (or subjects) that the threshold is learned from.
    refit : bool
        Whether the metric is learned again from all items, after the threshold was found. It then
        is a different metric from that of the promise.
    max_pairs : int
        At most this number of pairs is drawn at random from labelled rows.
    random_state : int, optional
        Decides the split, and all other draws; the metric has its own.

    Attributes
    ----------
    threshold_ : float
        Pairs of at most this distance are *same*.
    threshold_interval_ : tuple of float or None
        Where the threshold is at which the target is met exactly, with `confidence`; None where no
        interval is valid (accuracy and precision).
    promise_ : str
        What holds at the threshold, in a sentence or two.
    metric_ : MetricLearner or None
        The fitted metric; None for Euclidean and cosine distances.
    fmr_, fnmr_ : float
        Error rates of the pairs from which the threshold was learned. The rate of the target is
        underestimated by them: the threshold was chosen for it.
    n_metric_items_, n_threshold_items_ : int
        Items from which metric and threshold were learned.
    n_threshold_pairs_ : int
        Pairs of the latter.
    n_dropped_pairs_ : int
        Pairs given to `fit_pairs` that have an item in either part, and were not used.
    classes_ : array
        False and True: different and same, the columns of `predict_proba_pairs`.

    Raises
    ------
    GuaranteeError
        By fitting, if the target cannot be promised; it says about how many pairs and items would
        do.

    Notes
    -----
    Promises are about new items that are like the given ones. If new items are of new subjects,
    such as photographs of people not seen before, give the subjects as `groups`: they are then
    split as a whole, and the promise is over draws of subjects.

    Examples
    --------
    >>> import likewise as lw
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> judge = lw.PairClassifier(lw.RCA(), target="fmr<=0.01").fit(X[::2], y[::2])
    >>> print(judge.promise_)
    With 95% confidence over draws of items, FMR at this threshold is at most 1% (approximate). This
    is about new items of the 10 classes of y; give groups=y for new classes.
    >>> judge.predict_pairs(X[1:4], X[11:14])
    array([ True, False,  True])
    """

    metric_: Any
    threshold_: float
    threshold_interval_: tuple[float, float] | None
    promise_: str
    fmr_: float
    fnmr_: float
    n_metric_items_: int
    n_threshold_items_: int
    n_threshold_pairs_: int
    n_dropped_pairs_: int
    classes_: Array

    _rules: ClassVar = {
        "metric": either(Rule("'cosine'", _is_cosine), METRIC_RULE),
        "prevalence": either(none(), SHARE),
        "confidence": strictly_between(0.5, 1),
        "guarantee": one_of(*GUARANTEES),
        "validation_fraction": strictly_between(0, 1),
        "refit": boolean(),
        "max_pairs": at_least(2),
        "random_state": either(none(), at_least(0)),
    }

    def __init__(
        self,
        metric: Any = None,
        target: str = "eer",
        *,
        prevalence: float | None = None,
        confidence: float = 0.95,
        guarantee: Guarantee = "approximate",
        validation_fraction: float = 0.5,
        refit: bool = False,
        max_pairs: int = 1_000_000,
        random_state: int | None = 0,
    ) -> None:
        self.metric = metric
        self.target = target
        self.prevalence = prevalence
        self.confidence = confidence
        self.guarantee = guarantee
        self.validation_fraction = validation_fraction
        self.refit = refit
        self.max_pairs = max_pairs
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    @fitting
    def fit(self, X: TableLike, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Learn metric and threshold from labelled rows; rows of one class are *same*.

        Parameters
        ----------
        X : array-like, or Dask array or dataframe, of shape (n_samples, n_features)
            Training rows. Those of a Dask collection stay where they are; the metric must be one
            that learns from them.
        y : array-like of shape (n_samples,)
            Their labels.
        groups : array-like of shape (n_samples,), optional
            The subject of each row. Subjects are split as a whole, and pairs that share a subject
            count as dependent. Give y itself where new rows are of new classes.

        Returns
        -------
        PairClassifier
            The fitted classifier.
        """
        X, codes, classes = check_labelled(self, X, y, blocked=True, tensors=True)
        if isinstance(X, BlockedRows):
            codes = X.group_of_each()
        subjects = None if groups is None else check_groups(groups, len(X))
        seed, learner = self._seed(), self._learner()
        share = 1.0 if learner is None else self.validation_fraction
        parts = split_labelled(codes, subjects, share, self.max_pairs, seed)
        labels, note = classes[codes], ""
        if subjects is None:
            note = f" This is about new items of the {len(classes)} classes of y; {NEW_CLASSES}."

        def learn(rows: IndexArray, pairs: Pairs | None) -> Any:
            return clone(learner).fit(_some_rows(X, rows, learner), labels[rows])

        return self._learn(X, parts, None, subjects, seed, learner and learn, note)

    @fitting
    def fit_pairs(
        self, X: TableLike, pairs: ArrayLike, same: ArrayLike, groups: ArrayLike | None = None
    ) -> Self:
        """Learn metric and threshold from judged pairs.

        Items are split, and pairs that straddle the split are dropped: `n_dropped_pairs_`. None
        are where no connected component of the pairs holds 20 % of them.

        Parameters
        ----------
        X : array-like, or Dask array or dataframe, of shape (n_items, n_features)
            Rows that the pairs refer to. Of a Dask collection only the rows in pairs are used, and
            gathered.
        pairs : array-like of shape (n_pairs, 2)
            Row numbers.
        same : array-like of shape (n_pairs,)
            True for pairs that belong together.
        groups : array-like of shape (n_items,), optional
            The subject of each row, as for `fit`.

        Returns
        -------
        PairClassifier
            The fitted classifier.
        """
        X = check_rows(self, X, reset=True, blocked=True, tensors=True)
        judged = as_pairs(pairs, same, len(X))
        require_both_kinds(judged.same)
        subjects = None if groups is None else check_groups(groups, len(X))
        if isinstance(X, BlockedRows):
            X, judged, subjects = _gather_judged(X, judged, subjects)
        seed, learner = self._seed(), self._learner()
        if learner is not None and not hasattr(learner, "fit_pairs"):
            raise ValueError(
                f"metric={quote(self.metric)} does not learn from pairs, but fit_pairs needs a "
                "metric with fit_pairs, such as ITML(), or a frozen one."
            )
        share = 1.0 if learner is None else self.validation_fraction
        parts = split_pairs(judged, subjects, len(X), share, seed)

        def learn(rows: IndexArray, pairs: Pairs) -> Any:
            part = _some_rows(X, rows, learner)
            return clone(learner).fit_pairs(part, pairs.index, pairs.same)

        return self._learn(X, parts, judged, subjects, seed, learner and learn, "")

    def _learn(
        self,
        X: Array | BlockedRows,
        parts: Parts,
        all_pairs: Pairs | None,
        subjects: IndexArray | None,
        seed: int,
        learn: Callable[[IndexArray, Any], Any] | None,
        note: str,
    ) -> Self:
        """Learn the metric from its part, the threshold from the other, and keep both."""
        held = parts.threshold_pairs
        if learn is not None:
            metric = learn(parts.metric_rows, parts.metric_pairs)
        elif isinstance(self.metric, FrozenEstimator):
            metric = self.metric
        else:
            given = X.as_dask() if isinstance(X, BlockedRows) else X
            metric = fresh_metric(self.metric).fit(given) if self._has_metric() else None
        self._normalized = _is_cosine(self.metric)
        self._centre = robust_centre(X)
        self.metric_ = metric
        distances = self._distances(X, held.index)
        try:
            chosen = choose_threshold(
                distances,
                held.same,
                self.target,
                items=held.index,
                groups=subjects,
                prevalence=self.prevalence,
                confidence=self.confidence,
                guarantee=self.guarantee,
                random_state=seed,
            )
        except GuaranteeError as error:
            raise self._explained(error, learn is not None) from None
        self.threshold_ = chosen.threshold
        self.threshold_interval_ = chosen.interval
        self.promise_ = chosen.promise
        if chosen.promised:
            self.promise_ += note
        if isinstance(self.metric, FrozenEstimator):
            self.promise_ += (
                " The metric is taken as given: it must not have been learned from these items."
            )
        self.fmr_, self.fnmr_ = chosen.fmr, chosen.fnmr
        self.n_metric_items_ = len(parts.metric_rows) if learn is not None else 0
        self.n_threshold_items_ = chosen.n_items
        self.n_threshold_pairs_ = len(held)
        self.n_dropped_pairs_ = parts.n_dropped
        self.classes_ = np.array([False, True])
        self._calibration = calibrate(distances, held.same)
        if self.refit and learn is not None:
            self.metric_ = learn(np.arange(len(X)), all_pairs)
            self.promise_ += (
                f" The threshold was found with the metric of {self.n_metric_items_} of {len(X)} "
                "items; metric_ was then learned from all of them, and has no promise of its own."
            )
        return self

    def _explained(self, error: GuaranteeError, is_split: bool) -> GuaranteeError:
        """Add to an error what it means for all items, of which some are for the metric."""
        if not is_split or error.needed_items is None:
            return error
        message = (
            f"{error} These are the items that the metric is not learned from: "
            f"validation_fraction={self.validation_fraction:g} of all."
        )
        return GuaranteeError(message, error.needed_pairs, error.needed_items)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_prevalence(parse_target(self.target), self.prevalence)
        if isinstance(self.metric, FrozenEstimator):
            check_is_fitted(
                self.metric.estimator,
                msg="metric is a frozen %(name)s that is not fitted, but a fitted one is needed.",
            )

    def _has_metric(self) -> bool:
        return self.metric is not None and not _is_cosine(self.metric)

    def _nested_fits(self, n_pairs: int) -> list[NestedFit]:
        if not self._has_metric():
            return []
        share = 1 - self.validation_fraction
        fits = nested_fits(self.metric, rows=share, pairs=share)
        fits += nested_fits(self.metric) if self.refit else []
        return [fit for fit in fits if not isinstance(fit.learner, Euclidean)]

    def _learner(self) -> Any:
        """Return the metric to learn, unfitted; None if there is nothing to learn."""
        if not self._has_metric() or isinstance(self.metric, FrozenEstimator | Euclidean):
            return None
        learner = fresh_metric(self.metric)
        return None if isinstance(learner, Euclidean) else learner


def _some_rows(X: Any, rows: IndexArray, metric: Any) -> Any:
    """Return the rows that a metric is learned from; those of a cluster as a Dask array.

    A metric that is not of this library gets an array where X is a tensor.
    """
    if not isinstance(X, BlockedRows):
        return X[rows] if isinstance(metric, Learner) else to_numpy(X[rows])
    require_no_gathering(metric)
    return X.as_dask(rows)


def _gather_judged(
    X: BlockedRows, pairs: Pairs, subjects: IndexArray | None
) -> tuple[Array, Pairs, IndexArray | None]:
    """Return the rows in pairs, and pairs and subjects with their numbers."""
    numbers, renumbered = np.unique(pairs.index, return_inverse=True)
    require_memory(
        _COPIES * len(numbers) * X.n_features * np.dtype(X.dtype).itemsize,
        f"PairClassifier, which gathers {len(numbers)} of the {len(X)} rows of a Dask collection,",
        "give fewer pairs",
    )
    if subjects is not None:
        subjects = np.unique(subjects[numbers], return_inverse=True)[1].astype(np.int64)
    index = renumbered.reshape(pairs.index.shape)
    return X.take(numbers), Pairs(index, pairs.same), subjects
