"""The majority vote of neighbours."""

import numpy as np

from likewise._runtime.arrays import Array, FloatArray, IndexArray


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
    counts: Array = np.zeros((n_queries, n_classes), dtype=votes.dtype)
    for place in range(k):
        counts[rows, labels[:, place]] += votes[:, place]
    undecided = rows
    for place in range(k - 1, 0, -1):
        lead = counts[undecided].max(axis=1, keepdims=True)
        undecided = undecided[(counts[undecided] == lead).sum(axis=1) > 1]
        counts[undecided, labels[undecided, place]] -= votes[undecided, place]
    return counts.argmax(axis=1), counts
