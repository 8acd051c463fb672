"""Classification by the energy rule of LMNN."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.metadata_routing import MetadataRouter
from sklearn.utils.validation import check_is_fitted

from likewise import _loops
from likewise._metric_parameter import (
    METRIC_RULE,
    fit_metric,
    metric_router,
    nested_fits,
    unfitted_metric,
)
from likewise._numerics.centring import robust_centre
from likewise._runtime.arrays import Array, FloatArray, IndexArray
from likewise._runtime.invariants import (
    require,
    require_array,
    require_count,
    require_index,
    require_number,
)
from likewise._runtime.sklearn_bases import ClassifierMixin
from likewise._runtime.threads import run_blocks
from likewise._runtime.validation import (
    TableLike,
    at_least,
    between,
    boolean,
    check_labelled,
    check_rows,
    either,
    n_jobs_rule,
    none,
    one_of,
    positive,
)
from likewise.base import Learner, fitting
from likewise.base.estimate import NestedFit
from likewise.base.metric_learner import transform_centred
from likewise.batch import LMNN
from likewise.constraints._class_sizes import check_class_sizes
from likewise.constraints._from_labels import nearest_of_own_class
from likewise.objectives.label_energies import (
    BLOCK_VALUES,
    SquaredDistances,
    label_energies,
    sort_by_class,
    targets_by_class,
    values_by_row,
)


class EnergyClassifier(ClassifierMixin, Learner):
    r"""LMNN's energy-based classifier: predicts the label that increases the LMNN loss least.

    It learns a metric from labels, or takes a fitted one, and often has fewer errors than a kNN
    vote with the same metric. A test point t with label c, and with k target neighbours j in class
    c, would add to the LMNN objective

    .. math::

        \begin{aligned}
        E_c(t) = {} & (1-\mu) \sum_{j} D(t,j)
        + \mu \sum_{j} \sum_{l:\, y_l \ne c} \big[m + D(t,j) - D(t,l)\big]_+ \\
        & + \mu \sum_{i:\, y_i \ne c} \sum_{j \rightsquigarrow i} \big[m + D(i,j) - D(i,t)\big]_+,
        \end{aligned}

    with squared distances D: the pull of its targets, the hinge losses of its own impostors, and
    those of the training rows whose impostor it would be.

    Parameters
    ----------
    metric : MetricLearner or str, optional
        The metric to learn from the training rows, or its name in any case, such as "nca"; `LMNN`
        by default. A metric that is fitted already is fitted again; wrap it in scikit-learn's
        ``FrozenEstimator`` to use it as it is.
    n_neighbors : int, optional
        Number of target neighbours k; by default that of the metric, or 3 if it has none.
    push : float, optional
        μ; by default that of the metric, or 0.5.
    margin : float, optional
        m; by default that of the metric. A metric without a margin is scaled so that the median
        squared distance to the targets is 1, and m is 1.
    targets : {"euclidean", "learned"}
        Which distances select the targets: the Euclidean distances of the data as given, as in the
        paper, or the learned ones.
    impostors : bool
        Whether the second sum counts: the training rows inside the margin of the point. Under a
        wrong label that margin is wide, and this sum outweighs the others; without it there are
        often fewer errors.
    n_jobs : int, optional
        Threads; None uses all cores. The result does not depend on it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels in sorted order.
    metric_ : MetricLearner
        The fitted metric.

    References
    ----------
    K. Q. Weinberger, L. K. Saul, Distance metric learning for large margin nearest neighbor
    classification, JMLR 10, 2009, section 3.5.

    Examples
    --------
    >>> import likewise as lw
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_wine(return_X_y=True)
    >>> X = scale(X)
    >>> lw.EnergyClassifier().fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.9
    True
    """

    classes_: Array
    metric_: Any

    _rules: ClassVar = {
        "metric": METRIC_RULE,
        "n_neighbors": either(none(), at_least(1)),
        "push": either(none(), between(0, 1)),
        "margin": either(none(), positive()),
        "targets": one_of("euclidean", "learned"),
        "impostors": boolean(),
        "n_jobs": n_jobs_rule(),
    }

    def __init__(
        self,
        metric: Any = None,
        *,
        n_neighbors: int | None = None,
        push: float | None = None,
        margin: float | None = None,
        targets: str = "euclidean",
        impostors: bool = True,
        n_jobs: int | None = None,
    ) -> None:
        self.metric = metric
        self.n_neighbors = n_neighbors
        self.push = push
        self.margin = margin
        self.targets = targets
        self.impostors = impostors
        self.n_jobs = n_jobs

    @fitting
    def fit(self, X: TableLike, y: ArrayLike, **fit_params: Any) -> Self:
        """Learn the metric and find the targets of the training rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Labels of at least two classes, one of which has two rows.
        **fit_params
            Passed on to the `fit` of the metric: `anchor_weight` of `LMNN`, for instance. With
            scikit-learn's metadata routing the metric gets what it requests.

        Returns
        -------
        EnergyClassifier
            The fitted classifier.
        """
        X, codes, classes = check_labelled(self, X, y)
        given = self._metric_to_fit()
        unfitted = unfitted_metric(given)
        n_neighbors = _setting(self.n_neighbors, unfitted, "n_neighbors", 3)
        if not isinstance(unfitted, LMNN) or unfitted.n_neighbors != n_neighbors:
            check_class_sizes(codes, classes, n_neighbors)  # LMNN does the same
        metric = fit_metric(self, given, X, classes[codes], fit_params)
        # Attributes are set only after everything that can fail.
        self.classes_, self.metric_, self._centre = classes, metric, robust_centre(X)
        self._n_neighbors = n_neighbors
        self._push = _setting(self.push, metric, "push", 0.5)
        self._margin = _setting(self.margin, metric, "margin", 1.0)
        rows = self._map(X)
        self._euclidean_targets, self._impostors = self.targets == "euclidean", self.impostors
        candidates = X if self._euclidean_targets else rows
        targets = nearest_of_own_class(candidates, codes, n_neighbors, n_jobs=self.n_jobs)
        to_targets = _loops.pair_sqdist(
            np.ascontiguousarray(rows), *np.ascontiguousarray(targets.T), n_jobs=self.n_jobs
        )
        self._unit = 1.0
        if not hasattr(metric, "margin"):
            self._unit = float(np.median(to_targets)) or 1.0
        order, self._class_start = sort_by_class(codes, len(classes))
        table = values_by_row(targets, to_targets / self._unit, (len(X), n_neighbors))
        self._to_targets, self._rows = table[order], rows[order]
        self._target_candidates = candidates[order]
        return self

    def energies(self, X: TableLike) -> FloatArray:
        """Return the energy of each label for each row; the lowest is predicted.

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
        Z = self._map(X)
        targets = self._targets_of(X if self._euclidean_targets else Z)
        distances = SquaredDistances(self._rows, self._unit)
        energies = np.empty((len(X), len(self.classes_)))

        def block(start: int, stop: int) -> None:
            energies[start:stop] = label_energies(
                distances.to(Z[start:stop]),
                targets[start:stop],
                self._class_start,
                self._to_targets,
                push=self._push,
                margin=self._margin,
                impostors=self._impostors,
            )

        run_blocks(block, len(X), max(1, BLOCK_VALUES // len(self._rows)), self.n_jobs)
        return energies

    def decision_function(self, X: TableLike) -> FloatArray:
        """Return the negative energy of each label.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Rows to classify.

        Returns
        -------
        array of shape (n_queries, n_classes), or (n_queries,) for two classes
            Negative energies; for two classes the energy of the first minus that of the second.
        """
        energies = self.energies(X)
        if energies.shape[1] == 2:
            return np.asarray(energies[:, 0] - energies[:, 1])
        return -energies

    def predict(self, X: TableLike) -> Array:
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

    def _check_state(self) -> None:
        super()._check_state()
        if "_rows" not in vars(self):
            return
        n_rows = len(self._rows)
        require_array(self._rows, n_rows, None)
        require_count(self._n_neighbors, least=1)
        require_array(self._to_targets, n_rows, self._n_neighbors)
        require_array(self._target_candidates, n_rows, None)
        require_index(self._class_start, len(self.classes_) + 1, n_rows + 1)
        require(self._class_start[0] == 0 and self._class_start[-1] == n_rows)
        require(bool((np.diff(self._class_start) > 0).all()))
        for number in (self._push, self._margin, self._unit):
            require_number(number)
        require(self._unit > 0)

    def _targets_of(self, queries: Array) -> IndexArray:
        """Return the targets of each row under each label, shape (n_queries, n_classes, k)."""
        return targets_by_class(
            queries, self._target_candidates, self._class_start, self._n_neighbors, self.n_jobs
        )

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the router that passes on what the metric requests.

        Returns
        -------
        sklearn.utils.metadata_routing.MetadataRouter
            With the requests of `metric`.
        """
        return metric_router(self, self._metric_to_fit())

    def _nested_fits(self, n_pairs: int) -> list[NestedFit]:
        return nested_fits(self._metric_to_fit())

    def _metric_to_fit(self) -> Any:
        return LMNN() if self.metric is None else self.metric

    def _map(self, X: Array) -> Array:
        return transform_centred(self.metric_, X, self._centre)


def _setting(value: Any, metric: Any, name: str, default: Any) -> Any:
    """Return the value of a parameter, or that of the metric if it is None, or the default."""
    return getattr(metric, name, default) if value is None else value
