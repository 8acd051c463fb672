"""Stratified folds that keep groups of rows together."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from likewise._runtime.arrays import BoolArray, IndexArray
from likewise._runtime.validation import at_least, check_parameters, encode_labels


def rows_to_test(y: ArrayLike, groups: ArrayLike | None = None) -> BoolArray:
    """Return which rows can be tested: those whose class also occurs in another group.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Labels.
    groups : array-like of shape (n_rows,), optional
        The group of each row; by default each row is a group of its own.

    Returns
    -------
    array of bool of shape (n_rows,)

    Examples
    --------
    >>> from likewise.statistics import rows_to_test
    >>> rows_to_test(["a", "b", "a", "c", "c"])
    array([ True, False,  True,  True,  True])
    """
    codes, units = _codes_and_groups(y, groups)
    classes_and_groups = np.unique(np.column_stack([codes, units]), axis=0)
    n_groups_of_class = np.bincount(classes_and_groups[:, 0])
    testable: BoolArray = n_groups_of_class[codes] > 1
    return testable


def stratified_folds(
    y: ArrayLike,
    n_folds: int = 5,
    *,
    groups: ArrayLike | None = None,
    random_state: int | np.random.Generator = 0,
) -> IndexArray:
    """Return the fold of each row, with the classes spread evenly over random folds.

    All rows of a group are in one fold. Rows of classes that occur in one group only cannot be
    tested; a group that has no other rows belongs to no fold, so that it is always trained on.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Labels.
    n_folds : int, default=5
        Number of folds.
    groups : array-like of shape (n_rows,), optional
        The group of each row; by default each row is a group of its own.
    random_state : int or Generator, default=0
        Decides the folds.

    Returns
    -------
    array of int of shape (n_rows,)
        0 … `n_folds` - 1, or -1 for rows in no fold.

    Examples
    --------
    >>> from likewise.statistics import stratified_folds
    >>> folds = stratified_folds(["a", "b"] * 10 + ["c"])
    >>> [(folds == fold).sum().item() for fold in range(5)], folds[-1].item()
    ([4, 4, 4, 4, 4], -1)
    """
    check_parameters("stratified_folds", {"n_folds": n_folds}, {"n_folds": at_least(2)})
    rng = np.random.default_rng(random_state)
    codes, units = _codes_and_groups(y, groups)
    testable = rows_to_test(codes, units)
    assigned = np.full(units.max() + 1, -1)
    members = np.unique(units[testable])
    if len(members) < n_folds:
        what = "rows" if groups is None else "groups"
        raise ValueError(
            f"y has {len(members)} {what} of classes that occur in two or more {what}, but "
            f"{n_folds} folds need at least {n_folds}."
        )
    if groups is None:
        order = rng.permutation(members)
        order = order[np.argsort(codes[order], kind="stable")]
        assigned[order] = np.arange(len(order)) % n_folds
    else:
        assigned[members] = _spread_groups(codes, units, members, n_folds, rng)
    return assigned[units]


def _spread_groups(
    codes: IndexArray,
    units: IndexArray,
    members: IndexArray,
    n_folds: int,
    rng: np.random.Generator,
) -> IndexArray:
    """Assign each group to the fold that has the smallest part of its classes so far."""
    counts = np.zeros((units.max() + 1, codes.max() + 1))
    np.add.at(counts, (units, codes), 1)
    shares = counts[members] / counts.sum(axis=0)
    sizes = counts[members].sum(axis=1)
    # Large groups first, as small ones can make up for them; the order of groups of about the same
    # size is random, since it decides the folds.
    order = rng.permutation(len(members))
    order = order[np.argsort(-np.floor(np.log2(sizes[order])), kind="stable")]
    filled = np.zeros((n_folds, shares.shape[1]))
    n_rows = np.zeros(n_folds)
    assigned = np.empty(len(members), dtype=np.intp)
    for group in order:
        fold = np.lexsort([n_rows, filled @ shares[group]])[0]
        assigned[group] = fold
        filled[fold] += shares[group]
        n_rows[fold] += sizes[group]
    return assigned


def _codes_and_groups(y: ArrayLike, groups: ArrayLike | None) -> tuple[IndexArray, IndexArray]:
    _, codes = encode_labels(y)
    if groups is None:
        return codes, np.arange(len(codes))
    given = np.asarray(groups)
    if given.shape != codes.shape:
        raise ValueError(
            f"groups has shape {given.shape}, but there must be one for each of the {len(codes)} "
            "rows."
        )
    return codes, encode_labels(given)[1]
