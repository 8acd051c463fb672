"""How well clusters agree with the true entities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from likewise._runtime.arrays import FloatArray, IndexArray
from likewise._runtime.validation import encode_labels


@dataclass(frozen=True)
class ClusterScores:
    """Precision and recall of clusters.

    Attributes
    ----------
    precision : float
        How much of what was put together belongs together.
    recall : float
        How much of what belongs together was put together.
    """

    precision: float
    recall: float

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall; 0 if one of them is."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


def pairwise_scores(labels_true: ArrayLike, labels_pred: ArrayLike) -> ClusterScores:
    """Compare clusters with the true ones by all pairs of items.

    Precision is the share of the pairs within clusters that belong together, and recall the share
    of the pairs that belong together that are within clusters. Where there is no such pair, as if
    every item is a cluster of its own, the score is 1: none of them is wrong. A large entity has
    many pairs: to count items instead, use `b_cubed_scores`.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_items,)
        The true entity and the cluster of each item; only equality matters.

    Returns
    -------
    ClusterScores

    Examples
    --------
    >>> from likewise.evaluation import pairwise_scores
    >>> pairwise_scores(["a", "a", "a", "b"], [0, 0, 1, 1])
    ClusterScores(precision=0.5, recall=0.3333333333333333)
    """
    both, true, predicted = _overlaps(labels_true, labels_pred)
    right = _n_pairs(both)
    return ClusterScores(
        precision=_share(right, _n_pairs(_sizes(predicted, both))),
        recall=_share(right, _n_pairs(_sizes(true, both))),
    )


def b_cubed_scores(labels_true: ArrayLike, labels_pred: ArrayLike) -> ClusterScores:
    """Compare clusters with the true ones item by item (B-cubed).

    The precision of an item is the share of its cluster, itself included, that belongs to its
    entity, and its recall the share of its entity that is in its cluster. Both are averaged over
    the items, so that a large entity counts in proportion to its items, not to its pairs.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_items,)
        The true entity and the cluster of each item; only equality matters.

    Returns
    -------
    ClusterScores

    References
    ----------
    A. Bagga and B. Baldwin, *Entity-based cross-document coreferencing using the vector space
    model*, ACL 1998.

    Examples
    --------
    >>> from likewise.evaluation import b_cubed_scores
    >>> scores = b_cubed_scores(["a", "a", "a", "b"], [0, 0, 1, 1])
    >>> scores.precision, round(scores.recall, 4), round(scores.f1, 4)
    (0.75, 0.6667, 0.7059)
    """
    both, true, predicted = _overlaps(labels_true, labels_pred)
    n_items = both.sum()
    of_clusters, of_entities = _sizes(predicted, both)[predicted], _sizes(true, both)[true]
    return ClusterScores(
        precision=float((both**2 / of_clusters).sum() / n_items),
        recall=float((both**2 / of_entities).sum() / n_items),
    )


def _overlaps(
    labels_true: ArrayLike, labels_pred: ArrayLike
) -> tuple[FloatArray, IndexArray, IndexArray]:
    """Return how many items each entity has in each cluster, where there are any; and which."""
    true, predicted = np.asarray(labels_true), np.asarray(labels_pred)
    for name, labels in (("labels_true", true), ("labels_pred", predicted)):
        if labels.ndim != 1 or not labels.size:
            raise ValueError(
                f"{name} has shape {labels.shape}, but one label for each item is needed."
            )
        if labels.dtype.kind == "f" and np.isnan(labels).any():
            raise ValueError(f"{name} contains NaN, but a label for each item is needed.")
    if len(true) != len(predicted):
        raise ValueError(
            f"labels_true has {len(true)} labels and labels_pred has {len(predicted)}, but they "
            "must be about the same items."
        )
    entities, clusters = encode_labels(true)[1], encode_labels(predicted)[1]
    n_clusters = int(clusters.max()) + 1
    keys, counts = np.unique(entities * n_clusters + clusters, return_counts=True)
    return counts.astype(np.float64), keys // n_clusters, keys % n_clusters


def _sizes(groups: IndexArray, counts: FloatArray) -> FloatArray:
    return np.bincount(groups, counts).astype(np.float64, copy=False)


def _n_pairs(sizes: FloatArray) -> float:
    return float((sizes * (sizes - 1)).sum() / 2)


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 1.0
