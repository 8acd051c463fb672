"""Neighbourhood components analysis."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from likewise._runtime.arrays import Array, IndexArray
from likewise._runtime.blocks.rows import BlockedRows
from likewise._runtime.tensors import is_tensor, numpy_dtype
from likewise._runtime.validation import (
    TableLike,
    at_least,
    check_labelled,
    either,
    n_jobs_rule,
    non_negative,
    none,
    one_of,
)
from likewise.base import MetricLearner, fitting
from likewise.batch._initialisation import checked_init, init_rule, initial_components, rms_scale
from likewise.objectives import NCAObjective, SoftmaxNeighbours
from likewise.objectives.blocked import BlockedSoftmaxNeighbours
from likewise.objectives.nca import Neighbours
from likewise.solvers import adam, lbfgs

_MINI_BATCH_SAMPLES = 50_000  # from here on, mini-batches reach a better value in the same time
_MAX_STEPS, _MAX_EPOCHS = 100, 5
_LEARNING_RATE = 0.03


class NCA(MetricLearner):
    r"""NCA: maximise the expected leave-one-out accuracy of a soft nearest-neighbour rule.

    Neighbourhood components analysis learns from labels. Use it for a linear map, also to two or
    three dimensions, before nearest-neighbour classification. The problem is not convex, so the
    result depends on `init`.

    Under L, sample i chooses sample j as its neighbour with probability

    .. math:: p_{ij} = \frac{e^{-\|L(x_i - x_j)\|^2}}{\sum_{k \neq i} e^{-\|L(x_i - x_k)\|^2}},

    and L maximises the expected number of samples that choose a neighbour of their own class:

    .. math:: \max_L \sum_i \sum_{j : y_j = y_i} p_{ij} - s \sum_i \|L(x_i - \bar x)\|^2 .

    Memory is that of a few copies of X: no array has n_samples × n_samples entries.

    Parameters
    ----------
    n_components : int, optional
        Number of rows of L; None is n_features.
    init : "auto", "identity", "pca", "fda" or array of shape (n_components, n_features)
        The initial L. ``"auto"`` is the identity, or the leading principal axes if there are fewer
        components than features, divided by the root mean square of the centred features.
    regularization : float
        s: penalty on the squared norms of the mapped samples, against overfitting. The paper has 0.
    solver : "lbfgs", "adam" or "auto"
        ``"lbfgs"`` uses all samples in every step; ``"adam"`` uses mini-batches, whose samples are
        compared with all samples. ``"auto"`` is ``"adam"`` from 50 000 samples on.
    batch_size : int
        Samples per mini-batch.
    max_iter : int, optional
        Maximum number of L-BFGS iterations, or of epochs; None is 100 iterations, or 5 epochs.
    tol : float
        Stop when an iteration improves the objective, or an epoch changes it, by at most this
        relative to its value.
    random_state : int, RandomState or None
        Seeds the sampling of mini-batches.
    n_jobs : int, optional
        Threads; None uses all cores.
    verbose : int
        1 shows a progress bar.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        L.
    objective_ : float
        The maximised value. With mini-batches, its mean over the last epoch.
    n_iter_, converged_, history_ : int, bool, dict
        Whether and when the solver converged, and ``history_["objective"]`` per iteration.

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

    objective_: float
    history_: dict[str, Array]

    _rules: ClassVar = {
        "n_components": either(none(), at_least(1)),
        "init": init_rule("auto", "identity", "pca", "fda"),
        "regularization": non_negative(),
        "solver": one_of("auto", "lbfgs", "adam"),
        "batch_size": at_least(1),
        "max_iter": either(none(), at_least(1)),
        "tol": non_negative(),
        "n_jobs": n_jobs_rule(),
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
        X : array-like of shape (n_samples, n_features), or Dask array or dataframe
            Training data; those of a Dask collection stay on their workers.
        y : array-like of shape (n_samples,), or Dask array or series
            Labels of at least two classes.

        Returns
        -------
        NCA
            The fitted metric.
        """
        X, codes, _ = check_labelled(self, X, y, blocked=True, tensors=True)
        init = checked_init(self.init, labelled=True)
        start = initial_components("NCA", init, self.n_components, X, codes, n_jobs=self.n_jobs)
        dtype = numpy_dtype(X)
        # In these units the features, and so the entries of L, are about 1.
        scale = rms_scale(X)
        neighbours = self._neighbours(X, codes, scale)
        solver, options = self._solver(len(X))
        found = self._solve(
            solver,
            NCAObjective(neighbours, self.regularization),
            start * scale,
            fitted=lambda L: {"components_": (L / scale).astype(dtype)},
            **options,
        )
        self.objective_ = -self.objective_  # the solver minimised its negative
        self.history_ = {"objective": -self.history_["objective"]}
        return self._keep(found.x / scale, dtype)

    def _neighbours(self, X: Any, codes: IndexArray, scale: float) -> Neighbours:
        if is_tensor(X):
            from likewise.objectives.torch_softmax_neighbours import TorchSoftmaxNeighbours

            return TorchSoftmaxNeighbours.of(X, codes, scale=scale)
        if isinstance(X, BlockedRows):
            return BlockedSoftmaxNeighbours.of(X, scale=scale)
        return SoftmaxNeighbours.of(X, codes, self.n_jobs, scale=scale)

    def _solver(self, n_samples: int) -> tuple[Any, dict[str, Any]]:
        if self.solver == "lbfgs" or (self.solver == "auto" and n_samples < _MINI_BATCH_SAMPLES):
            return lbfgs, {"max_iter": self.max_iter or _MAX_STEPS, "tol": self.tol}
        return adam, {
            "max_iter": self.max_iter or _MAX_EPOCHS,
            "tol": self.tol,
            "batch_size": min(self.batch_size, n_samples),
            "learning_rate": _LEARNING_RATE,
            "random": check_random_state(self.random_state),
        }
