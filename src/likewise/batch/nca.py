"""Neighbourhood components analysis."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from likewise._runtime.validation import (
    TableLike,
    at_least,
    check_labelled,
    either,
    job_count,
    non_negative,
    none,
    one_of,
)
from likewise.base import MetricLearner, fitting
from likewise.batch._initialisation import checked_init, init_rule, initial_components, rms_scale
from likewise.objectives import NCAObjective, SoftmaxNeighbours
from likewise.solvers import adam, lbfgs

_MANY_ROWS = 50_000  # from here on mini-batches get farther in the same time
_STEPS, _PASSES = 100, 5  # a pass over many rows takes as long as a few steps on all of them
_LEARNING_RATE = 0.03


class NCA(MetricLearner):
    r"""Neighbourhood components analysis: random neighbours, and as many right as can be.

    Under L, row i picks row j as its neighbour with probability

    .. math:: p_{ij} = \frac{e^{-\|L(x_i - x_j)\|^2}}{\sum_{k \neq i} e^{-\|L(x_i - x_k)\|^2}},

    and L is learned so that the expected number of rows that pick one of their own class is large:

    .. math:: \max_L \sum_i \sum_{j : y_j = y_i} p_{ij} - s \sum_i \|L(x_i - \bar x)\|^2 .

    Memory is that of a few copies of X: there is never an array of all rows by all rows.

    Parameters
    ----------
    n_components : int, optional
        Rows of L; None is one a feature. 2 makes a picture.
    init : "auto", "identity", "pca", "fda" or array of shape (n_components, n_features)
        The L to begin with. ``"auto"`` is the identity, or the principal axes if there are fewer
        components than features, in units in which features have mean square 1.
    regularization : float
        s: what large distances cost, which keeps L from fitting every single row. 0 is the paper's.
    solver : "lbfgs", "adam" or "auto"
        All rows at every step, or steps on mini-batches of rows, each compared with all rows.
        ``"auto"`` takes mini-batches from 50 000 rows on.
    batch_size : int
        Rows of a mini-batch.
    max_iter : int, optional
        Steps of L-BFGS, or passes over the rows; None is 100 steps, or 5 passes.
    tol : float
        Stop when a step improves the objective by less than this share of it, or a pass changes it
        by less.
    random_state : int, RandomState or None
        Draws the mini-batches.
    n_jobs : int, optional
        Threads; None uses all cores.
    verbose : int
        1 shows progress.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        L.
    objective_ : float
        The value that was reached, of what is maximised. With mini-batches, its mean over the last
        pass.
    n_iter_, converged_, history_ : int, bool, dict
        How the solver ended, and ``history_["objective"]`` step by step.

    References
    ----------
    J. Goldberger, S. Roweis, G. Hinton, R. Salakhutdinov, Neighbourhood components analysis, NIPS
    17, 2005.

    Examples
    --------
    >>> import likewise as lw
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> X = (X - X.mean(axis=0)) / X.std(axis=0)
    >>> nca = lw.NCA(n_components=2, regularization=1e-3).fit(X, y)
    >>> nca.transform(X).shape
    (178, 2)
    """

    _rules: ClassVar = {
        "n_components": either(none(), at_least(1)),
        "init": init_rule("auto", "identity", "pca", "fda"),
        "regularization": non_negative(),
        "solver": one_of("auto", "lbfgs", "adam"),
        "batch_size": at_least(1),
        "max_iter": either(none(), at_least(1)),
        "tol": non_negative(),
        "n_jobs": job_count(),
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        init: Literal["auto", "identity", "pca", "fda"] | ArrayLike = "auto",
        regularization: float = 0.0,
        solver: Literal["auto", "lbfgs", "adam"] = "auto",
        batch_size: int = 1024,
        max_iter: int | None = None,
        tol: float = 1e-6,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.init = init
        self.regularization = regularization
        self.solver = solver
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
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
            Labels of at least two classes.

        Returns
        -------
        NCA
            The fitted metric.
        """
        X, codes, _ = check_labelled(self, X, y)
        init = checked_init(self.init, labelled=True)
        start = initial_components("NCA", init, self.n_components, X, codes, n_jobs=self.n_jobs)
        # Solved in units in which the features are about 1, as entries of L then are, too.
        size = rms_scale(X)
        rows = SoftmaxNeighbours.of(X, codes, self.n_jobs, size=size)
        solver, options = self._solver(len(X))
        found = self._solve(
            solver,
            NCAObjective(rows, self.regularization),
            start * size,
            fitted=lambda L: {"components_": (L / size).astype(X.dtype)},
            **options,
        )
        self.objective_ = -self.objective_  # it was minimised with the other sign
        self.history_ = {"objective": -self.history_["objective"]}
        return self._keep(found.x / size, X.dtype)

    def _solver(self, n_rows: int) -> tuple[Any, dict[str, Any]]:
        if self.solver == "lbfgs" or (self.solver == "auto" and n_rows < _MANY_ROWS):
            return lbfgs, {"max_iter": self.max_iter or _STEPS, "tol": self.tol}
        return adam, {
            "max_iter": self.max_iter or _PASSES,
            "tol": self.tol,
            "batch_size": min(self.batch_size, n_rows),
            "learning_rate": _LEARNING_RATE,
            "random": check_random_state(self.random_state),
        }
