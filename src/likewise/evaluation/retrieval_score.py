"""A retrieval measure over many queries, with an interval for draws of items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.special
from numpy.typing import ArrayLike

from likewise._runtime.arrays import FloatArray
from likewise.statistics.dyadic import degrees_of_freedom


@dataclass(frozen=True, eq=False)
class RetrievalScore:
    """A retrieval measure: its mean over queries, with an interval for draws of items.

    Attributes
    ----------
    value : float
        Mean over the queries that have relevant items.
    interval : tuple of float
        Two-sided interval of `confidence`, by the jackknife over items: an item is left out as a
        query and as a row of the corpus alike.
    standard_error : float
        Root of the jackknife variance, which is too large on average rather than too small.
    per_query : ndarray of shape (n_queries,)
        The value of each query; NaN if nothing is relevant to it.
    n_queries : int
        Queries that have relevant items.
    confidence : float
        Of the interval.
    influence : ndarray of shape (n_items,)
        What each item contributes to the error; the sum of squares is the variance. The items are
        the rows of X and, if it was given, those of the corpus after them.
    """

    value: float
    interval: tuple[float, float]
    standard_error: float
    per_query: FloatArray
    n_queries: int
    confidence: float
    influence: FloatArray

    def difference(self, other: RetrievalScore) -> tuple[float, tuple[float, float]]:
        """Return this value less that of `other`, with an interval, for the same items.

        Both scores must be of the same measure, queries and corpus, in two spaces. The interval is
        paired: items that are difficult in both spaces do not widen it.

        Parameters
        ----------
        other : RetrievalScore

        Returns
        -------
        difference : float
        interval : tuple of float
            Of the `confidence` of this score.

        Examples
        --------
        >>> import likewise as lw
        >>> from likewise.evaluation import precision_at_k
        >>> from sklearn.datasets import load_wine
        >>> X, y = load_wine(return_X_y=True)
        >>> learned = lw.RCA().fit(X[::2], y[::2])
        >>> after = precision_at_k(X[1::2], y[1::2], k=5, metric=learned)
        >>> gain, (low, high) = after.difference(precision_at_k(X[1::2], y[1::2], k=5))
        >>> print(f"{gain:.2f}, from {low:.2f} to {high:.2f}")
        0.26, from 0.16 to 0.35
        """
        if self.influence.shape != other.influence.shape:
            raise ValueError(
                f"other is a score of {len(other.influence)} items, but this one is of "
                f"{len(self.influence)}: a difference needs the same items."
            )
        gain = self.value - other.value
        margin = _margin(self.influence - other.influence, self.confidence)
        return gain, (max(-1.0, gain - margin), min(1.0, gain + margin))


def summarize(
    per_query: FloatArray, leave_outs: Sequence[ArrayLike], confidence: float
) -> RetrievalScore:
    """Return the score of values of queries, all between 0 and 1.

    Parameters
    ----------
    per_query : array of shape (n_queries,)
        NaN if nothing is relevant to the query.
    leave_outs : list of arrays
        For each sample of items, the mean without each of them.
    confidence : float
    """
    counted = per_query[~np.isnan(per_query)]
    value = float(counted.mean())
    influence = np.concatenate([_influence(np.asarray(means)) for means in leave_outs])
    margin = _margin(influence, confidence)
    low, high = max(0.0, value - margin), min(1.0, value + margin)
    if (counted == counted[0]).all():
        # No spread was seen: other values, anywhere from 0 to 1, may have at most this share.
        unseen = 1 - ((1 - confidence) / 2) ** (1 / len(counted))
        low, high = min(low, value * (1 - unseen)), max(high, value + (1 - value) * unseen)
    return RetrievalScore(
        value=value,
        interval=(low, high),
        standard_error=float(np.sqrt(influence @ influence)),
        per_query=per_query,
        n_queries=len(counted),
        confidence=confidence,
        influence=influence,
    )


def _influence(means: FloatArray) -> FloatArray:
    """Return deviations whose sum of squares is the jackknife variance of Tukey."""
    defined = np.isfinite(means)
    n_defined = int(defined.sum())
    if n_defined < 2:  # one item says nothing about the spread
        return np.full(len(means), np.inf)
    deviations = np.where(defined, means - means[defined].mean(), 0.0)
    return np.asarray(np.sqrt((n_defined - 1) / n_defined) * deviations)


def _margin(influence: FloatArray, confidence: float) -> float:
    """Return half the width of the interval, by Student's t."""
    squares = influence**2
    total = float(squares.sum())
    if not np.isfinite(total):
        return np.inf
    freedom = degrees_of_freedom(total, float((squares**2).sum()))
    return float(scipy.special.stdtrit(freedom, (1 + confidence) / 2) * np.sqrt(total))
