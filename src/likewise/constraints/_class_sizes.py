"""Whether classes have enough rows for the neighbours that are asked for."""

from __future__ import annotations

import numpy as np

from likewise._runtime.arrays import Array, IndexArray
from likewise._runtime.text import quote
from likewise._runtime.validation import (
    at_least,
    check_parameters,
    pluralize,
    warn_user,
)

_CLASSES_NAMED = 3


def check_class_sizes(
    codes: IndexArray, classes: Array, n_neighbors: int, name: str = "n_neighbors"
) -> None:
    """Warn of classes in which a row has fewer than `n_neighbors` others.

    Raises an error if no row has so many, or if no class has two rows; `name` is the parameter's
    name.
    """
    check_sizes(np.bincount(codes, minlength=len(classes)), classes, n_neighbors, name)


def check_sizes(
    sizes: IndexArray, classes: Array, n_neighbors: int, name: str = "n_neighbors"
) -> None:
    """Do the same for the number of rows of each class."""
    check_parameters("a search", {name: n_neighbors}, {name: at_least(1)})
    n_rows = int(sizes.sum())
    if n_neighbors >= n_rows:
        raise ValueError(
            f"{name}={n_neighbors} is not allowed: X has {pluralize(n_rows, 'row')}, and a row "
            "is not its own neighbour."
        )
    if sizes.max() == 1:
        raise ValueError("Every class has 1 row, but at least one class needs 2.")
    small = np.flatnonzero(sizes <= n_neighbors)
    if not len(small):
        return
    named = [
        f"{quote(classes[code])} ({pluralize(int(sizes[code]), 'row')})"
        for code in small[:_CLASSES_NAMED]
    ]
    if len(small) > len(named):
        named.append(f"{len(small) - len(named)} more")
    have = "1 class has" if len(small) == 1 else f"{len(small)} classes have"
    warn_user(
        f"{name}={n_neighbors} needs {n_neighbors + 1} rows in every class, but {have} fewer: "
        f"{', '.join(named)}. Such rows have as many neighbours of their class as there are."
    )


def check_other_classes(codes: IndexArray, classes: Array, count: int, name: str) -> None:
    """Warn of classes outside which there are fewer than `count` rows.

    Raises an error if that is so for every class; `name` is the parameter's name.
    """
    check_parameters("a search", {name: count}, {name: at_least(1)})
    if len(classes) < 2:
        raise ValueError(f"y has one class ({quote(classes[0])}), but at least 2 are needed.")
    n_others = len(codes) - np.bincount(codes)
    if n_others.max() < count:
        raise ValueError(
            f"{name}={count} is not allowed: a row has at most "
            f"{pluralize(int(n_others.max()), 'row')} of other classes."
        )
    if n_others.min() < count:
        largest = quote(classes[n_others.argmin()])
        warn_user(
            f"{name} is {count}, but class {largest} has "
            f"{pluralize(int(n_others.min()), 'row')} outside it. Its rows are paired with all of "
            "them."
        )
