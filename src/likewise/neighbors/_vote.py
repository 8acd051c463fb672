"""The majority vote of neighbours."""

from typing import Literal, TypeAlias

import numpy as np

from likewise._runtime.arrays import Array, FloatArray, IndexArray

Ties: TypeAlias = Literal["shrink", "first"]
"""How a tied vote is decided: by fewer neighbours, or for the first of the classes."""


def vote(
    labels: IndexArray, n_classes: int, weights: FloatArray | None = None
) -> tuple[IndexArray, Array]:
    """Return the majority vote; ties are broken by dropping the farthest neighbour.

    Parameters
    ----------
    labels : int array of shape (n_queries, k)
        Class codes of the neighbours, nearest first.
    n_classes : int
        Codes run from 0 to ``n_classes - 1``.
    weights : array of shape (n_queries, k), optional
        The weight of each vote; 1 by default.

    Returns
    -------
    winners : int array of shape (n_queries,)
        The class with most votes.
    counts : array of shape (n_queries, n_classes)
        The votes that decided: their number, or the sum of their weights.

    Examples
    --------
    >>> import numpy as np
    >>> winners, counts = vote(np.array([[0, 1, 1, 0], [2, 2, 1, 0]]), 3)
    >>> winners
    array([1, 2])
    >>> counts[0]
    array([1, 2, 0])
    """
    n_queries, k = labels.shape
    rows = np.arange(n_queries)
    votes: Array = np.ones((n_queries, k), dtype=np.int64) if weights is None else weights
    counts = _count_votes(labels, n_classes, votes)
    undecided = rows
    for place in range(k - 1, 0, -1):
        lead = counts[undecided].max(axis=1, keepdims=True)
        undecided = undecided[(counts[undecided] == lead).sum(axis=1) > 1]
        counts[undecided, labels[undecided, place]] -= votes[undecided, place]
    return counts.argmax(axis=1), counts


def vote_errors(
    labels: IndexArray,
    truth: IndexArray,
    n_classes: int,
    ks: IndexArray,
    *,
    balanced: bool = False,
    ties: Ties = "shrink",
) -> FloatArray:
    """Return the error of the vote of each number of neighbours in `ks`.

    Parameters
    ----------
    labels : int array of shape (n_queries, k)
        Class codes of the neighbours, nearest first.
    truth : int array of shape (n_queries,)
        Classes of the queries. Those that no neighbour can have may have any other numbers.
    n_classes : int
        Codes of neighbours run from 0 to ``n_classes - 1``.
    ks : int array
        Numbers of neighbours.
    balanced : bool, default=False
        Return the mean over the classes of `truth` of their errors.
    ties : {"shrink", "first"}, default="shrink"
        Which of several classes with most votes wins: as in `vote`, or the first of them.

    Returns
    -------
    float array, as `ks`
    """
    wrong = [_winners(labels[:, :k], n_classes, ties) != truth for k in ks.tolist()]
    if not balanced:
        return np.array([np.mean(row) for row in wrong])
    _, classes, counts = np.unique(truth, return_inverse=True, return_counts=True)
    return np.array([np.mean(np.bincount(classes, row) / counts) for row in wrong])


def _winners(labels: IndexArray, n_classes: int, ties: Ties) -> IndexArray:
    if ties == "shrink":
        return vote(labels, n_classes)[0]
    return np.asarray(_count_votes(labels, n_classes, np.ones_like(labels)).argmax(axis=1))


def _count_votes(labels: IndexArray, n_classes: int, votes: Array) -> Array:
    """Return the sum of the votes for each class."""
    rows = np.arange(len(labels))
    counts: Array = np.zeros((len(labels), n_classes), dtype=votes.dtype)
    for place in range(labels.shape[1]):
        counts[rows, labels[:, place]] += votes[:, place]
    return counts
