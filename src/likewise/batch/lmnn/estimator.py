"""Large margin nearest neighbours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from likewise._runtime.arrays import Array
from likewise._runtime.threads import single_threaded_blas
from likewise._runtime.validation import (
    Rule,
    TableLike,
    at_least,
    check_class_sizes,
    check_labelled,
    check_n_components,
    check_rows,
    check_weights,
    counted,
    either,
    job_count,
    non_negative,
    none,
    one_of,
    positive,
    strictly_between,
)
from likewise.base import fitting
from likewise.batch._initialisation import checked_init, init_rule, initial_components
from likewise.batch._kernel_metric import KernelMetric
from likewise.batch._kernel_space import KernelSpace
from likewise.batch.lmnn.early_stopping import HeldOut, HeldOutError, split_off
from likewise.batch.lmnn.impostors import FindImpostors
from likewise.batch.lmnn.matrix_problem import LMNNMatrixProblem
from likewise.batch.lmnn.memory import require_memory_for_lmnn
from likewise.batch.lmnn.preconditioning import CentredRows, Coordinates
from likewise.batch.lmnn.problem import LMNNProblem, best_multiple, penalty_towards
from likewise.batch.lmnn.projected_subgradient import projected_subgradient
from likewise.batch.lmnn.targets import LabelTeacher, Teacher, Told, TripletTeacher
from likewise.batch.lmnn.working_set import working_set_lbfgs
from likewise.constraints import as_triplets
from likewise.kernels import KERNEL_RULES
from likewise.metric import canonical_components, canonical_form
from likewise.neighbors._arguments import ALGORITHMS, Algorithm
from likewise.objectives import GroupedPairs, LargeMargin, QuadraticPenalty
from likewise.solvers import Solution


class LMNN(KernelMetric):
    r"""Large margin nearest neighbours: pull same-class neighbours, push impostors past a margin.

    Each row has k target neighbours, the nearest of its class under the start metric. With squared
    distances D under ``M = L.T @ L``, LMNN minimises (Eq. 14 of the paper)

    .. math:: \varepsilon(M) = \sum_i c_i \Big[(1-\mu) \sum_{j \rightsquigarrow i} D(i,j)
        + \mu \sum_{j \rightsquigarrow i} \sum_{l:\, y_l \ne y_i}
        \big[m + D(i,j) - D(i,l)\big]_+\Big],

    with weights :math:`c_i` of the rows (1 by default), the push μ and the margin m. In M this is
    convex, and `duality_gap_` proves how far the result is from the optimum.

    Parameters
    ----------
    n_neighbors : int
        Target neighbours k of each row. The same k, or one near it, should vote afterwards.
    push : float
        μ, between 0 and 1: how much impostors count beside targets.
    margin : float
        m: how much farther, in squared distance, impostors should be. A unit: M and `objective_`
        are multiplied by it, but what `regularization` adds is not.
    n_components : int, optional
        Rows of L; fewer than features learn a map to fewer dimensions directly. The problem is
        then not convex, and `duality_gap_` only a bound.
    init : {"pca", "identity", "fda"} or array of shape (n_components, n_features)
        The start metric, which also chooses the targets. A good multiple of it is found first. An
        array says by its rows how many components there are.
    scale : "auto" or float
        What X is multiplied by inside. "auto" makes the median squared distance to the targets 1.
        It changes nothing but `scale_`: the start metric is put at its best multiple anyway.
    regularization : float
        Strength of the penalty ``regularization · n · ‖M - M₀‖² / ‖M₀‖²``, with M₀ the start metric
        at its best multiple and n the sum of the weights. Useful for small samples.
    n_passes : int
        How often targets are chosen anew under the metric learned so far, and learning resumes.
    solver : {"auto", "lbfgs", "projected"}
        L-BFGS on L, which "auto" takes, or the paper's projected subgradient method on M, which
        is much slower.
    neighbors : {"auto", "brute", "tree"}
        How targets and impostors are searched: by comparing all rows, by trees (faster for a great
        many rows of two or three features), or by what is faster. The result is the same.
    kernel : None, "linear", "rbf", "poly" or callable
        Learn in the feature space of a kernel, on the coordinates that kernel PCA gives: all rows
        are kept, and 32 n² bytes are needed for tables of all rows by all rows, besides what L
        takes for so many directions. A callable takes two tables and returns their kernel values.
    kernel_params : dict, optional
        Parameters of the kernel in scikit-learn's words: "gamma" (1 / n_features unless given),
        "coef0" (1), "degree" (3); or what a callable takes by name.
    budget : int, optional
        With a kernel: keep so many leading directions of feature space; all by default.
    max_iter : int
        Iterations allowed, for each pass.
    tol : float
        Converged when the objective is proved to be within this share of the optimum.
    validation_fraction : float, optional
        Share of each class held out; learning stops when their error rate no longer falls, and
        the metric with the lowest is kept.
    random_state : int, RandomState or None
        Decides which rows are held out.
    n_jobs : int or None
        Threads; None uses all cores. The result does not depend on it.
    verbose : int
        1 shows progress.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        L, for X as it was given.
    objective_ : float
        ε of `components_` for X as it was given, over all impostors, with the penalty if there is
        one; nan if an interrupt came before it was evaluated.
    duality_gap_ : float
        (objective - lower bound) / objective: the result is at most this share above the optimum;
        1 says that nothing is proved.
    converged_ : bool
        Whether `duality_gap_` is at most `tol`, or the objective is 0 up to rounding (1e-12 of its
        start), where no bound is available; with fewer components than features, whether further
        steps brought no decrease; with `validation_fraction`, whether early stopping ended the
        fit.
    n_iter_ : int
        Iterations of all passes.
    scale_ : float
        What X was multiplied by.
    history_ : dict of arrays
        Of the last pass, at each exact search: objective, n_iter so far, lower_bound.

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
    >>> lmnn.transform(X).shape
    (150, 4)
    >>> bool(lmnn.duality_gap_ <= lmnn.tol)
    True
    """

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
        "n_jobs": job_count(),
    }

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
    def fit(self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from labels.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The data.
        y : array-like of shape (n_rows,)
            Labels of at least two classes, each with more than `n_neighbors` rows.
        sample_weight : array-like of shape (n_rows,), optional
            How much each row counts as an anchor. A row of weight 0 is still the target or the
            impostor of others.

        Returns
        -------
        LMNN
            The fitted metric.
        """
        X, codes, classes = check_labelled(self, X, y)
        check_class_sizes(codes, classes, self.n_neighbors)
        weights = check_weights(sample_weight, len(X))
        if self.solver == "projected" and self.validation_fraction is not None:
            raise ValueError(
                "solver='projected' has no early stopping, but validation_fraction="
                f"{self.validation_fraction} asks for it; solver='lbfgs' has."
            )
        kept, left = split_off(
            codes, classes, weights, self.validation_fraction, self.n_neighbors, self.random_state
        )
        self._check_start(len(kept), X.shape[1], labelled=True)
        space, rows = self._images(X[kept] if len(left) else X, self.budget)
        held_out = None
        if len(left):
            held = X[left]
            if space is not None:
                held = space.coordinates(held, self.kernel, self.kernel_params or {}, self.n_jobs)
            held_out = HeldOut(held, codes[left], codes[kept])
            codes, weights = codes[kept], weights[kept]
        wanted = (self.n_neighbors, self.margin, self.n_jobs, self.neighbors)
        teacher = LabelTeacher(codes, classes, weights, *wanted)
        return self._learn(rows, teacher, held_out, space, X.dtype, self.n_passes)

    @fitting
    def fit_triplets(self, X: TableLike, triplets: ArrayLike) -> Self:
        """Learn from triplets (anchor, positive, negative).

        The pull runs over the distinct pairs (anchor, positive), the push over the triplets.
        `n_neighbors`, `n_passes` and `validation_fraction` have no meaning here.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The data.
        triplets : int array-like of shape (n_triplets, 3)
            Row numbers: the anchor is more like the second than the third.

        Returns
        -------
        LMNN
            The fitted metric.
        """
        X = check_rows(self, X, reset=True, min_rows=3)
        teacher = TripletTeacher(as_triplets(triplets, len(X)), len(X), self.n_jobs)
        self._check_start(len(X), X.shape[1], labelled=False)
        space, rows = self._images(X, self.budget)
        return self._learn(rows, teacher, None, space, X.dtype, 1)

    def _learn(
        self,
        X: Array,
        teacher: Teacher,
        held_out: HeldOut | None,
        space: KernelSpace | None,
        dtype: Any,
        n_passes: int,
    ) -> Self:
        data = CentredRows.of(X)
        L = self._start(data, teacher, space)
        n_components, n_iter, known = len(L), 0, self._of_space(space)

        def fitted(L: Array) -> dict[str, Any]:
            return {**known, "components_": (L * data.scale).astype(dtype)}

        with single_threaded_blas():  # once for all: setting it for each product would take longer
            told = teacher.tell(data.mapped(L, self.n_jobs))
            scale = self.scale
            if isinstance(scale, str):
                scale = data.scale_of_unit_distances(told.near, L, self.n_jobs)
            data = data.scaled(float(scale))
            objective = self._objective(data, told)
            L = L * best_multiple(objective, told.find, data.mapped(L, self.n_jobs))
            penalty = penalty_towards(L, self.regularization * float(told.weights.sum()))
            for pass_number in range(n_passes):
                if pass_number:
                    told = teacher.tell(data.mapped(L, self.n_jobs))
                    objective = self._objective(data, told)
                found, L = self._pass(objective, told.find, penalty, L, held_out, data, fitted)
                n_iter += found.n_iter
                if found.status == "interrupted":
                    break
        self.n_iter_, self.scale_ = n_iter, data.scale
        self.duality_gap_ = 1.0 if found.gap is None else found.gap
        self._interrupted = found.status == "interrupted"
        self.__dict__.update(known)
        return self._keep(canonical_form(L)[:n_components] * data.scale, dtype)

    def _pass(
        self,
        objective: LargeMargin,
        find: FindImpostors,
        penalty: QuadraticPenalty | None,
        L: Array,
        held_out: HeldOut | None,
        data: CentredRows,
        fitted: Callable[[Array], dict[str, Any]],
    ) -> tuple[Solution, Array]:
        """Minimise over metrics for targets as they are now."""
        if self.solver == "projected":
            return self._pass_on_matrices(LMNNProblem(objective, find, penalty), L, fitted)
        alike = penalty is None
        coordinates = (Coordinates.pulled_alike if alike else Coordinates.as_they_are)(objective)
        judge = None
        if held_out is not None:
            judge = HeldOutError(held_out, data, coordinates.forth, self.n_neighbors, self.n_jobs)
        found = self._solve(
            working_set_lbfgs,
            LMNNProblem(replace(objective, X=coordinates.X), find, penalty),
            L @ coordinates.back,
            fitted=lambda x: fitted(x @ coordinates.forth),
            tol=self.tol,
            margin=self.margin,
            certified=len(L) == L.shape[1],
            judge=judge,
        )
        return found, found.x @ coordinates.forth

    def _pass_on_matrices(
        self, problem: LMNNProblem, L: Array, fitted: Callable[[Array], dict[str, Any]]
    ) -> tuple[Solution, Array]:
        found = self._solve(
            projected_subgradient,
            LMNNMatrixProblem(problem),
            L.T @ L,
            fitted=lambda M: fitted(canonical_components(M)),
            tol=self.tol,
        )
        return found, canonical_components(found.x)

    def _objective(self, data: CentredRows, told: Told) -> LargeMargin:
        return LargeMargin(
            data.rows,
            told.near,
            GroupedPairs.none(len(told.weights)),
            told.weights,
            self.push,
            self.margin,
            n_jobs=self.n_jobs,
        )

    def _check_start(self, n_rows: int, n_features: int, *, labelled: bool) -> None:
        """Complain of what can be seen before a kernel is computed."""
        checked_init(self.init, labelled=labelled)
        most, why = n_features, "the features of X"
        if self.kernel is not None:
            most = min(n_rows - 1, self.budget or n_rows)
            why = "the budget" if most == self.budget else "one fewer than rows to learn from"
        check_n_components("LMNN", self.n_components, most, why)

    def _start(self, data: CentredRows, teacher: Teacher, space: KernelSpace | None) -> Array:
        """Return the L of the start metric, before its best multiple is known."""
        X, given = data.rows, checked_init(self.init, labelled=teacher.codes is not None)
        most = X.shape[1] if given is None else given.size // X.shape[1]
        in_space = space is not None
        require_memory_for_lmnn("LMNN", X, self.n_components or most, in_feature_space=in_space)
        columns = "directions that the kernel spans" if in_space else "features of X"
        wanted = (self.init, self.n_components, X, teacher.codes)
        L = initial_components("LMNN", *wanted, columns=columns, n_jobs=self.n_jobs)
        if self.solver == "projected" and len(L) < L.shape[1]:
            asking = f"n_components={self.n_components}"
            if self.n_components is None:
                asking = f"init with {counted(len(L), 'row')}"
            raise ValueError(
                f"solver='projected' learns all {L.shape[1]} components, but {asking} asks for "
                "fewer; solver='lbfgs' can."
            )
        return L
