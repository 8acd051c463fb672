"""What all estimators share: parameter validation, model files, progress and callbacks."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, ParamSpec, Self, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from likewise import _files
from likewise._runtime.arrays import Array, FloatArray
from likewise._runtime.interrupts import out_of_time
from likewise._runtime.invariants import require_count
from likewise._runtime.progress import expecting, progress
from likewise._runtime.renaming import current_names
from likewise._runtime.sklearn_bases import BaseEstimator, CallbackSupportMixin, with_callbacks
from likewise._runtime.tensors import device_memory_errors, require_device
from likewise._runtime.threads import single_threaded_blas
from likewise._runtime.validation import (
    Rule,
    TableLike,
    check_parameters,
    collected_warnings,
    warn_user,
)
from likewise.base.estimate import Estimate, NestedFit, estimate_fit, expected_seconds
from likewise.base.notebook_summary import notebook_summary
from likewise.solvers import Iteration, Solution

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

_STATUS_MESSAGES = {
    "max_iter": "stopped after max_iter={n_iter} iterations without converging",
    "stalled": "could not make further progress after {n_iter} iterations before converging",
    "interrupted": "was interrupted after {n_iter} iterations; the best metric so far is kept",
    "time": "was stopped by the time limit after {n_iter} iterations; the best metric so far is "
    "kept",
}


def updating(method: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Decorate a method that changes the model: an error or interrupt leaves it as it was.

    The method may set attributes as it likes, but must not change the objects that they held.
    """

    @functools.wraps(method)
    def update_or_restore(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(self))
        try:
            return method(self, *args, **kwargs)
        except BaseException:
            self.__dict__ = before  # in one step, which nothing can interrupt
            raise

    return cast("Callable[Arguments, Result]", update_or_restore)


def fitting(fit: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Decorate a fitting method: validate parameters, call callbacks, warn if not converged.

    Every public method that fits from scratch has this decorator. If it raises an error or is
    interrupted, the model is as it was before: fitted to other data, or not fitted.
    """

    @updating
    @with_callbacks
    @functools.wraps(fit)
    def fit_with_callbacks(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        self._check_parameters()
        require_device()
        task = None
        if hasattr(self, "_init_callback_context"):
            max_iter = getattr(self, "max_iter", 0)
            max_subtasks = max_iter and max_iter * getattr(self, "n_passes", 1)
            task = self._init_callback_context(max_subtasks=max_subtasks)
            task.call_on_fit_task_begin(estimator=self, X=X)
        title, verbose = type(self).__name__, bool(getattr(self, "verbose", False))
        expected = functools.partial(expected_seconds, self, fit.__name__, X, *args, **kwargs)
        with (
            expecting(title, expected, shown=verbose),
            collected_warnings() as warned,
            device_memory_errors(title),
        ):
            fitted = fit(self, X, *args, **kwargs)
            # Once per fit, however often a solver ran.
            not_converged = vars(self).pop("_not_converged", None)
            if not_converged is not None:
                warn_user(not_converged, ConvergenceWarning)
        vars(self).pop("_fit_warnings", None)
        if warned:
            self._fit_warnings = tuple(dict.fromkeys(warned))
        if task is not None:
            task.call_on_fit_task_end(estimator=self, X=X, reconstruction_attributes={})
        return fitted

    return cast("Callable[Arguments, Result]", fit_with_callbacks)


class Learner(CallbackSupportMixin, BaseEstimator):
    """Base of all estimators: parameter validation, model files, solver runs and callbacks."""

    _rules: ClassVar[Mapping[str, Rule]] = {}
    objective_: float
    n_iter_: int
    converged_: bool
    history_: dict[str, Array]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _files.register(cls)

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also those of nested estimators, as of any scikit-learn estimator.

        Parameters
        ----------
        **params : dict
            Values by name; an old name of a parameter warns.

        Returns
        -------
        self : estimator
        """
        return super().set_params(**current_names(type(self), params))

    def save(self, path: str | bytes | os.PathLike[str]) -> None:
        """Write the model to a safetensors file, which `likewise.load` reads.

        Parameters
        ----------
        path : str or path
            The file; it appears whole or not at all.
        """
        _files.save(self, path)

    def estimate(
        self, X: TableLike, y: ArrayLike | None = None, *, n_pairs: int | None = None
    ) -> Estimate:
        """Estimate the time and memory of a fit, without fitting.

        Fits of a metric within it count; those of learners of other packages do not.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Only its shape and type count, and whether it is a memory map or a Dask array. The
            time is that of processors in one process, also for tensors and Dask arrays.
        y : array-like of shape (n_samples,), optional
            Labels, of which the number of classes counts; two by default.
        n_pairs : int, optional
            Pairs for `fit_pairs`, in place of labels.

        Returns
        -------
        Estimate
            Seconds and bytes; `interval` has the uncertainty of the seconds, which is a factor of
            2 either way for most methods, and of 4 where the number of iterations varies more.

        Examples
        --------
        >>> import numpy as np, likewise as lw
        >>> small, large = np.zeros((100, 5)), np.zeros((10_000, 5))
        >>> lw.NCA().estimate(small).seconds < lw.NCA().estimate(large).seconds
        True
        """
        self._check_parameters()
        return estimate_fit(self, X, y, n_pairs)

    def _nested_fits(self, n_pairs: int) -> Sequence[NestedFit]:
        """Return the fits of other learners that a fit takes, from labels if `n_pairs` is 0."""
        return ()

    @property
    def _repr_html_(self) -> Callable[[], str]:
        """What notebooks show: scikit-learn's diagram, below a summary of the fit."""
        diagram = super()._repr_html_  # raises AttributeError where scikit-learn shows text
        return lambda: notebook_summary(self) + diagram()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] = notebook_summary(self) + bundle["text/html"]
        return bundle

    def _check_state(self) -> None:
        """Raise a ValueError if the attributes, which come from a file, are not those of a model.

        A model that is not fitted has none.
        """
        if "n_features_in_" in vars(self):
            require_count(self.n_features_in_, least=1)

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
        """Run `solver` with the progress bar and scikit-learn's callbacks.

        `fitted` turns an iterate into the attributes of a usable model, for callbacks. `max_iter`
        overrides the parameter where that may be None. Sets `objective_`, `n_iter_`, `converged_`
        and `history_`. If the last solver of a fit did not converge, the fit ends with a warning.
        """
        chosen: Any = self  # whoever has a solver has these parameters
        title, shown = type(self).__name__, bool(chosen.verbose)
        max_iter = max_iter or chosen.max_iter
        tol = chosen.tol
        # Limited once per fit: for small problems, limiting BLAS in every product would take
        # longer than the products.
        with single_threaded_blas(), progress(title, max_iter, shown=shown) as report:
            began = time.perf_counter()
            timed = [(0, 0.0)]  # iterations, and seconds since the start

            def watcher(iteration: Iteration) -> bool:
                timed.append((iteration.number, time.perf_counter() - began))
                excess = iteration.gap / tol if iteration.gap and tol else None
                report(iteration.number, excess, objective=iteration.value)
                return self._call_back(functools.partial(fitted, iteration.x)) or out_of_time()

            found = solver(problem, start, max_iter=max_iter, watcher=watcher, **options)
        if found.status == "failed":
            raise ValueError(
                f"{type(self).__name__} found no finite objective at its start "
                f"({found.value}); the features may be too large: scale them."
            )
        self.__dict__.pop("_not_converged", None)
        if found.status != "converged":
            late = found.status == "interrupted" and out_of_time()
            how = _STATUS_MESSAGES["time" if late else found.status].format(n_iter=found.n_iter)
            if found.gap is not None:
                how += f" (relative duality gap {found.gap:.2g})"
            self._not_converged = f"{type(self).__name__} {how}."
        self.objective_ = float(found.value)
        self.n_iter_ = found.n_iter
        self.converged_ = found.status == "converged"
        self.history_ = dict(found.history)
        self._history_seconds = _seconds_of(self.history_, found.n_iter, timed)
        return found

    def _call_back(self, fitted: Callable[[], dict[str, Any]]) -> bool:
        """Call scikit-learn's callbacks at the end of an iteration; True requests a stop."""
        task = getattr(self, "_callback_fit_ctx", None)
        if task is None:
            return False
        step = task.subcontext(task_name="iteration")
        step.call_on_fit_task_begin(estimator=self)
        return bool(step.call_on_fit_task_end(estimator=self, reconstruction_attributes=fitted))


def _seconds_of(
    history: Mapping[str, Array], n_iter: int, timed: Sequence[tuple[int, float]]
) -> FloatArray:
    """Return the seconds after which each entry of a history was recorded.

    Entries that no watcher saw, such as a last step after it, are interpolated. The seconds are not
    in `history_`: the same fit has the same history.
    """
    n_entries = len(history.get("objective", ()))
    first = 0 if n_entries > n_iter else 1  # some solvers record their start as well
    numbers = history.get("n_iter", np.arange(first, first + n_entries))
    iterations, seconds = np.array(timed, dtype=np.float64).T
    return np.asarray(np.interp(numbers, iterations, seconds))
