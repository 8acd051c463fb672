"""The loops that NumPy has no single call for, by family.

Each family is a package: `reference` defines its loops in NumPy, `compiled` calls the C++ in
``native/``, and `types` has the types and argument checks that both use. The ``__all__`` of a
family lists its loops. `LOOPS` is the registry of all; each loop is an attribute of this module.
`backend` chooses once between the compiled loops and their NumPy twins; the environment variable
``LIKEWISE_LOOPS`` overrides it.
"""
# ruff: noqa: F403 - every name in a family's __all__ is a loop, and is exported here

from types import ModuleType

from likewise._loops import classifiers, distances, hinges, pairs, softmax, sweeps
from likewise._loops.backend import BACKEND as BACKEND
from likewise._loops.classifiers import *
from likewise._loops.distances import *
from likewise._loops.hinges import *
from likewise._loops.pairs import *
from likewise._loops.softmax import *
from likewise._loops.sweeps import *

LOOPS: dict[str, ModuleType] = {
    name: family
    for family in (classifiers, distances, hinges, pairs, softmax, sweeps)
    for name in family.__all__
}
"""The family of each loop, by the loop's name."""
