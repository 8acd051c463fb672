"""What all estimators share: parameter validation, model files, progress and callbacks."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, ParamSpec, TypeVar, cast

from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from likewise import _files
from likewise._runtime.arrays import Array
from likewise._runtime.invariants import require_count
from likewise._runtime.progress import progress
from likewise._runtime.threads import single_threaded_blas
from likewise._runtime.validation import Rule, check_parameters, warn_user
from likewise.solvers import Iteration, Solution

try:  # scikit-learn 1.9 brought callbacks; older releases work without them.
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in where scikit-learn has no callbacks."""

    def with_callbacks(method: Any) -> Any:
        """Leave `method` as it is."""
        return method


Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

_STATUS_MESSAGES = {
    "max_iter": "stopped after max_iter={n_iter} iterations without converging",
    "stalled": "could not make further progress after {n_iter} iterations before converging",
    "interrupted": "was interrupted after {n_iter} iterations; the best metric so far is kept",
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
    @with_callbacks  # type: ignore[untyped-decorator]
    @functools.wraps(fit)
    def fit_with_callbacks(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        self._check_parameters()
        task = None
        if hasattr(self, "_init_callback_context"):
            max_iter = getattr(self, "max_iter", 0)
            max_subtasks = max_iter and max_iter * getattr(self, "n_passes", 1)
            task = self._init_callback_context(max_subtasks=max_subtasks)
            task.call_on_fit_task_begin(estimator=self, X=X)
        fitted = fit(self, X, *args, **kwargs)
        # Once per fit, however often a solver ran.
        not_converged = vars(self).pop("_not_converged", None)
        if not_converged is not None:
            warn_user(not_converged, ConvergenceWarning)
        if task is not None:
            task.call_on_fit_task_end(estimator=self, X=X, reconstruction_attributes={})
        return fitted

    return cast("Callable[Arguments, Result]", fit_with_callbacks)


class Learner(CallbackSupportMixin, BaseEstimator):  # type: ignore[misc]
    """Base of all estimators: parameter validation, model files, solver runs and callbacks."""

    _rules: ClassVar[Mapping[str, Rule]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _files.register(cls)

    def save(self, path: str | bytes | os.PathLike[str]) -> None:
        """Write the model to a safetensors file, which `likewise.load` reads.

        Parameters
        ----------
        path : str or path
            The file; it appears whole or not at all.
        """
        _files.save(self, path)

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
        title, shown = type(self).__name__, bool(self.verbose)
        max_iter = max_iter or self.max_iter
        # Limited once per fit: for small problems, limiting BLAS in every product would take
        # longer than the products.
        with single_threaded_blas(), progress(title, max_iter, shown=shown) as report:

            def watcher(iteration: Iteration) -> bool:
                excess = iteration.gap / self.tol if iteration.gap and self.tol else None
                report(iteration.number, excess, objective=iteration.value)
                return self._call_back(functools.partial(fitted, iteration.x))

            found = solver(problem, start, max_iter=max_iter, watcher=watcher, **options)
        if found.status == "failed":
            raise ValueError(
                f"{type(self).__name__} found no finite objective at its start "
                f"({found.value}); the features may be too large: scale them."
            )
        self.__dict__.pop("_not_converged", None)
        if found.status != "converged":
            how = _STATUS_MESSAGES[found.status].format(n_iter=found.n_iter)
            if found.gap is not None:
                how += f" (relative duality gap {found.gap:.2g})"
            self._not_converged = f"{type(self).__name__} {how}."
        self.objective_ = float(found.value)
        self.n_iter_ = found.n_iter
        self.converged_ = found.status == "converged"
        self.history_ = dict(found.history)
        return found

    def _call_back(self, fitted: Callable[[], dict[str, Any]]) -> bool:
        """Call scikit-learn's callbacks at the end of an iteration; True requests a stop."""
        task = getattr(self, "_callback_fit_ctx", None)
        if task is None:
            return False
        step = task.subcontext(task_name="iteration")
        step.call_on_fit_task_begin(estimator=self)
        return bool(step.call_on_fit_task_end(estimator=self, reconstruction_attributes=fitted))
