"""The multi-metric LMNN estimator: one metric per class or cluster."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from likewise._runtime.arrays import Array, FloatArray, IndexArray
from likewise._runtime.row_numbers import check_weights
from likewise._runtime.tensors import as_given, device_memory_errors, numpy_dtype, to_numpy
from likewise._runtime.threads import single_threaded_blas
from likewise._runtime.validation import (
    Rule,
    TableLike,
    at_least,
    check_labelled,
    check_rows,
    either,
    n_jobs_rule,
    non_negative,
    none,
    one_of,
    positive,
    strictly_between,
)
from likewise.base import NeighborVoter, fitting
from likewise.batch._initialisation import initial_components
from likewise.batch.lmnn.clusters import assign_clusters
from likewise.batch.lmnn.early_stopping import ValidationSet, split_validation
from likewise.batch.lmnn.estimator import LMNN
from likewise.batch.lmnn.few_rows import warn_of_few_rows
from likewise.batch.lmnn.local_metrics import LocalMetrics
from likewise.batch.lmnn.memory import require_memory_for_lmnn
from likewise.batch.lmnn.multi_metric_problem import objective_and_search
from likewise.batch.lmnn.preconditioning import Preconditioner, centred_data
from likewise.batch.lmnn.problem import LMNNProblem, penalty_towards
from likewise.batch.lmnn.targets import LabelSupervision
from likewise.batch.lmnn.working_set import working_set_lbfgs
from likewise.metric import canonical_form


class MultiMetricLMNN(NeighborVoter):
    r"""kNN classifier with one LMNN metric per class or cluster, learned jointly from labels.

    The squared distance to a training row is that of the metric of the row's cluster c,
    :math:`\hat D(x, x_j) = (x - x_j)^\top M_{c(j)} (x - x_j)`. All metrics minimise the LMNN
    objective jointly, which makes their distances comparable; they start at the single metric of
    `LMNN`. The problem is convex, and `duality_gap_` bounds the relative distance to the optimum.
    Use it where the metric should vary over the data and there are many rows per cluster. It has
    no single map and no symmetric distance.

    Parameters
    ----------
    n_neighbors : int
        Number of target neighbours of each row, and of neighbours that vote. Rows of smaller
        classes have fewer targets, a single row none.
    clusters : "class", int or array of shape (n_samples,)
        One metric per class, as in most of the paper's experiments; per cluster of k-means with
        this number of clusters; or per distinct value of an array.
    push, margin, scale
        As in `LMNN`.
    regularization : float
        Strength ρ of a penalty that keeps all metrics near the single one, whose M₀ is learned with
        the same `regularization`: ``ρ Σ n_c ‖M_c - M₀‖² / ‖M₀‖²`` over clusters of n_c rows. Useful
        for small samples, since there are as many matrices as clusters.
    max_iter : int
        Maximum number of iterations for the single metric, and again for the joint fit.
    tol : float
        Converged when `duality_gap_` is at most `tol`.
    validation_fraction : float, optional
        Fraction of each class to hold out. Learning stops when the error rate on the held-out rows
        no longer decreases, and the metrics with the lowest one are kept. Several metrics overfit
        sooner than one.
    random_state : int, RandomState or None
        Determines which rows are held out, and the initialisation of k-means.
    n_jobs : int, optional
        Threads; None uses all cores. The result does not depend on it.
    verbose : int
        1 shows progress.

    Attributes
    ----------
    components_ : array of shape (n_clusters, n_features, n_features)
        L of each cluster, for X as it was given.
    clusters_ : int array of shape (n_samples,)
        The cluster of each training row.
    classes_ : array of shape (n_classes,)
        The labels in sorted order.
    objective_, duality_gap_, converged_, n_iter_, history_, scale_
        As in `LMNN`, for the joint objective.

    References
    ----------
    K. Q. Weinberger, L. K. Saul, Distance metric learning for large margin nearest neighbor
    classification, JMLR 10, 2009, section 5.2.

    Examples
    --------
    >>> import likewise as lw
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> local = lw.MultiMetricLMNN().fit(X[::2], y[::2])
    >>> local.components_.shape
    (3, 4, 4)
    >>> local.score(X[1::2], y[1::2]) > 0.9
    True
    """

    components_: Array
    clusters_: IndexArray
    scale_: float
    duality_gap_: float
    _rows: Array
    _n_targets: int
    _push: float
    _margin: float
    _rules: ClassVar = {
        "n_neighbors": at_least(1),
        "clusters": either(
            one_of("class"),
            at_least(1),
            Rule("an array", lambda v: hasattr(v, "__len__") and not isinstance(v, str)),
        ),
        "push": strictly_between(0, 1),
        "margin": positive(),
        "scale": either(one_of("auto"), positive()),
        "regularization": non_negative(),
        "max_iter": at_least(1),
        "tol": positive(),
        "validation_fraction": either(none(), strictly_between(0, 1)),
        "n_jobs": n_jobs_rule(),
    }

    def __init__(
        self,
        n_neighbors: int = 3,
        *,
        clusters: str | int | ArrayLike = "class",
        push: float = 0.5,
        margin: float = 1.0,
        scale: str | float = "auto",
        regularization: float = 0.0,
        max_iter: int = 500,
        tol: float = 0.01,
        validation_fraction: float | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.clusters = clusters
        self.push = push
        self.margin = margin
        self.scale = scale
        self.regularization = regularization
        self.max_iter = max_iter
        self.tol = tol
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @fitting
    @single_threaded_blas()
    def fit(self, X: TableLike, y: ArrayLike, *, anchor_weight: ArrayLike | None = None) -> Self:
        """Learn the metrics from labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Labels of at least two classes, one of which has two rows.
        anchor_weight : array-like of shape (n_samples,), optional
            Weights of the rows as anchors, as in `LMNN.fit`.

        Returns
        -------
        MultiMetricLMNN
            The fitted classifier.
        """
        X, codes, classes = check_labelled(self, X, y, tensors=True)
        self._wanted(self.n_neighbors, len(X))
        weights = check_weights(anchor_weight, "anchor_weight", len(X))
        train, held_out = split_validation(
            codes, weights, self.validation_fraction, self.random_state
        )
        rows = to_numpy(X)  # of the fitted model
        clusters = assign_clusters(self.clusters, rows, codes, self.random_state)
        n_clusters = int(clusters.max()) + 1
        require_memory_for_lmnn("MultiMetricLMNN", X, X.shape[1], n_metrics=n_clusters)
        single = LMNN(
            self.n_neighbors,
            push=self.push,
            margin=self.margin,
            scale=self.scale,
            regularization=self.regularization,
            max_iter=self.max_iter,
            tol=self.tol,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )
        single._warns_of_few_rows = False  # that is done once, for all metrics
        rows_of_single = X[train] if len(held_out) else X
        single.fit(rows_of_single, classes[codes[train]], anchor_weight=weights[train])
        attributes = {
            "classes_": classes,
            "clusters_": clusters,
            "scale_": single.scale_,
            "_rows": rows,
            "_codes": codes,
            # Parameters may be set between fitting and predicting.
            "_n_targets": self.n_neighbors,
            "_push": self.push,
            "_margin": self.margin,
        }
        if single._interrupted:
            L = self._keep_single(single, n_clusters)
        else:
            L = self._learn_jointly(X, attributes, weights, train, held_out, single)
        # A cluster whose rows are all held out keeps the single metric.
        self.components_ = np.stack([canonical_form(one) for one in L]).astype(rows.dtype)
        self.__dict__.update(attributes)
        return self

    def _keep_single(self, single: LMNN, n_clusters: int) -> Array:
        """Return the interrupted single metric as the L of every cluster."""
        self.objective_, self.n_iter_, self.converged_ = single.objective_, single.n_iter_, False
        # The lower bound of a single metric is none for several metrics.
        self.duality_gap_ = 1.0
        no_bound = np.zeros_like(single.history_["lower_bound"])
        self.history_ = {**single.history_, "lower_bound": no_bound}
        return np.stack([single.components_] * n_clusters)

    def _learn_jointly(
        self,
        X: Array,
        attributes: dict[str, Any],
        weights: FloatArray,
        train: IndexArray,
        held_out: IndexArray,
        single: LMNN,
    ) -> Array:
        """Minimise over all metrics, starting at the single one, and return the L of each.

        X is a tensor where the fit runs on a device. `attributes` are those of the fitted model,
        without its `components_`.
        """
        codes, clusters, dtype = attributes["_codes"], attributes["clusters_"], numpy_dtype(X)
        train_codes, train_clusters = codes[train], clusters[train]
        train_rows = X[train] if len(held_out) else X
        data = centred_data(train_rows).with_scale(single.scale_)
        options = (self.n_neighbors, self.margin, self.n_jobs)
        supervision = LabelSupervision(train_codes, weights[train], None, *options)
        initial = initial_components(
            "MultiMetricLMNN", "pca", None, data.X, None, n_jobs=self.n_jobs
        )
        selection = supervision.select_targets(data.transform(initial, self.n_jobs))
        n_clusters = int(clusters.max()) + 1
        objective, search = objective_and_search(
            data.X, supervision, selection, train_clusters, n_clusters, self.push
        )
        single_L = single.components_.astype(np.float64) / single.scale_
        sizes = np.maximum(np.bincount(train_clusters, minlength=n_clusters), 1)
        total_weight = float(weights[train].sum())
        strengths = self.regularization * total_weight * sizes / len(train)
        penalty = penalty_towards(single_L, strengths)
        precondition = Preconditioner.identity if penalty else Preconditioner.from_pull
        preconditioner = precondition(objective)
        start = single_L @ preconditioner.from_original

        def components(x: Array) -> Array:
            return np.asarray(x @ preconditioner.to_original * single.scale_)

        validation = ValidationSet(X[held_out], codes[held_out], train_codes)

        def validation_error(x: Array) -> float:
            metrics = LocalMetrics(
                train_rows, train_codes, train_clusters, components(x), self.n_jobs
            )
            _, index = metrics.nearest(validation.X, self.n_neighbors)
            return validation.error_rate(to_numpy(index))

        found = self._solve(
            working_set_lbfgs,
            LMNNProblem(replace(objective, X=preconditioner.X), search, penalty, total_weight),
            np.stack([start] * n_clusters),
            fitted=lambda x: {**attributes, "components_": components(x).astype(dtype)},
            tol=self.tol,
            margin=self.margin,
            validation_error=validation_error if len(held_out) else None,
        )
        self.duality_gap_ = 1.0 if found.gap is None else found.gap
        if not len(held_out):
            warn_of_few_rows(self, supervision.n_free, objective)
        return components(found.x)

    def kneighbors(self, X: TableLike, n_neighbors: int | None = None) -> tuple[Array, IndexArray]:
        """Return the distances and row numbers of the nearest training rows, nearest first.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Query rows.
        n_neighbors : int, optional
            Number of neighbours; by default `n_neighbors` of the estimator.

        Returns
        -------
        distances, index : arrays of shape (n_queries, n_neighbors)
            Each distance is that of the metric of the training row's cluster; not squared. Tensors
            on the same device if X is a tensor.
        """
        check_is_fitted(self)
        given, X = X, check_rows(self, X, reset=False, tensors=True)
        n_neighbors = self._wanted(n_neighbors, len(self._rows))
        with device_memory_errors(type(self).__name__):
            squares, index = self._metrics().nearest(X, n_neighbors)
        distances = np.sqrt(to_numpy(squares)).astype(numpy_dtype(X))
        return as_given(distances, given), as_given(index, given)

    def distances_to(self, X: TableLike, index: ArrayLike) -> Array:
        """Return the distances to chosen training rows, such as what another search has found.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Query rows.
        index : array-like of int of shape (n_queries, n_chosen)
            Numbers of training rows, for each query.

        Returns
        -------
        array of shape (n_queries, n_chosen)
            Distances as in `kneighbors`, not squared.
        """
        check_is_fitted(self)
        X = check_rows(self, X, reset=False)
        chosen = self._chosen(index, len(X))
        return np.sqrt(self._metrics().sqdist(X, chosen)).astype(X.dtype)

    def energies(self, X: TableLike) -> FloatArray:
        """Return the energy of each label for each row; see `EnergyClassifier`.

        Distances from training rows to a row x are those of the metric that x would have under the
        label: the metric of its nearest target in that class.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Rows to classify.

        Returns
        -------
        array of shape (n_queries, n_classes)
            Energies in the order of `classes_`.
        """
        check_is_fitted(self)
        X = check_rows(self, X, reset=False)
        return self._metrics().energies(
            X, len(self.classes_), self._n_targets, push=self._push, margin=self._margin
        )

    def predict_by_energy(self, X: TableLike) -> Array:
        """Predict the label of lowest energy for each row.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Rows to classify.

        Returns
        -------
        array of shape (n_queries,)
            Labels, as in `classes_`.
        """
        lowest = self.energies(X).argmin(axis=1)
        return np.asarray(self.classes_[lowest])

    def _metrics(self) -> LocalMetrics:
        return LocalMetrics(self._rows, self._codes, self.clusters_, self.components_, self.n_jobs)
