"""The joint objective of several metrics and its search for impostors, on arrays or tensors."""

from __future__ import annotations

from typing import Any, cast

from likewise._runtime.arrays import Array, IndexArray
from likewise._runtime.tensors import is_tensor, tensor_like
from likewise.batch.lmnn.impostors import ClusteredImpostorSearch, ImpostorSearch
from likewise.batch.lmnn.multi_metric_objective import MultiMetricLargeMargin
from likewise.batch.lmnn.targets import LabelSupervision, Selection


def objective_and_search(
    X: Array,
    supervision: LabelSupervision,
    selection: Selection,
    clusters: IndexArray,
    n_clusters: int,
    push: float,
) -> tuple[MultiMetricLargeMargin, ImpostorSearch]:
    """Return the joint objective, with no impostors found yet, and the search for them.

    Parameters
    ----------
    X : array or tensor of shape (n_samples, n_features)
        The training rows; all work on them is done where they are.
    supervision : LabelSupervision
        Classes, margin and n_jobs.
    selection : Selection
        The targets and weights, on the device of X.
    clusters : int array of shape (n_samples,)
        The cluster of each row.
    n_clusters : int
        Number of clusters, some of which may have no row.
    push : float
        The weight of the push.
    """
    codes, margin, n_jobs = supervision.codes, supervision.margin, supervision.n_jobs
    targets: Any = selection.targets
    active = supervision.weights > 0
    common = (X, targets, targets.without_pairs(), selection.weights, push, margin)
    if not is_tensor(X):
        objective = MultiMetricLargeMargin(
            *common, n_jobs=n_jobs, clusters=clusters, n_clusters=n_clusters
        )
        search = ClusteredImpostorSearch(clusters, codes, targets, active, margin, n_jobs)
        return objective, search
    from likewise.batch.lmnn import torch_clustered_search, torch_multi_metric

    there = torch_multi_metric.TorchMultiMetricLargeMargin(
        *common, clusters=tensor_like(clusters, targets.rows), n_clusters=n_clusters
    )
    search_there = torch_clustered_search.TensorClusteredImpostorSearch(
        clusters, codes, targets, active, margin
    )
    # They have the same interfaces.
    return cast("MultiMetricLargeMargin", there), cast("ImpostorSearch", search_there)
