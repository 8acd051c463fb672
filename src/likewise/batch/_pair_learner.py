"""The base of methods that learn M from similar and dissimilar pairs: ITML, MMC and DML-eig."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from likewise._runtime.arrays import Array, BoolArray, IndexArray
from likewise._runtime.threads import single_threaded_blas
from likewise._runtime.validation import (
    TableLike,
    at_least,
    check_labelled,
    check_rows,
    either,
    none,
)
from likewise.base import MetricLearner, fitting
from likewise.base.diagnosis import diagnosed
from likewise.constraints import Pairs, as_pairs, random_pairs
from likewise.constraints._random_pairs import MAX_DEFAULT_PAIRS

_PAIRS_PER_SQUARED_CLASS = 20


class PairLearner(MetricLearner):
    """Learns from similar and dissimilar pairs; from labels by sampling such pairs."""

    _rules: ClassVar = {"n_pairs": either(none(), at_least(2)), "max_iter": at_least(1)}
    n_pairs: int | None
    random_state: int | np.random.RandomState | None

    @fitting
    def fit(self, X: TableLike, y: ArrayLike) -> Self:
        """Learn from labels, through randomly sampled pairs.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Labels of at least two classes.

        Returns
        -------
        MetricLearner
            The fitted metric.
        """
        X, codes, _ = check_labelled(self, X, y)
        random = check_random_state(self.random_state)
        return self._learn_single_threaded(X, _sample_pairs(X, codes, self.n_pairs, random), random)

    @fitting
    def fit_pairs(self, X: TableLike, pairs: ArrayLike, same: ArrayLike) -> Self:
        """Learn from pairs.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data.
        pairs : int array-like of shape (n_pairs, 2)
            Row indices into X.
        same : bool array-like of shape (n_pairs,)
            True for similar, False for dissimilar pairs.

        Returns
        -------
        MetricLearner
            The fitted metric.
        """
        X = check_rows(self, X, reset=True, min_rows=2)
        checked = as_pairs(pairs, same, len(X))
        _check_dissimilar_differ(X, checked)
        return self._learn_single_threaded(X, checked, check_random_state(self.random_state))

    def _learn_single_threaded(self, X: Array, pairs: Pairs, random: np.random.RandomState) -> Self:
        # Limit BLAS once: limiting it around every small product takes longer than the product.
        with single_threaded_blas():
            return diagnosed(self._learn(X, pairs, random), X, pairs)

    def _learn(self, X: Array, pairs: Pairs, random: np.random.RandomState) -> Self:
        raise NotImplementedError


def _sample_pairs(
    X: Array, codes: IndexArray, n_pairs: int | None, random: np.random.RandomState
) -> Pairs:
    """Sample pairs, half of them similar; None is 20 c² pairs for c classes, within limits.

    Dissimilar pairs of equal samples are dropped, since no metric can separate them.
    """
    if n_pairs is None:
        n_classes = int(codes.max()) + 1
        n_pairs = min(_PAIRS_PER_SQUARED_CLASS * n_classes**2, MAX_DEFAULT_PAIRS)
    sampled = random_pairs(codes, n_pairs, random_state=random)
    informative = ~_dissimilar_but_equal(X, sampled)
    if sampled.same[informative].all() and not sampled.same.all():
        raise ValueError(
            "The two samples of every pair drawn from different classes are equal, but no metric "
            "can separate equal samples: at least one pair must differ."
        )
    return Pairs(sampled.index[informative], sampled.same[informative])


def _check_dissimilar_differ(X: Array, pairs: Pairs) -> None:
    """Raise a ValueError if the two samples of a dissimilar pair are equal."""
    wrong = np.flatnonzero(_dissimilar_but_equal(X, pairs))
    if len(wrong):
        first, second = pairs.index[wrong[0]]
        raise ValueError(
            f"pairs[{wrong[0]}] is marked different, but its rows {first} and {second} of X are "
            "equal; no metric can separate them."
        )


def _dissimilar_but_equal(X: Array, pairs: Pairs) -> BoolArray:
    wrong = ~pairs.same
    first, second = pairs.index[wrong].T
    wrong[wrong] = (X[first] == X[second]).all(axis=1)
    return wrong
