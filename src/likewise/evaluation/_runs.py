"""All methods on all folds; a method that raises is not tried again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, TypeVar

from sklearn.base import clone

from likewise._runtime.interrupts import noticed_interrupts
from likewise.evaluation._trials import one_line

Progress = Callable[[int, int, str], None]
"""Called with the fits done, the fits in all, and what is running now."""


class Numbered(Protocol):
    """A fold of cross-validation."""

    @property
    def repeat(self) -> int:
        """The repeat, from 0."""

    @property
    def number(self) -> int:
        """The fold of the repeat, from 0."""


Fold = TypeVar("Fold", bound=Numbered)
Trial = TypeVar("Trial")
_Fold = TypeVar("_Fold", contravariant=True)
_Trial = TypeVar("_Trial")


class Kept(Protocol[_Fold, _Trial]):
    """Trials that survive the process."""

    def find(self, name: str, fold: _Fold) -> _Trial | str | None:
        """Return a trial that is done, why it failed, or None."""

    def keep(self, name: str, fold: _Fold, done: _Trial | str) -> None:
        """Write a trial, or why it failed."""


def run_methods(
    estimators: Mapping[str, Any],
    folds: Iterable[Fold],
    n_folds: int,
    attempt: Callable[[Any, Fold], Trial],
    progress: Progress | None,
    kept: Kept[Fold, Trial] | None = None,
) -> tuple[dict[str, list[Trial]], dict[str, str]]:
    """Return the trials of each method, fold by fold, and why methods failed.

    Parameters
    ----------
    estimators : mapping of str to unfitted estimator
    folds : iterable
        `n_folds` of them.
    n_folds : int
    attempt : callable
        Fits a copy of an estimator to a fold, and returns what it gave.
    progress : callable or None
    kept : object or None
        Has the trials that were done before, and gets those that are done.
    """
    steps = _Steps(progress, n_folds * len(estimators))
    trials: dict[str, list[Trial]] = {name: [] for name in estimators}
    failures: dict[str, str] = {}
    with noticed_interrupts() as check_interrupts:
        for fold in folds:
            for name, estimator in estimators.items():
                steps.begin(f"{name}, fold {fold.number + 1}, repeat {fold.repeat + 1}")
                if name not in failures:
                    done = None if kept is None else kept.find(name, fold)
                    if done is None:
                        try:
                            done = attempt(clone(estimator), fold)
                        except Exception as error:  # noqa: BLE001 - the others go on
                            done = one_line(f"{type(error).__name__}: {error}")
                        check_interrupts()
                        if kept is not None:
                            kept.keep(name, fold, done)
                    if isinstance(done, str):
                        failures[name] = done
                    else:
                        trials[name].append(done)
                steps.end()
    return trials, failures


class _Steps:
    """Reports which method is running and how many fits are done."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress, self._total, self._done, self._what = progress, total, 0, ""

    def begin(self, what: str) -> None:
        self._what = what
        self._tell()

    def end(self) -> None:
        self._done += 1
        self._tell()

    def _tell(self) -> None:
        if self._progress is not None:
            self._progress(self._done, self._total, self._what)
