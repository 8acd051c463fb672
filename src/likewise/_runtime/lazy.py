"""Packages that import their parts on first use (PEP 562)."""

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any


def lazy_package(
    package: str, attributes: Mapping[str, Iterable[str]], submodules: Iterable[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package that imports its parts on first use.

    Type checkers do not see these names: import them under ``TYPE_CHECKING`` as well.

    Parameters
    ----------
    package : str
        The package's ``__name__``.
    attributes : mapping from str to iterable of str
        The modules of the package and the public names that each of them defines.
    submodules : iterable of str
        The modules that are public themselves.

    Returns
    -------
    getattr : callable
        Imports the module of a name and returns its value, which becomes an attribute of the
        package; raises AttributeError for any other name.
    dir : callable
        Returns the public names, whether imported or not.

    Examples
    --------
    >>> get, names = lazy_package("json", {"decoder": ["JSONDecoder"]}, ["tool"])
    >>> get("JSONDecoder")
    <class 'json.decoder.JSONDecoder'>
    >>> names()
    ['JSONDecoder', 'tool']
    """
    public = set(submodules)
    modules = {name: module for module, names in attributes.items() for name in names}

    def getattr_(name: str) -> Any:
        if name in modules:
            value = getattr(import_module(f"{package}.{modules[name]}"), name)
            setattr(sys.modules[package], name, value)
            return value
        if name in public:
            return import_module(f"{package}.{name}")
        raise AttributeError(
            f"module {package!r} has no attribute {name!r}", name=name, obj=sys.modules[package]
        )

    def dir_() -> list[str]:
        return sorted(public.union(modules))

    return getattr_, dir_
