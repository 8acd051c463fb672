"""Decisions, probabilities and scores of pairs, by a metric and a threshold."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from likewise._numerics.centring import centred
from likewise._runtime.arrays import Array, FloatArray, IndexArray
from likewise._runtime.blocks import is_dask
from likewise._runtime.blocks.lazy_rows import compare_lazily
from likewise._runtime.blocks.rows import BlockedRows
from likewise._runtime.blocks.validation import check_blocked_labels
from likewise._runtime.invariants import require, require_array, require_count, require_number
from likewise._runtime.tensors import (
    as_given,
    device_memory_errors,
    is_tensor,
    require_same_device,
    to_numpy,
)
from likewise._runtime.text import quote
from likewise._runtime.validation import (
    TableLike,
    check_parameters,
    check_rows,
    encode_labels,
    strictly_between,
)
from likewise.base import AffineMap, Learner, PairExplanation
from likewise.base.metric_learner import transform_centred
from likewise.base.pair_explanation import check_row, explain_difference, explained_names
from likewise.constraints import Pairs, as_pairs
from likewise.metric import or_one, row_norms
from likewise.pair_classifier._blocked_distances import distances_in_blocks
from likewise.pair_classifier._calibration import Calibration
from likewise.pair_classifier._parts import pairs_of_rows
from likewise.statistics._pair_units import require_both_kinds

_BLOCK_VALUES = 2**22  # of differences at a time
_WORDS = np.array(["different", "same", "unsure"])
SHARE = strictly_between(0, 1)


class PairDecisions(Learner):
    """Base of an estimator with a metric, a threshold on its distance, and probabilities."""

    metric: Any
    target: str
    prevalence: float | None
    max_pairs: int
    random_state: int | None
    metric_: Any
    threshold_: float
    threshold_interval_: tuple[float, float] | None
    n_threshold_items_: int
    n_threshold_pairs_: int
    _calibration: Calibration
    _centre: Array
    _normalized: bool

    def pair_distance(self, A: TableLike, B: TableLike) -> Any:
        """Return the distance of each row of `A` to the same row of `B`, as it is decided by.

        Parameters
        ----------
        A, B : array-like of shape (n_pairs, n_features)
            The two sides of the pairs; Dask arrays or dataframes are compared when the result is
            computed.

        Returns
        -------
        array of shape (n_pairs,)
            Large is different. A Dask array if A or B is a Dask collection, and a tensor if both
            are tensors on one device.
        """
        check_is_fitted(self)
        return compare_lazily(self, self._pair_distance_block, A, B, np.dtype(np.float64))

    def _pair_distance_block(self, A: TableLike, B: TableLike) -> Any:
        return as_given(self._pair_distances(A, B), A)

    def _pair_distances(self, A: TableLike, B: TableLike) -> Any:
        """Return distances where they were computed: an array, or a tensor on a device."""
        check_is_fitted(self)
        if is_tensor(A) or is_tensor(B):
            require_same_device(A, B, ("A", "B"))
        first, second = self._check_new(A, "A"), self._check_new(B, "B")
        if len(first) != len(second):
            raise ValueError(
                f"A has {len(first)} rows and B has {len(second)}, but both sides of the pairs "
                "must have the same number of rows."
            )
        with device_memory_errors(type(self).__name__):
            return _norms(self._map(first) - self._map(second))

    def predict_pairs(
        self, A: TableLike, B: TableLike, *, unsure: bool | tuple[float, float] = False
    ) -> Array:
        """Return whether each row of `A` and the same row of `B` are *same*.

        Parameters
        ----------
        A, B : array-like of shape (n_pairs, n_features)
            The two sides of the pairs; Dask arrays or dataframes are compared when the result is
            computed.
        unsure : bool or tuple of float, default=False
            Whether pairs whose distance is within `threshold_interval_`, or within two distances
            that are given, are left undecided.

        Returns
        -------
        array of shape (n_pairs,)
            True for *same*. With `unsure`, the words "same", "different" and "unsure". A Dask array
            if A or B is a Dask collection, and a tensor, but of words an array, if both are tensors
            on one device.
        """
        check_is_fitted(self)
        band = None if unsure is False else self._band(unsure)
        decide = functools.partial(self._decide, band)
        dtype = np.dtype(np.bool_) if band is None else _WORDS.dtype
        decisions: Array = compare_lazily(self, decide, A, B, dtype)
        return decisions

    def _decide(self, band: tuple[float, float] | None, A: TableLike, B: TableLike) -> Any:
        distances = self._pair_distances(A, B)
        same = distances <= self.threshold_
        if band is None:
            return as_given(same, A)
        distances, same = to_numpy(distances), to_numpy(same)
        words = _WORDS[same.astype(np.int64)]
        words[(distances > band[0]) & (distances < band[1])] = "unsure"
        return words

    def predict_proba_pairs(
        self, A: TableLike, B: TableLike, *, prevalence: float | None = None
    ) -> FloatArray:
        """Return the probabilities that pairs are different and *same*.

        They were calibrated on the pairs of the threshold: by isotonic regression if there are at
        least 500 of each kind, else by a logistic function of the distance.

        Parameters
        ----------
        A, B : array-like of shape (n_pairs, n_features)
            The two sides of the pairs; Dask arrays or dataframes are compared when the result is
            computed.
        prevalence : float, optional
            The share of same pairs among those asked about; by default the parameter, or one half.

        Returns
        -------
        array of shape (n_pairs, 2)
            In the order of `classes_`. A Dask array if A or B is a Dask collection, and a tensor if
            both are tensors on one device.
        """
        check_is_fitted(self)
        share = next(v for v in (prevalence, self.prevalence, 0.5) if v is not None)
        check_parameters("predict_proba_pairs", {"prevalence": share}, {"prevalence": SHARE})
        shares = functools.partial(self._probabilities, share)
        found: FloatArray = compare_lazily(self, shares, A, B, np.dtype(np.float64), width=2)
        return found

    def _probabilities(self, prevalence: float, A: TableLike, B: TableLike) -> Any:
        distances = to_numpy(self._pair_distances(A, B))  # one number per pair
        probability = self._calibration.probability(distances, prevalence)
        return as_given(np.column_stack([1 - probability, probability]), A)

    def explain_pair(self, a: TableLike, b: TableLike) -> PairExplanation:
        """Split the squared distance of two rows over directions and features.

        Only the Euclidean distance and linear metrics of this library, alone or after affine steps
        of a pipeline, can be explained; others raise an error.

        Parameters
        ----------
        a, b : array-like of shape (n_features,), or a table of one row
            The two rows.

        Returns
        -------
        PairExplanation
            Its threshold is `threshold_`.
        """
        check_is_fitted(self)
        components = self._components()
        first, second = check_row(a, "a", self._check_new), check_row(b, "b", self._check_new)
        return explain_difference(
            components, first - second, explained_names(self), float(self.threshold_)
        )

    def score(self, X: TableLike, y: ArrayLike) -> float:
        """Return the balanced accuracy on pairs of labelled rows.

        Parameters
        ----------
        X : array-like, or Dask array or dataframe, of shape (n_samples, n_features)
            Rows. Those of a Dask collection stay where they are.
        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        float
            1 - (FMR + FNMR) / 2, over all pairs of rows, or `max_pairs` of them.
        """
        check_is_fitted(self)
        if is_dask(X):
            blocked, _ = check_blocked_labels(self, X, y, min_classes=1, reset=False)
            labels = blocked.group_of_each()
            return self._score(blocked, pairs_of_rows(labels, self.max_pairs, self._seed()))
        codes = encode_labels(to_numpy(y))[1]
        rows = check_rows(self, X, reset=False, tensors=True)
        if len(codes) != len(rows):
            raise ValueError(f"X has {len(rows)} rows but y has {len(codes)} labels.")
        return self._score(rows, pairs_of_rows(codes, self.max_pairs, self._seed()))

    def score_pairs(self, X: TableLike, pairs: ArrayLike, same: ArrayLike) -> float:
        """Return the balanced accuracy on judged pairs.

        Parameters
        ----------
        X : array-like, or Dask array or dataframe, of shape (n_items, n_features)
            Rows that the pairs refer to. Those of a Dask collection stay where they are.
        pairs : array-like of shape (n_pairs, 2)
            Row numbers.
        same : array-like of shape (n_pairs,)
            True for pairs that belong together.

        Returns
        -------
        float
            1 - (FMR + FNMR) / 2.
        """
        check_is_fitted(self)
        rows = check_rows(self, X, reset=False, blocked=True, tensors=True)
        return self._score(rows, as_pairs(pairs, same, len(rows)))

    def _band(self, unsure: Any) -> tuple[float, float]:
        band = self.threshold_interval_ if unsure is True else unsure
        if band is None:
            raise ValueError(
                f"unsure=True needs threshold_interval_, which target={quote(self.target)} does "
                "not have: give two distances."
            )
        try:
            low, high = map(float, band)
        except (TypeError, ValueError):
            low, high = np.nan, np.nan
        if not low <= high:
            raise ValueError(
                f"unsure={quote(unsure)} is not allowed: True, False or two distances, the smaller "
                "first, are needed."
            )
        return low, high

    def _check_new(self, X: TableLike, name: str) -> Any:
        return check_rows(self, X, reset=False, name=name, tensors=True)

    def _components(self) -> Array:
        """Return the matrix of an affine metric, or raise an AttributeError."""
        if self.metric_ is None and not self._normalized:
            return np.eye(self.n_features_in_)
        frozen = isinstance(self.metric_, FrozenEstimator)
        try:
            found = AffineMap.from_model(self.metric_.estimator if frozen else self.metric_)
        except ValueError:
            found = None
        if found is None or found.normalize:
            raise AttributeError(
                f"metric={quote(self.metric)} is not a linear metric of likewise, but explain_pair "
                "needs one, a pipeline of affine steps that ends in one, or the Euclidean distance."
            )
        return found.W

    def _map(self, X: Any) -> Any:
        """Map rows to where the Euclidean distance is that of the metric."""
        if self._normalized:
            return X / or_one(row_norms(X))[:, None]
        if self.metric_ is None:
            return centred(X, self._centre)
        return transform_centred(self.metric_, X, self._centre)

    def _distances(self, X: Any, pairs: IndexArray) -> FloatArray:
        """Return the distances of pairs of rows, block by block, as an array."""
        if isinstance(X, BlockedRows):
            return distances_in_blocks(X, self._map, pairs)
        rows, numbered = np.unique(pairs, return_inverse=True)
        mapped = self._map(X[rows])
        numbered = numbered.reshape(pairs.shape)
        distances = np.empty(len(pairs))
        size = max(1, _BLOCK_VALUES // max(1, mapped.shape[1]))
        for start in range(0, len(pairs), size):
            first, second = numbered[start : start + size].T
            found = _norms(mapped[first] - mapped[second])
            distances[start : start + size] = to_numpy(found)
        return distances

    def _score(self, X: Any, pairs: Pairs) -> float:
        require_both_kinds(pairs.same)
        predicted = self._distances(X, pairs.index) <= self.threshold_
        fmr, fnmr = predicted[~pairs.same].mean(), 1 - predicted[pairs.same].mean()
        return float(1 - (fmr + fnmr) / 2)

    def _check_state(self) -> None:
        super()._check_state()
        if "threshold_" in vars(self):
            require_number(self.threshold_)
            require_array(self._centre, self.n_features_in_)
            require(isinstance(self._normalized, bool))
            require(isinstance(self._calibration, Calibration))
            require(self.metric_ is None or hasattr(self.metric_, "transform"))
            band = self.threshold_interval_
            require(band is None or (isinstance(band, tuple) and len(band) == 2))
            require(band is None or bool(float(band[0]) <= float(band[1])))
            for count in (self.n_threshold_items_, self.n_threshold_pairs_):
                require_count(count, least=1)

    def _seed(self) -> int:
        if self.random_state is None:
            return int(np.random.default_rng().integers(2**31))
        return int(self.random_state)


def _norms(differences: Any) -> Any:
    """Return the lengths of rows, in float64: an array, or a tensor on their device."""
    lengths: Any = row_norms(differences)
    return lengths.double() if is_tensor(lengths) else lengths.astype(np.float64)
