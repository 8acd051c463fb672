"""Maximally collapsing metric learning."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from likewise._runtime.validation import TableLike, at_least, check_labelled, n_jobs_rule, positive
from likewise.base import MetricLearner, fitting
from likewise.batch._initialisation import rms_scale
from likewise.batch.mcml.psd_factor import minimise_on_psd
from likewise.metric import canonical_form
from likewise.objectives import MCMLObjective, SoftmaxNeighbours


class MCML(MetricLearner):
    r"""MCML: minimise the divergence of a soft neighbour rule from one that collapses each class.

    Maximally collapsing metric learning learns from labels. Use it as a convex alternative to NCA:
    every run finds the global optimum.

    Sample i chooses sample j as its neighbour with a probability :math:`p_{ij}` proportional to
    :math:`e^{-(x_i - x_j)^\top M (x_i - x_j)}`. If each class were collapsed to a single point,
    infinitely far from the others, this would be uniform on the rest of i's class: :math:`p^0`.
    M minimises the Kullback–Leibler divergence from that ideal,

    .. math:: \min_{M \succeq 0} \sum_i \mathrm{KL}\big(p^0(\cdot|i) \,\|\, p(\cdot|i)\big),

    a convex problem. Memory is that of a few copies of X: no array has n_samples × n_samples
    entries.

    Parameters
    ----------
    max_iter : int
        Maximum number of solver iterations.
    tol : float
        Tolerance on `optimality_`.
    n_jobs : int, optional
        Threads; None uses all cores.
    verbose : int
        1 shows a progress bar.

    Attributes
    ----------
    components_ : array of shape (n_features, n_features)
        L, eigenvalues of M descending.
    objective_ : float
        The sum of the divergences.
    optimality_ : float
        The residual of the optimality conditions, 0 at the minimum: the larger of minus the least
        eigenvalue of the gradient G in M and of ``‖LG‖ / ‖L‖``, relative to the spectral norm of G
        at the start.
    n_iter_, converged_, history_ : int, bool, dict
        Whether and when the solver converged, and ``history_["objective"]`` per iteration.

    References
    ----------
    A. Globerson, S. Roweis, Metric learning by collapsing classes, NIPS 18, 2006.

    Examples
    --------
    >>> import likewise as lw
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> mcml = lw.MCML().fit(X, y)
    >>> mcml.converged_
    True
    """

    optimality_: float

    _rules: ClassVar = {"max_iter": at_least(1), "tol": positive(), "n_jobs": n_jobs_rule()}

    def __init__(
        self,
        *,
        max_iter: int = 500,
        tol: float = 1e-3,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.verbose = verbose

    @fitting
    def fit(self, X: TableLike, y: ArrayLike) -> Self:
        """Learn from labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Labels of at least two classes, of which one has at least two samples.

        Returns
        -------
        MCML
            The fitted metric.
        """
        X, codes, _ = check_labelled(self, X, y)
        if np.bincount(codes).max() < 2:
            raise ValueError("Every class has one sample, but MCML needs a class with two or more.")
        scale = rms_scale(X)
        neighbours = SoftmaxNeighbours.of(X, codes, self.n_jobs, scale=scale)
        found = self._solve(
            minimise_on_psd,
            MCMLObjective(neighbours),
            np.eye(X.shape[1]),
            fitted=lambda L: {"components_": (canonical_form(L) / scale).astype(X.dtype)},
            tol=self.tol,
        )
        self.optimality_ = float(found.grad_norm or 0.0)
        return self._keep(canonical_form(found.x) / scale, X.dtype)
