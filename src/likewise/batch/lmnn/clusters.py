"""The cluster of each training row, each of which has a metric of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from likewise._runtime.arrays import Array, IndexArray
from likewise._runtime.tensors import to_numpy
from likewise._runtime.threads import openmp_threads
from likewise._runtime.validation import encode_labels


def assign_clusters(
    clusters: str | int | ArrayLike, X: Array, codes: IndexArray, random_state: Any
) -> IndexArray:
    """Return the number of the cluster of each row.

    `clusters` is "class", for the class `codes` themselves, the number of clusters of k-means, or
    an array with a value per row.
    """
    if isinstance(clusters, str):
        return codes
    clusters = to_numpy(clusters)
    if np.ndim(clusters):
        given = np.asarray(clusters)
        if given.shape != (len(X),):
            raise ValueError(
                f"clusters has shape {given.shape}, but X has {len(X)} rows: one value per row "
                "is needed."
            )
        return encode_labels(given)[1]
    n_clusters = int(clusters)  # type: ignore[arg-type]
    if n_clusters > len(X):
        raise ValueError(
            f"clusters={n_clusters} is not allowed: X has {len(X)} rows, and there cannot be "
            "more clusters."
        )
    from sklearn.cluster import KMeans

    with openmp_threads(1):  # the same bits everywhere
        found = KMeans(n_clusters, n_init=10, random_state=random_state).fit_predict(X)
    return encode_labels(found)[1]
