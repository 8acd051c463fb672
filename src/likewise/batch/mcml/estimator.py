"""Maximally collapsing metric learning."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from likewise._runtime.validation import TableLike, at_least, check_labelled, job_count, positive
from likewise.base import MetricLearner, fitting
from likewise.batch._initialisation import rms_scale
from likewise.batch.mcml.psd_factor import minimise_on_psd
from likewise.metric import canonical_form
from likewise.objectives import MCMLObjective, SoftmaxNeighbours


class MCML(MetricLearner):
    r"""Maximally collapsing metric learning: each class in one place, the others far away.

    Row i picks row j with a probability :math:`p_{ij}` in proportion to
    :math:`e^{-(x_i - x_j)^\top M (x_i - x_j)}`. If all rows of a class were in one place and all
    others infinitely far, that would be uniform on the own class, :math:`p^0`. M comes as near as
    it can:

    .. math:: \min_{M \succeq 0} \sum_i \mathrm{KL}\big(p^0(\cdot|i) \,\|\, p(\cdot|i)\big),

    a convex problem. Memory is that of a few copies of X: there is never an array of all rows by
    all rows.

    Parameters
    ----------
    max_iter : int
        Steps of the solver.
    tol : float
        Stop when `optimality_` is at most this.
    n_jobs : int, optional
        Threads; None uses all cores.
    verbose : int
        1 shows progress.

    Attributes
    ----------
    components_ : array of shape (n_features, n_features)
        L, eigenvalues of M descending.
    objective_ : float
        The sum of divergences.
    optimality_ : float
        0 at the minimum: the largest of minus the least eigenvalue of the slope G in M and of
        ``‖LG‖ / ‖L‖``, in units of the largest eigenvalue of G at the start.
    n_iter_, converged_, history_ : int, bool, dict
        How the solver ended, and ``history_["objective"]`` step by step.

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

    _rules: ClassVar = {"max_iter": at_least(1), "tol": positive(), "n_jobs": job_count()}

    def __init__(
        self,
        *,
        max_iter: int = 500,
        tol: float = 1e-4,
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
        X : array-like of shape (n_rows, n_features)
            The data.
        y : array-like of shape (n_rows,)
            Labels of at least two classes, of which one has two rows.

        Returns
        -------
        MCML
            The fitted metric.
        """
        X, codes, _ = check_labelled(self, X, y)
        if np.bincount(codes).max() < 2:
            raise ValueError("Every class has one row, but MCML needs a class with two or more.")
        size = rms_scale(X)
        rows = SoftmaxNeighbours.of(X, codes, self.n_jobs, size=size)
        found = self._solve(
            minimise_on_psd,
            MCMLObjective(rows),
            np.eye(X.shape[1]),
            fitted=lambda L: {"components_": (canonical_form(L) / size).astype(X.dtype)},
            tol=self.tol,
        )
        self.optimality_ = float(found.grad_norm or 0.0)
        return self._keep(canonical_form(found.x) / size, X.dtype)
