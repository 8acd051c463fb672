"""Pairs as the rows of scikit-learn's model selection."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from likewise._runtime.arrays import Array, BoolArray, FloatArray, IndexArray
from likewise._runtime.row_numbers import check_row_numbers, check_same_flags
from likewise._runtime.sklearn_bases import BaseEstimator, ClassifierMixin
from likewise._runtime.tensors import to_numpy
from likewise._runtime.validation import warn_user
from likewise.evaluation._pair_distances import pair_distances
from likewise.statistics import verification_curve
from likewise.statistics._pair_units import check_groups


def _estimator_has(method: str, missing: str) -> Callable[[PairTask], bool]:
    """Return a check for `available_if` that says what the estimator is missing."""

    def check(task: PairTask) -> bool:
        estimator = getattr(task, "estimator_", task.estimator)
        if not hasattr(estimator, method):
            raise AttributeError(
                f"{type(estimator).__name__} has no {missing}: put it into a PairClassifier."
            )
        return True

    return check


class PairTask(ClassifierMixin, BaseEstimator):
    """Lets `cross_validate` and `GridSearchCV` work on pairs: its X is their row numbers.

    scikit-learn splits the rows of X and calls `fit(X, y)`. Here X are pairs of row numbers into a
    table that stays whole, and y says which pairs are *same*. Split by `PairSplit`, so that no item
    is on both sides; `score` warns of splits that share items, as those of ``cv=3`` do.

    Parameters
    ----------
    estimator : estimator
        A metric learner with `fit_pairs`, or a `PairClassifier`; one that needs no supervision,
        such as `Euclidean`, is fitted to the rows of the pairs.
    X : array-like or sparse matrix of shape (n_items, n_features)
        The rows that pairs refer to. It is shared, not copied, by clones.
    groups : array-like of shape (n_items,), optional
        The subject of each row, for a `fit_pairs` that takes them, as that of `PairClassifier`
        does. Split by `GroupPairSplit` with the same groups.

    Attributes
    ----------
    estimator_ : estimator
        The fitted one.
    classes_ : array
        False and True.

    Examples
    --------
    >>> import likewise as lw
    >>> from likewise.datasets import load
    >>> from likewise.constraints import random_pairs
    >>> from likewise.evaluation import PairSplit, PairTask
    >>> from sklearn.model_selection import GridSearchCV
    >>> wine = load("wine")
    >>> pairs, same = random_pairs(wine.y, 2000, distinct=True, random_state=0)
    >>> task = PairTask(lw.RCA(), wine.X)
    >>> grid = {"estimator__shrinkage": [0.0, 0.5]}
    >>> search = GridSearchCV(task, grid, cv=PairSplit(3)).fit(pairs, same)
    >>> search.best_params_, bool(search.best_score_ > 0.9)
    ({'estimator__shrinkage': 0.5}, True)
    """

    estimator_: Any
    classes_: BoolArray
    _fitted_pairs: IndexArray

    def __init__(self, estimator: Any, X: Any, *, groups: ArrayLike | None = None) -> None:
        self.estimator = estimator
        self.X = X
        self.groups = groups

    def __sklearn_clone__(self) -> PairTask:
        return type(self)(clone(self.estimator), self.X, groups=self.groups)

    def fit(self, pairs: ArrayLike, same: ArrayLike) -> Self:
        """Fit the estimator to pairs, and to their rows alone.

        Parameters
        ----------
        pairs : array-like of int of shape (n_pairs, 2)
            Row numbers.
        same : array-like of bool of shape (n_pairs,)
            True for pairs that belong together.

        Returns
        -------
        PairTask
        """
        index = self._index(pairs)
        flags = check_same_flags(same, len(index))
        n_items = np.shape(self.X)[0]
        groups = None if self.groups is None else check_groups(self.groups, n_items)
        rows, numbered = np.unique(index, return_inverse=True)
        estimator = clone(self.estimator)
        if hasattr(estimator, "fit_pairs"):
            subjects = {}
            if groups is not None and "groups" in inspect.signature(estimator.fit_pairs).parameters:
                subjects["groups"] = groups[rows]
            estimator.fit_pairs(self._rows(rows), numbered.reshape(index.shape), flags, **subjects)
        elif not estimator.__sklearn_tags__().target_tags.required:
            estimator.fit(self._rows(rows))
        else:
            raise TypeError(
                f"estimator is a {type(estimator).__name__}, but PairTask needs one with fit_pairs."
            )
        self.estimator_, self._fitted_pairs = estimator, index
        self.classes_ = np.array([False, True])
        return self

    def decision_function(self, pairs: ArrayLike) -> FloatArray:
        """Return minus the distance of each pair, plus the threshold if there is one.

        Parameters
        ----------
        pairs : array-like of int of shape (n_pairs, 2)
            Row numbers.

        Returns
        -------
        array of shape (n_pairs,)
            Large is *same*.
        """
        first, second = self._sides(pairs)
        threshold = float(getattr(self.estimator_, "threshold_", 0.0))
        return threshold - pair_distances(self.estimator_, first, second)

    @available_if(_estimator_has("predict_pairs", "threshold to decide pairs by"))  # type: ignore[untyped-decorator]
    def predict(self, pairs: ArrayLike) -> BoolArray:
        """Return which pairs are *same*, by the threshold of the estimator.

        Parameters
        ----------
        pairs : array-like of int of shape (n_pairs, 2)
            Row numbers.

        Returns
        -------
        array of bool of shape (n_pairs,)
        """
        first, second = self._sides(pairs)
        return np.asarray(to_numpy(self.estimator_.predict_pairs(first, second)), dtype=np.bool_)

    @available_if(_estimator_has("predict_proba_pairs", "probabilities of pairs"))  # type: ignore[untyped-decorator]
    def predict_proba(self, pairs: ArrayLike) -> FloatArray:
        """Return the probabilities that pairs are different and *same*, of a `PairClassifier`.

        Parameters
        ----------
        pairs : array-like of int of shape (n_pairs, 2)
            Row numbers.

        Returns
        -------
        array of shape (n_pairs, 2)
        """
        first, second = self._sides(pairs)
        return np.asarray(to_numpy(self.estimator_.predict_proba_pairs(first, second)))

    def score(self, pairs: ArrayLike, same: ArrayLike) -> float:  # type: ignore[override]
        """Return the area under the ROC curve of the distances.

        Parameters
        ----------
        pairs : array-like of int of shape (n_pairs, 2)
            Row numbers.
        same : array-like of bool of shape (n_pairs,)
            True for pairs that belong together.

        Returns
        -------
        float

        Warns
        -----
        UserWarning
            If pairs, which are not those of `fit`, have items in common with these.
        """
        self._warn_of_leakage(self._index(pairs))
        return verification_curve(-self.decision_function(pairs), same).auc

    def _warn_of_leakage(self, index: IndexArray) -> None:
        check_is_fitted(self)
        if np.array_equal(index, self._fitted_pairs):
            return  # the score of training
        unit, splitter, units = "item", "PairSplit", np.arange(np.shape(self.X)[0])
        if self.groups is not None:
            unit, splitter = "subject", "GroupPairSplit"
            units = np.unique(check_groups(self.groups, len(units)), return_inverse=True)[1]
        affected = np.isin(units[index], units[self._fitted_pairs]).any(axis=1).mean()
        if affected:
            warn_user(
                f"{affected:.0%} of the pairs have {'an' if unit == 'item' else 'a'} {unit} that "
                f"was learned from, so that the score is not one of new {unit}s: split pairs by "
                f"{splitter}."
            )

    def _index(self, pairs: ArrayLike) -> IndexArray:
        return check_row_numbers(pairs, "pairs", 2, np.shape(self.X)[0])

    def _sides(self, pairs: ArrayLike) -> tuple[Any, Any]:
        check_is_fitted(self)
        first, second = self._index(pairs).T
        return self._rows(first), self._rows(second)

    def _rows(self, rows: IndexArray) -> Array:
        is_sparse = bool(sp.issparse(self.X))
        table = self.X.tocsr() if is_sparse else np.asarray(self.X)
        selected: Array = table[rows]
        return selected
