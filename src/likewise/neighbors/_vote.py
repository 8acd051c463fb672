"""The majority vote of neighbours."""

import numpy as np

from likewise._runtime.arrays import IndexArray


def vote(labels: IndexArray, n_classes: int) -> tuple[IndexArray, IndexArray]:
    """Return the majority vote; ties are broken by dropping the farthest neighbour.

    Parameters
    ----------
    labels : int array of shape (n_queries, k)
        Class codes of the neighbours, nearest first.
    n_classes : int
        Codes run from 0 to ``n_classes - 1``.

    Returns
    -------
    winners : int array of shape (n_queries,)
        The class with most votes.
    counts : int array of shape (n_queries, n_classes)
        The votes that decided.

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
    counts = np.zeros((n_queries, n_classes), dtype=np.int64)
    for place in range(k):
        counts[rows, labels[:, place]] += 1
    undecided = rows
    for place in range(k - 1, 0, -1):
        lead = counts[undecided].max(axis=1, keepdims=True)
        undecided = undecided[(counts[undecided] == lead).sum(axis=1) > 1]
        counts[undecided, labels[undecided, place]] -= 1
    return counts.argmax(axis=1), counts
