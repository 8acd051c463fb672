"""Packages that only some targets need."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType


def require(module: str, target: str) -> ModuleType:
    """Import a package that a target needs, or raise an ImportError that names the extra."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(
            f'export to {target} needs {module}, which comes with pip install "likewise[export]"'
        ) from error
