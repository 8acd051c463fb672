"""The LMNN estimator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from likewise._runtime.arrays import Array
from likewise._runtime.blocks.rows import BlockedRows
from likewise._runtime.progress import progress
from likewise._runtime.row_numbers import check_weights
from likewise._runtime.tensors import numpy_dtype
from likewise._runtime.threads import single_threaded_blas
from likewise._runtime.validation import (
    Rule,
    TableLike,
    at_least,
    check_labelled,
    check_n_components,
    check_rows,
    either,
    n_jobs_rule,
    non_negative,
    none,
    one_of,
    positive,
    strictly_between,
)
from likewise.base import fitting
from likewise.base.diagnosis import diagnosed
from likewise.batch._initialisation import checked_init, init_rule, initial_components
from likewise.batch._kernel_metric import KernelMetric
from likewise.batch._kernel_space import KernelSpace
from likewise.batch.lmnn.blocked import learns_from_blocks, supervise_blocks
from likewise.batch.lmnn.early_stopping import ErrorRate, ValidationSet, split_validation
from likewise.batch.lmnn.few_rows import warn_of_few_rows
from likewise.batch.lmnn.growing_rank import leading_rows
from likewise.batch.lmnn.matrix_problem import LMNNMatrixProblem, require_all_components
from likewise.batch.lmnn.memory import require_memory_for_lmnn
from likewise.batch.lmnn.preconditioning import CentredData, Preconditioner, centred_data
from likewise.batch.lmnn.problem import LMNNProblem, best_multiple, penalty_towards
from likewise.batch.lmnn.projected_subgradient import projected_subgradient
from likewise.batch.lmnn.targets import LabelSupervision, Supervision, TripletSupervision
from likewise.batch.lmnn.working_set import working_set_lbfgs
from likewise.constraints import as_triplets
from likewise.kernels import KERNEL_RULES
from likewise.metric import canonical_components, canonical_form
from likewise.neighbors._arguments import ALGORITHMS, Algorithm
from likewise.solvers import Solution


class LMNN(KernelMetric):
    r"""Large margin nearest neighbours: a metric for kNN classification, learned from labels.

    Each row has k target neighbours, the nearest rows of its class under the initial metric, or
    known ones. They are pulled towards it, and impostors, rows of other classes, are pushed beyond
    a margin. With squared distances D under ``M = L.T @ L``, LMNN minimises (Eq. 14 of the paper)

    .. math:: \varepsilon(M) = \sum_i c_i \Big[(1-\mu) \sum_{j \rightsquigarrow i} D(i,j)
        + \mu \sum_{j \rightsquigarrow i} \sum_{l:\, y_l \ne y_i}
        \big[m + D(i,j) - D(i,l)\big]_+\Big],

    with anchor weights :math:`c_i` (1 by default), the push μ and the margin m. The objective is
    convex in M, and `duality_gap_` bounds the relative distance to the optimum.

    Parameters
    ----------
    n_neighbors : int
        Number of target neighbours k. Use the same k, or one near it, for classification. Rows of
        smaller classes have fewer targets, a single row none; it is still an impostor of others.
    push : float
        μ, between 0 and 1: the weight of the push; the pull has weight 1 - μ.
    margin : float
        m: how much larger the squared distances of impostors should be. It is a unit: M and
        `objective_` are proportional to it, except for the term of `regularization`.
    n_components : int, optional
        Rows of L; n_features by default. With fewer the problem is not convex.
    init : {"pca", "identity", "fda"} or array of shape (n_components, n_features)
        The initial metric, which also selects the targets. It is scaled to its best multiple
        first. The rows of an array determine the number of components.
    scale : "auto" or float
        Internal factor of X; "auto" makes the median squared distance to the targets 1. It changes
        nothing but `scale_`, since the initial metric is scaled anyway.
    regularization : float
        Strength ρ of the penalty ``ρ · n · ‖M - M₀‖² / ‖M₀‖²``, with M₀ the initial metric at its
        best multiple and n the sum of the weights. Useful for small samples.
    n_passes : int
        Number of passes; each further one selects the targets again, by the metric learned so far.
    solver : {"auto", "lbfgs", "projected"}
        "auto" is L-BFGS on L; "projected" is the paper's much slower method on M (Appendix A).
    neighbors : {"auto", "brute", "tree"}
        Search for targets and impostors: by comparing all rows, by trees (faster for many rows of
        two or three features), or by whichever is faster. The result is the same.
    kernel : None, "linear", "rbf", "poly" or callable
        Learn on the coordinates of kernel PCA, with 32 n² bytes. A callable maps two arrays of rows
        to their kernel matrix.
    kernel_params : dict, optional
        "gamma" (1 / n_features by default), "coef0" (1), "degree" (3), or arguments of a callable.
    budget : int, optional
        With a kernel: the number of leading kernel principal components to keep; all by default.
    max_iter : int
        Maximum number of iterations per pass.
    tol : float
        Converged when `duality_gap_` is at most `tol`.
    validation_fraction : float, optional
        Fraction of each class to hold out; the metric with the lowest error rate on it is kept.
    random_state : int, RandomState or None
        Determines which rows are held out.
    n_jobs : int or None
        Threads; None uses all cores. The result does not depend on it.
    verbose : int
        1 shows progress.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        L, for X as it was given.
    objective_ : float
        ε of `components_` over all impostors, plus the penalty; nan after two early interrupts.
    duality_gap_ : float
        (objective - lower bound) / objective: the relative distance to the optimum is at most
        this. The bound holds for any number of components; 1 if there is none.
    converged_ : bool
        Whether `duality_gap_` is at most `tol`, or the objective is at most 1e-12 of its initial
        value. With fewer components than features: whether the objective no longer decreased. With
        `validation_fraction`: whether early stopping ended the fit.
    n_iter_, scale_ : int, float
        Number of iterations of all passes; factor by which X was multiplied.
    history_ : dict of arrays
        For each exact evaluation of the last pass: objective, n_iter so far, lower_bound.

    References
    ----------
    K. Q. Weinberger, L. K. Saul, Distance metric learning for large margin nearest neighbor
    classification, JMLR 10, 2009.

    Examples
    --------
    >>> import likewise as lw
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> lmnn = lw.LMNN(n_neighbors=3).fit(X, y)
    >>> bool(lmnn.duality_gap_ <= lmnn.tol)
    True
    """

    scale_: float
    _rules: ClassVar[dict[str, Rule]] = {
        "n_neighbors": at_least(1),
        "push": strictly_between(0, 1),
        "margin": positive(),
        "n_components": either(none(), at_least(1)),
        "init": init_rule("pca", "identity", "fda"),
        "scale": either(one_of("auto"), positive()),
        "regularization": non_negative(),
        "n_passes": at_least(1),
        "solver": one_of("auto", "lbfgs", "projected"),
        "neighbors": one_of(*ALGORITHMS),
        **KERNEL_RULES,
        "budget": either(none(), at_least(1)),
        "max_iter": at_least(1),
        "tol": positive(),
        "validation_fraction": either(none(), strictly_between(0, 1)),
        "n_jobs": n_jobs_rule(),
    }
    _warns_of_few_rows = True

    def __init__(
        self,
        n_neighbors: int = 3,
        *,
        push: float = 0.5,
        margin: float = 1.0,
        n_components: int | None = None,
        init: str | ArrayLike = "pca",
        scale: str | float = "auto",
        regularization: float = 0.0,
        n_passes: int = 1,
        solver: str = "auto",
        neighbors: Algorithm = "auto",
        kernel: str | Callable[..., Any] | None = None,
        kernel_params: dict[str, Any] | None = None,
        budget: int | None = None,
        max_iter: int = 500,
        tol: float = 0.01,
        validation_fraction: float | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.push = push
        self.margin = margin
        self.n_components = n_components
        self.init = init
        self.scale = scale
        self.regularization = regularization
        self.n_passes = n_passes
        self.solver = solver
        self.neighbors = neighbors
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.budget = budget
        self.max_iter = max_iter
        self.tol = tol
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @fitting
    @single_threaded_blas()
    def fit(
        self,
        X: TableLike,
        y: ArrayLike,
        *,
        anchor_weight: ArrayLike | None = None,
        targets: ArrayLike | None = None,
    ) -> Self:
        """Learn the metric from labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or Dask array or dataframe
            Training data. Those of a Dask collection stay on their workers. Those of a memory map
            are read in blocks if too little memory is free, or if `max_memory` is set.
        y : array-like of shape (n_samples,), or Dask array or series
            Labels of at least two classes, one of which has two rows.
        anchor_weight : array-like of shape (n_samples,), optional
            Weights c of the rows as anchors. Rows of weight 0 are still targets and impostors.
        targets : int array-like of shape (n_pairs, 2), optional
            Known target neighbours: each pair is a row number and that of a target of this row,
            with the same label. `n_neighbors` and `n_passes` are then not used to select them.

        Returns
        -------
        self
        """
        if learns_from_blocks(self, X, anchor_weight, targets):
            blocks, by_class = supervise_blocks(self, X, y, anchor_weight, targets)
            init = self._check_init(*blocks.shape, labelled=True)
            return self._learn(blocks, by_class, init, None, blocks.dtype)
        X, codes, classes = check_labelled(self, X, y, tensors=self.kernel is None)
        weights = check_weights(anchor_weight, "anchor_weight", len(X))
        train, held_out = split_validation(
            codes, weights, self.validation_fraction, self.random_state, self.solver
        )
        pairs = LabelSupervision.training_targets(targets, codes, classes, train, self.n_neighbors)
        init = self._check_init(len(train), X.shape[1], labelled=True)
        space, rows = self._map_to_space(X[train] if len(held_out) else X, self.budget)
        validation = None
        if len(held_out):
            queries = self._coordinates(X[held_out], space)
            validation = ValidationSet(queries, codes[held_out], codes[train])
        options = (self.n_neighbors, self.margin, self.n_jobs, self.neighbors)
        supervision = LabelSupervision(codes[train], weights[train], pairs, *options)
        return self._learn(rows, supervision, init, space, numpy_dtype(X), validation)

    @fitting
    @single_threaded_blas()
    def fit_triplets(self, X: TableLike, triplets: ArrayLike) -> Self:
        """Learn the metric from triplets (anchor, positive, negative).

        The pull is over the distinct pairs (anchor, positive), the push over the triplets.
        `n_neighbors`, `n_passes` and `validation_fraction` are not used.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data.
        triplets : int array-like of shape (n_triplets, 3)
            Row numbers: the anchor is more similar to the second than to the third.

        Returns
        -------
        self
        """
        X = check_rows(self, X, reset=True, min_rows=3)
        chosen = as_triplets(triplets, len(X))
        supervision = TripletSupervision(chosen, len(X), self.n_jobs)
        init = self._check_init(len(X), X.shape[1], labelled=False)
        space, rows = self._map_to_space(X, self.budget)
        return diagnosed(self._learn(rows, supervision, init, space, X.dtype), X, chosen)

    def _learn(
        self,
        X: Array | BlockedRows,
        supervision: Any,
        init: str | Array,
        space: KernelSpace | None,
        dtype: Any,
        validation: ValidationSet | None = None,
    ) -> Self:
        """Minimise pass by pass; each further pass selects the targets again."""
        data, selection, L, n_components = self._initialise(X, supervision, init, space)
        total_weight = float(selection.weights.sum())
        penalty = penalty_towards(L, self.regularization * total_weight)
        certified = n_components == X.shape[1]
        n_iter, kernel_state = 0, self._space_attributes(space)

        def attributes(L: Array) -> dict[str, Any]:
            return {**kernel_state, "components_": (L * data.scale).astype(dtype)}

        for pass_number in range(1 if supervision.fixed else self.n_passes):
            if pass_number:
                selection = supervision.select_targets(data.transform(L, self.n_jobs))
            objective = selection.objective(data.X, self.push, self.margin, self.n_jobs)
            problem = LMNNProblem(objective, selection.search, penalty, total_weight)
            if self.solver == "projected":
                found, L = self._minimise_in_matrix(problem, L, attributes)
            else:
                found, L = self._minimise_in_components(
                    problem, L, certified, data, validation, attributes
                )
            n_iter += found.n_iter
            if found.status == "interrupted":
                break
        self.n_iter_, self.scale_ = n_iter, data.scale
        self.duality_gap_ = 1.0 if found.gap is None else found.gap
        self._interrupted = found.status == "interrupted"
        self.__dict__.update(kernel_state)
        if certified and space is None and validation is None and self._warns_of_few_rows:
            warn_of_few_rows(self, supervision.n_free, objective)
        return self._keep(canonical_form(L)[:n_components] * data.scale, dtype)

    def _initialise(
        self, X: Any, supervision: Any, init: str | Array, space: KernelSpace | None
    ) -> tuple[Any, Any, Array, int]:
        """Return the data at their scale, the targets, the leading rows of L and how many it has.

        L is at its best multiple; all its rows are returned where others cannot be added.
        """
        data: Any = centred_data(X)
        L = self._initial_components(data.base, supervision, init, space)
        with progress("LMNN, first search", None, shown=bool(self.verbose)):
            selection = supervision.select_targets(data.transform(L, self.n_jobs))
            data = data.rescaled(self.scale, selection.targets, L, self.n_jobs)  # frees the copy
            objective = selection.objective(data.X, self.push, self.margin, self.n_jobs)
            n_rows = len(L)
            if n_rows == X.shape[1] and self.solver != "projected" and not self.regularization:
                L = leading_rows(L, lambda rows: data.scatter(rows, self.n_jobs))
            alpha = best_multiple(objective, selection.search, data.transform(L, self.n_jobs))
        return data, selection, alpha * L, n_rows

    def _minimise_in_components(
        self,
        problem: LMNNProblem,
        L: Array,
        certified: bool,
        data: CentredData,
        validation: ValidationSet | None,
        attributes: Callable[[Array], dict[str, Any]],
    ) -> tuple[Solution, Array]:
        """Minimise over L by L-BFGS, in preconditioned coordinates unless there is a penalty."""
        precondition = Preconditioner.identity if problem.penalty else Preconditioner.from_pull
        X, to_original, from_original = precondition(problem.objective)
        error = None
        if validation is not None:
            error = ErrorRate(validation, data, to_original, self.n_neighbors, self.n_jobs)
        found = self._solve(
            working_set_lbfgs,
            problem.of_rows(X),
            L @ from_original,
            fitted=lambda x: attributes(x @ to_original),
            tol=self.tol,
            margin=self.margin,
            certified=certified,
            validation_error=error,
        )
        return found, found.x @ to_original

    def _minimise_in_matrix(
        self, problem: LMNNProblem, L: Array, attributes: Callable[[Array], dict[str, Any]]
    ) -> tuple[Solution, Array]:
        """Minimise over M by the projected subgradient method."""
        start, fitted = L.T @ L, lambda M: attributes(canonical_components(M))
        matrix_problem = LMNNMatrixProblem(problem)
        found = self._solve(projected_subgradient, matrix_problem, start, fitted, tol=self.tol)
        return found, canonical_components(found.x)

    def _check_init(self, n_samples: int, n_features: int, *, labelled: bool) -> str | Array:
        """Check `init` and `n_components` as far as possible before a kernel is computed."""
        init = checked_init(self.init, labelled=labelled)
        limit = self._max_components(n_samples, n_features, self.budget)
        check_n_components("LMNN", self.n_components, *limit)
        return init

    def _initial_components(
        self, X: Any, supervision: Supervision, init: str | Array, space: KernelSpace | None
    ) -> Array:
        """Return the L of the initial metric, before it is scaled to its best multiple."""
        in_space = space is not None
        n_rows = X.shape[1] if isinstance(init, str) else init.size // X.shape[1]
        require_memory_for_lmnn("LMNN", X, self.n_components or n_rows, in_feature_space=in_space)
        columns = "directions that the kernel spans" if in_space else "features of X"
        arguments = ("LMNN", init, self.n_components, X, supervision.codes)
        L = initial_components(*arguments, columns=columns, n_jobs=self.n_jobs)
        if self.solver == "projected":
            require_all_components(L, self.n_components)
        return L
