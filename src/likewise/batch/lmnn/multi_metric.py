"""Large margin nearest neighbours with a metric for each class or cluster."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from likewise._runtime.arrays import Array, FloatArray, IndexArray
from likewise._runtime.threads import single_threaded_blas
from likewise._runtime.validation import (
    Rule,
    TableLike,
    at_least,
    check_class_sizes,
    check_labelled,
    check_rows,
    check_weights,
    codes_of,
    either,
    job_count,
    none,
    one_of,
    positive,
    strictly_between,
)
from likewise.base import NeighborVoter, fitting
from likewise.batch._initialisation import initial_components
from likewise.batch.lmnn.early_stopping import HeldOut, split_off
from likewise.batch.lmnn.estimator import LMNN
from likewise.batch.lmnn.impostors import ImpostorsByCluster
from likewise.batch.lmnn.local_metrics import LocalMetrics
from likewise.batch.lmnn.memory import require_memory_for_lmnn
from likewise.batch.lmnn.multi_metric_objective import MultiMetricLargeMargin
from likewise.batch.lmnn.preconditioning import CentredRows, Coordinates
from likewise.batch.lmnn.problem import LMNNProblem
from likewise.batch.lmnn.targets import LabelTeacher
from likewise.batch.lmnn.working_set import working_set_lbfgs
from likewise.metric import canonical_form
from likewise.objectives import GroupedPairs


class MultiMetricLMNN(NeighborVoter):
    r"""LMNN with a metric of its own for every class, or for every cluster of rows.

    The squared distance to a row is measured by the metric of that row's cluster c,
    :math:`\hat D(x, x_j) = (x - x_j)^\top M_{c(j)} (x - x_j)`. All metrics minimise LMNN's
    objective together, which makes their distances comparable; they begin with the single metric
    of `LMNN`. The problem is convex, and `duality_gap_` bounds the distance to the optimum.
    There is no single map and no symmetric distance: it is a classifier.

    Parameters
    ----------
    n_neighbors : int
        Target neighbours of each row, and neighbours that vote.
    clusters : "class", int or array of shape (n_rows,)
        A metric for each class, as in most of the paper's experiments; for each of so many
        clusters found by k-means; or for each value of a given array.
    push, margin, scale
        As in `LMNN`.
    max_iter : int
        Iterations allowed, for the single metric and again for all together.
    tol : float
        Converged when the objective is proved to be within this share of the optimum.
    validation_fraction : float, optional
        Share of each class held out; learning stops when their error rate no longer falls, and
        the metrics with the lowest are kept. Many metrics overfit sooner than one.
    random_state : int, RandomState or None
        Decides which rows are held out, and where k-means begins.
    n_jobs : int, optional
        Threads; None uses all cores. The result does not depend on it.
    verbose : int
        1 shows progress.

    Attributes
    ----------
    components_ : array of shape (n_clusters, n_features, n_features)
        L of each cluster, for X as it was given.
    clusters_ : int array of shape (n_rows,)
        The cluster of each training row.
    classes_ : array of shape (n_classes,)
        The labels in sorted order.
    objective_, duality_gap_, converged_, n_iter_, history_, scale_
        As in `LMNN`, for all metrics together.

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
        "max_iter": at_least(1),
        "tol": positive(),
        "validation_fraction": either(none(), strictly_between(0, 1)),
        "n_jobs": job_count(),
    }

    def __init__(
        self,
        n_neighbors: int = 3,
        *,
        clusters: str | int | ArrayLike = "class",
        push: float = 0.5,
        margin: float = 1.0,
        scale: str | float = "auto",
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
        self.max_iter = max_iter
        self.tol = tol
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # -- learning --------------------------------------------------------------------------------

    @fitting
    def fit(self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from labels.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The data.
        y : array-like of shape (n_rows,)
            Labels of at least two classes, each with more than `n_neighbors` rows.
        sample_weight : array-like of shape (n_rows,), optional
            How much each row counts as an anchor.

        Returns
        -------
        MultiMetricLMNN
            The fitted classifier.
        """
        X, codes, classes = check_labelled(self, X, y)
        check_class_sizes(codes, classes, self.n_neighbors)
        weights = check_weights(sample_weight, len(X))
        kept, held = split_off(
            codes, classes, weights, self.validation_fraction, self.n_neighbors, self.random_state
        )
        clusters = self._clusters_of(X, codes)
        require_memory_for_lmnn("MultiMetricLMNN", X, X.shape[1], n_metrics=int(clusters.max()) + 1)
        single = LMNN(
            self.n_neighbors,
            push=self.push,
            margin=self.margin,
            scale=self.scale,
            max_iter=self.max_iter,
            tol=self.tol,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        ).fit(X[kept], classes[codes[kept]], weights[kept])
        known = {
            "classes_": classes,
            "clusters_": clusters,
            "scale_": single.scale_,
            "_rows": X,
            "_codes": codes,
            # Parameters set later are for the next fit.
            "_n_targets": self.n_neighbors,
            "_push": self.push,
            "_margin": self.margin,
        }
        if single._interrupted:
            L = self._keep_single(single, int(clusters.max()) + 1)
        else:
            with single_threaded_blas():
                L = self._learn_together(known, weights, kept, held, single)
        # A cluster whose rows are all held out, or pull nothing, keeps the single metric.
        self.components_ = np.stack([canonical_form(one) for one in L]).astype(X.dtype)
        self.__dict__.update(known)
        return self

    def _keep_single(self, single: LMNN, n_clusters: int) -> Array:
        """Take the single metric for all clusters, as far as it came; return the L of each."""
        self.objective_, self.n_iter_, self.converged_ = single.objective_, single.n_iter_, False
        # What was proved is true of single metrics only.
        self.duality_gap_ = 1.0
        nothing = np.zeros_like(single.history_["lower_bound"])
        self.history_ = {**single.history_, "lower_bound": nothing}
        return np.stack([single.components_] * n_clusters)

    def _learn_together(
        self,
        known: dict[str, Any],
        weights: FloatArray,
        kept: IndexArray,
        held: IndexArray,
        single: LMNN,
    ) -> Array:
        """Minimise over all metrics at once, from the single one, and return the L of each.

        `known` is what a fitted model holds besides.
        """
        X, codes, clusters = known["_rows"], known["_codes"], known["clusters_"]
        classes = known["classes_"]
        data = CentredRows.of(X[kept]).scaled(single.scale_)
        teacher = LabelTeacher(
            codes[kept], classes, weights[kept], self.n_neighbors, self.margin, self.n_jobs
        )
        first = initial_components(
            "MultiMetricLMNN", "pca", None, data.rows, None, n_jobs=self.n_jobs
        )
        told = teacher.tell(data.mapped(first, self.n_jobs))
        objective = MultiMetricLargeMargin(
            data.rows,
            told.near,
            GroupedPairs.none(len(kept)),
            told.weights,
            self.push,
            self.margin,
            n_jobs=self.n_jobs,
            clusters=clusters[kept],
            n_clusters=int(clusters.max()) + 1,
        )
        coordinates = Coordinates.pulled_alike(objective)
        find = ImpostorsByCluster(
            clusters[kept], codes[kept], told.near, told.weights > 0, self.margin, self.n_jobs
        )

        def components(x: Array) -> Array:
            return np.asarray(x @ coordinates.forth * single.scale_)

        held_out = HeldOut(X[held], codes[held], codes[kept])

        def error(x: Array) -> float:
            """Judge by the rows held out."""
            metrics = LocalMetrics(X[kept], codes[kept], clusters[kept], components(x), self.n_jobs)
            return held_out.error(metrics.nearest(held_out.X, self.n_neighbors)[1])

        found = self._solve(
            working_set_lbfgs,
            LMNNProblem(replace(objective, X=coordinates.X), find),
            np.stack(
                [single.components_ / single.scale_ @ coordinates.back] * objective.n_clusters
            ),
            fitted=lambda x: {**known, "components_": components(x).astype(X.dtype)},
            tol=self.tol,
            margin=self.margin,
            judge=error if len(held) else None,
        )
        self.duality_gap_ = 1.0 if found.gap is None else found.gap
        return components(found.x)

    def _clusters_of(self, X: Array, codes: IndexArray) -> IndexArray:
        """Return the cluster of each row."""
        if isinstance(self.clusters, str):
            return codes
        if np.ndim(self.clusters):
            given = np.asarray(self.clusters)
            if given.shape != (len(X),):
                raise ValueError(
                    f"clusters has shape {given.shape}, but X has {len(X)} rows: one value a row "
                    "is needed."
                )
            return codes_of(given)[1]
        wanted = int(self.clusters)  # type: ignore[arg-type]
        if wanted > len(X):
            raise ValueError(
                f"clusters={wanted} is not allowed: X has {len(X)} rows, and there cannot be more "
                "clusters."
            )
        from sklearn.cluster import KMeans

        found = KMeans(wanted, n_init=10, random_state=self.random_state).fit_predict(X)
        return codes_of(found)[1]

    # -- deciding --------------------------------------------------------------------------------

    def kneighbors(self, X: TableLike, n_neighbors: int | None = None) -> tuple[Array, IndexArray]:
        """Return distances to, and row numbers of, the nearest training rows, nearest first.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Rows to look up.
        n_neighbors : int, optional
            How many; by default as many as vote.

        Returns
        -------
        distances, index : arrays of shape (n_queries, n_neighbors)
            Each distance by the metric of the training row's cluster; not squared.
        """
        check_is_fitted(self)
        X = check_rows(self, X, reset=False)
        wanted = self._wanted(n_neighbors, len(self._rows))
        squares, index = self._metrics().nearest(X, wanted)
        return np.sqrt(squares).astype(X.dtype), index

    def energies(self, X: TableLike) -> FloatArray:
        """Return what each label would cost each row; see `EnergyClassifier`.

        Distances from training rows to a row x are by the metric that x would have: that of its
        nearest target in the class that is tried.

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
        """Return the label of least energy for each row.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Rows to classify.

        Returns
        -------
        array of shape (n_queries,)
            Labels, as in `classes_`.
        """
        least = self.energies(X).argmin(axis=1)
        return np.asarray(self.classes_[least])

    def _metrics(self) -> LocalMetrics:
        return LocalMetrics(self._rows, self._codes, self.clusters_, self.components_, self.n_jobs)
