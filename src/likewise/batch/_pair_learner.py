"""What methods that learn M from pairs share: labels are turned into pairs, pairs are checked."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from likewise._runtime.arrays import Array
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
from likewise.batch._pairs import pairs_of_labels, refuse_equal_different
from likewise.constraints import Pairs, as_pairs


class PairLearner(MetricLearner):
    """Learns from pairs of rows, alike and different; from labels by drawing some."""

    _rules: ClassVar = {"n_pairs": either(none(), at_least(2)), "max_iter": at_least(1)}
    n_pairs: int | None
    random_state: int | np.random.RandomState | None

    @fitting
    def fit(self, X: TableLike, y: ArrayLike) -> Self:
        """Learn from labels, by pairs drawn at random.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The data.
        y : array-like of shape (n_rows,)
            Labels of at least two classes.

        Returns
        -------
        MetricLearner
            The fitted metric.
        """
        X, codes, _ = check_labelled(self, X, y)
        random = check_random_state(self.random_state)
        return self._learn_held(X, pairs_of_labels(X, codes, self.n_pairs, random), random)

    @fitting
    def fit_pairs(self, X: TableLike, pairs: ArrayLike, same: ArrayLike) -> Self:
        """Learn from pairs.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The data.
        pairs : int array-like of shape (n_pairs, 2)
            Row numbers.
        same : bool array-like of shape (n_pairs,)
            True where the two rows are alike.

        Returns
        -------
        MetricLearner
            The fitted metric.
        """
        X = check_rows(self, X, reset=True, min_rows=2)
        checked = as_pairs(pairs, same, len(X))
        refuse_equal_different(X, checked)
        return self._learn_held(X, checked, check_random_state(self.random_state))

    def _learn_held(self, X: Array, pairs: Pairs, random: np.random.RandomState) -> Self:
        # Held here once: to limit BLAS anew for every product takes longer than a small product.
        with single_threaded_blas():
            return self._learn(X, pairs, random)

    def _learn(self, X: Array, pairs: Pairs, random: np.random.RandomState) -> Self:
        raise NotImplementedError
