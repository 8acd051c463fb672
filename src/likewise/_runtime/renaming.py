"""Old names of arguments and functions: they warn until a release, and raise from it on.

What was renamed stays declared: model files of earlier releases have the old names of parameters,
and load for ever.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar, cast

from likewise._runtime.validation import warn_user

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
_RELEASE = re.compile(r"\d+\.\d+(\.\d+)?")


@dataclass(frozen=True)
class Renaming:
    """One renamed argument, and the release from which on the old name is an error."""

    old: str
    new: str
    until: str

    def __post_init__(self) -> None:
        if not _RELEASE.fullmatch(self.until):
            raise ValueError(
                f"until={self.until!r} is not allowed: a release such as '1.0' is needed."
            )

    def announce(self, subject: str) -> None:
        """Warn that `subject` has a new name, or raise a TypeError if the time is over."""
        if _numbers(_installed_release()) >= _numbers(self.until):
            raise TypeError(f"{subject} was removed in likewise {self.until}: use {self.new}.")
        warn_user(
            f"{subject} is now called {self.new}, and its old name will be removed in likewise "
            f"{self.until}.",
            FutureWarning,
        )


def renamed(
    old: str, new: str, *, until: str
) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """Decorate a function, a method or the ``__init__`` of an estimator that renamed an argument.

    The old name is accepted as a keyword, with a FutureWarning, until the release `until`, and
    raises a TypeError from it on. Of an estimator, `set_params` takes it as well, and model files
    with the old name load without a warning, also after that release.

    Parameters
    ----------
    old, new : str
        The names; the function has only the new one.
    until : str
        The release that removes the old name, such as "1.0".

    Examples
    --------
    >>> @renamed("k", "n_neighbors", until="99.0")
    ... def nearest(n_neighbors=3):
    ...     return n_neighbors
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     nearest(k=5)
    5
    >>> print(caught[0].message)
    nearest: the argument k is now called n_neighbors, and its old name will be removed in likewise
    99.0.
    """
    renaming = Renaming(old, new, until)

    def decorate(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        signature = inspect.signature(function)
        if new not in signature.parameters or old in signature.parameters:
            raise ValueError(
                f"{_owner(function)} must have the argument {new} and no argument {old}, but it "
                f"has {', '.join(signature.parameters) or 'none'}."
            )

        @functools.wraps(function)
        def accept_old_name(*args: Any, **kwargs: Any) -> Any:
            if old in kwargs:
                positional = signature.bind_partial(*args).arguments
                kwargs = _translated(renaming, _owner(function), kwargs, positional)
            return cast("Any", function)(*args, **kwargs)

        cast("Any", accept_old_name).renamings = (*_renamings(function), renaming)
        return cast("Callable[Arguments, Result]", accept_old_name)

    return decorate


def renamed_function(
    function: Callable[Arguments, Result], old: str, *, until: str
) -> Callable[Arguments, Result]:
    """Return a function of the old name: it calls `function` with a FutureWarning.

    From the release `until` on it raises a TypeError. Leave it out of ``__all__``.

    Parameters
    ----------
    function : callable
        The function under its new name.
    old : str
        Its old name.
    until : str
        The release that removes the old name, such as "1.0".

    Examples
    --------
    >>> def nearest():
    ...     return 3
    >>> closest = renamed_function(nearest, "closest", until="99.0")
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     closest()
    3
    """
    new = _owner(function)
    renaming = Renaming(old, new, until)

    @functools.wraps(function)
    def call_under_old_name(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        renaming.announce(old)
        return function(*args, **kwargs)

    call_under_old_name.__name__ = call_under_old_name.__qualname__ = old
    call_under_old_name.__doc__ = f"Old name of `{new}`, to be removed in likewise {until}."
    return call_under_old_name


def current_names(
    function: Callable[..., Any], given: Mapping[str, Any], *, announced: bool = True
) -> dict[str, Any]:
    """Return keyword arguments of a function, or of a class, under their current names.

    With `announced`, old names warn or raise, as in a call; otherwise they do neither.
    """
    names = dict(given)
    for renaming in _renamings(function):
        if renaming.old in names:
            names = _translated(renaming, _owner(function), names, {}, announced=announced)
    return names


def _translated(
    renaming: Renaming,
    owner: str,
    given: Mapping[str, Any],
    positional: Mapping[str, Any],
    *,
    announced: bool = True,
) -> dict[str, Any]:
    old, new = renaming.old, renaming.new
    if new in given or new in positional:
        raise TypeError(f"{owner} got both {new} and {old}, its old name: give {new} only.")
    if announced:
        renaming.announce(f"{owner}: the argument {old}")
    return {new if name == old else name: value for name, value in given.items()}


def _renamings(function: Callable[..., Any]) -> tuple[Renaming, ...]:
    called = cast("Any", function).__init__ if isinstance(function, type) else function
    return getattr(called, "renamings", ())


def _owner(function: Callable[..., Any]) -> str:
    """Return what a user calls: the class in place of its ``__init__``."""
    name = getattr(function, "__qualname__", repr(function)).rpartition("<locals>.")[2]
    return name.removesuffix(".__init__")


def _installed_release() -> str:
    from likewise._runtime.version import __version__

    return __version__


def _numbers(release: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", release)[:2])
