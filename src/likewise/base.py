"""The contract that every estimator keeps, and the only door to scikit-learn's machinery."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, ParamSpec, Self, TypeVar, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from likewise import _files
from likewise._numerics.centring import centred
from likewise._runtime.progress import progress
from likewise._runtime.threads import run_blocks, single_threaded_blas
from likewise._runtime.validation import (
    Rule,
    TableLike,
    check_labelled,
    check_parameters,
    check_rows,
    warn_user,
)
from likewise.metric import row_norms
from likewise.solvers import Iteration, Solution

try:  # scikit-learn 1.9 brought callbacks; older releases work without them.
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in where scikit-learn has no callbacks."""

    def with_callbacks(method: Any) -> Any:
        """Leave `method` as it is."""
        return method


__all__ = ["Learner", "MetricLearner", "check_labelled", "check_rows", "fitting"]

Array = NDArray[Any]
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

_MAP_BLOCK = 4096  # rows mapped at a time

_HOW_IT_ENDED = {
    "max_iter": "stopped after max_iter={n_iter} iterations without converging",
    "stalled": "could not make further progress after {n_iter} iterations before converging",
    "interrupted": "was interrupted after {n_iter} iterations; the best metric so far is kept",
}


def fitting(fit: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Wrap a fitting method: check the parameters first, and let scikit-learn's callbacks watch.

    Every public method that learns wears this decorator.
    """

    @with_callbacks  # type: ignore[untyped-decorator]
    @functools.wraps(fit)
    def watched(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        self._check_parameters()
        if not hasattr(self, "_init_callback_context"):
            return fit(self, X, *args, **kwargs)
        task = self._init_callback_context(max_subtasks=getattr(self, "max_iter", 0))
        task.call_on_fit_task_begin(estimator=self, X=X)
        fitted = fit(self, X, *args, **kwargs)
        task.call_on_fit_task_end(estimator=self, X=X, reconstruction_attributes={})
        return fitted

    return cast("Callable[Arguments, Result]", watched)


class Learner(CallbackSupportMixin, BaseEstimator):  # type: ignore[misc]
    """What all estimators share: parameter rules, files, and a report of how the fit ended."""

    _rules: ClassVar[Mapping[str, Rule]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _files.register(cls)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a safetensors file, which `likewise.load` reads.

        Parameters
        ----------
        path : str or path
            The file; it appears whole or not at all.
        """
        _files.save(self, path)

    def _check_parameters(self) -> None:
        values = {name: getattr(self, name) for name in self._rules}
        check_parameters(type(self).__name__, values, self._rules)

    def _solve(
        self,
        solver: Callable[..., Solution],
        problem: Any,
        start: Array | None,
        fitted: Callable[[Array], dict[str, Any]],
        *,
        max_iter: int | None = None,
        **options: Any,
    ) -> Solution:
        """Run `solver` under the eyes of the progress bar and of scikit-learn's callbacks.

        `fitted` turns a point of the solver into the attributes of a model that could be used if
        learning stopped there. `max_iter` stands in for the parameter where that may be None. Sets
        what the solver has to say of its end, and warns unless it converged.
        """
        title, shown = type(self).__name__, bool(self.verbose)
        max_iter = max_iter or self.max_iter
        # Held here once: to limit BLAS anew in every product of a small problem takes longer
        # than the product.
        with single_threaded_blas(), progress(title, max_iter, shown=shown) as report:

            def watcher(iteration: Iteration) -> bool:
                report(iteration.number, objective=iteration.value)
                return self._call_back(functools.partial(fitted, iteration.x))

            found = solver(problem, start, max_iter=max_iter, watcher=watcher, **options)
        if found.status == "failed":
            raise ValueError(
                f"{type(self).__name__} found no finite objective at its start "
                f"({found.value}); the features may be too large: scale them."
            )
        if found.status != "converged":
            how = _HOW_IT_ENDED[found.status].format(n_iter=found.n_iter)
            if found.gap is not None:
                how += f" (proved: at most {found.gap:.2g} of the objective from the optimum)"
            warn_user(f"{type(self).__name__} {how}.", ConvergenceWarning)
        self.objective_ = float(found.value)
        self.n_iter_ = found.n_iter
        self.converged_ = found.status == "converged"
        self.history_ = dict(found.history)
        return found

    def _call_back(self, fitted: Callable[[], dict[str, Any]]) -> bool:
        """Tell scikit-learn's callbacks that an iteration is over; True asks to stop."""
        task = getattr(self, "_callback_fit_ctx", None)
        if task is None:
            return False
        step = task.subcontext(task_name="iteration")
        step.call_on_fit_task_begin(estimator=self)
        return bool(step.call_on_fit_task_end(estimator=self, reconstruction_attributes=fitted))


class MetricLearner(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Learner):  # type: ignore[misc]
    """Learns a linear map L under which the Euclidean distance says what is alike.

    A subclass fits `components_` (n_components × n_features) and says in ``_needs_labels`` whether
    `fit` wants y.
    """

    _needs_labels: ClassVar[bool] = True
    _accepts_sparse: ClassVar[bool] = False
    components_: Array

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self._needs_labels
        tags.input_tags.sparse = self._accepts_sparse
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def transform(self, X: TableLike) -> Any:
        """Map rows to where the Euclidean distance is the learned one: ``X @ L.T``.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows to map.

        Returns
        -------
        array of shape (n_rows, n_components)
            The mapped rows, float32 if X is.
        """
        return self._map(self._check_new(X, "X"))

    def pair_distance(self, A: TableLike, B: TableLike) -> Array:
        """Return the distance of each row of `A` to the same row of `B`: large is different.

        Parameters
        ----------
        A, B : array-like of shape (n_pairs, n_features)
            The two sides of the pairs.

        Returns
        -------
        array of shape (n_pairs,)
            ``‖L(a - b)‖``, not squared; with a kernel of their images in feature space.
        """
        A, B = self._check_new(A, "A"), self._check_new(B, "B")
        if A.shape[0] != B.shape[0]:
            raise ValueError(
                f"A has {A.shape[0]} rows and B has {B.shape[0]}, but both sides of the pairs need "
                "as many."
            )
        return row_norms(self._map_differences(A, B))

    def mahalanobis_matrix(self) -> Array:
        """Return ``M = L.T @ L``; a kernel model has none over the features, and says so."""
        check_is_fitted(self)
        if not self._linear:
            raise AttributeError(
                "A kernel model has no matrix over the features of X: use pair_distance, transform "
                "or get_metric."
            )
        with single_threaded_blas():
            return np.asarray(self.components_.T @ self.components_)

    def get_metric(self) -> Callable[[ArrayLike, ArrayLike], float]:
        """Return the distance as a plain function of two vectors, for SciPy and scikit-learn.

        Examples
        --------
        >>> import likewise as lw
        >>> distance = lw.Euclidean().fit([[0.0, 0.0]]).get_metric()
        >>> distance([0.0, 3.0], [4.0, 0.0])
        5.0
        """
        check_is_fitted(self)
        return functools.partial(_distance, self.components_)

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def _check_new(self, X: Any, name: str) -> Any:
        check_is_fitted(self)
        return check_rows(self, X, reset=False, name=name, accept_sparse=self._accepts_sparse)

    def _map(self, X: Any) -> Any:
        across = self.components_.T
        if sp.issparse(X):
            return X @ across
        mapped = np.empty((len(X), across.shape[1]), dtype=X.dtype)

        def block(start: int, stop: int) -> None:
            mapped[start:stop] = X[start:stop] @ across

        # Fixed blocks, each on one thread: the same bits on any number of cores.
        run_blocks(block, len(X), _MAP_BLOCK, getattr(self, "n_jobs", None))
        return mapped

    @property
    def _linear(self) -> bool:
        """Whether `components_` is over the features of X; a kernel model has another space."""
        return True

    def _map_differences(self, A: Any, B: Any) -> Any:
        """Map what lies between rows; the difference comes first, for L·a and L·b lose digits."""
        return self._map(A - B)

    def _transform_centred(self, X: Array, centre: Array) -> Any:
        """Map ``X - centre``: for data far from zero, ``X @ L.T`` would lose digits."""
        return self._map(centred(X, centre) if self._linear else X)

    def _keep(self, components: Array, dtype: Any) -> Self:
        """Store L in the precision of the data it was learned from."""
        with np.errstate(over="ignore"):
            stored = np.ascontiguousarray(components, dtype=dtype)
        if not np.isfinite(stored).all():
            raise ValueError(
                f"The metric of such small features is too large for {np.dtype(dtype)}; scale X."
            )
        self.components_ = stored
        return self


def transform_centred(metric: Any, X: Array, centre: Array) -> Array:
    """Transform rows by `metric`, up to a common translation, which changes no distance.

    Any transformer is accepted. A linear metric of this library maps ``X - centre``, so that no
    digits are lost however far the data are from zero.
    """
    of_differences = getattr(metric, "_transform_centred", None)
    if of_differences is None:
        return np.asarray(metric.transform(X))
    return np.asarray(of_differences(X, centre))


def _distance(components: Array, first: ArrayLike, second: ArrayLike) -> float:
    difference = np.asarray(first) - np.asarray(second)
    if difference.shape != components.shape[1:]:
        raise ValueError(
            f"The two vectors differ by shape {difference.shape}, but {components.shape[1]} "
            "features are needed."
        )
    return float(row_norms((components @ difference)[None])[0])
