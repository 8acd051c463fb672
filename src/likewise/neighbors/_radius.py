"""All points of another class within a radius."""

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from likewise import _loops
from likewise._loops.distances.types import PairLimit, check_scan
from likewise._runtime.arrays import Array, FloatArray, IndexArray
from likewise._runtime.kernel_check import has_kernels
from likewise._runtime.tensors import device_memory_errors, is_tensor
from likewise._runtime.threads import count_threads, run_blocks
from likewise._runtime.validation import warn_of_gradient
from likewise.neighbors._arguments import Algorithm, as_finite_matrix, use_tree

# Up to this many features, and from this many rows on, trees beat comparing all rows (measured);
# there is one tree per class, queried by the rows of all others, so more classes need more rows.
_TREE_FEATURES = 3
_TREE_MIN_ROWS = 300_000
_TREE_MIN_ROWS_PER_CLASS = 60_000
_TREE_LEAF = 16
_TREE_ROWS = 4096
_FIRST_NEIGHBOURS = 4
_MAX_CANDIDATES = 1 << 20  # candidates in memory at a time


def within_radius_of_other_class(
    Z: ArrayLike,
    labels: ArrayLike,
    radius2: ArrayLike,
    *,
    max_pairs: int | None = None,
    algorithm: Algorithm = "auto",
    n_jobs: int | None = None,
) -> tuple[IndexArray, IndexArray, FloatArray]:
    """Return the pairs of rows of different class that are nearer than the first row's radius.

    Parameters
    ----------
    Z : array of shape (n, d)
        Or a tensor of PyTorch: the search runs on its device, and returns tensors.
    labels : integer array of shape (n,)
    radius2 : array of shape (n,) or a number
        Squared radii; a pair is returned if its squared distance is strictly less.
    max_pairs : int or None
        If there are more pairs than this, stop early and raise `TooManyPairs`.
    algorithm : {"auto", "brute", "tree"}
        Compare all rows, or search a tree of each class, which is faster for many rows of few
        features; "auto" chooses. The result does not depend on it.
    n_jobs : int or None
        Threads; None for all cores. The result does not depend on it.

    Returns
    -------
    rows, cols : int64 arrays of shape (m,)
        Sorted by row, then by column. A pair stands in both orders if both radii reach.
    sqdist : float64 array of shape (m,)

    Examples
    --------
    >>> rows, cols, sqdist = within_radius_of_other_class(
    ...     [[0.0], [1.0], [3.0]], labels=[0, 1, 0], radius2=[1.5, 4.5, 0.5]
    ... )
    >>> rows, cols, sqdist
    (array([0, 1, 1]), array([1, 0, 2]), array([1., 1., 4.]))
    """
    if is_tensor(Z):
        warn_of_gradient(Z, "Z")
        with device_memory_errors("within_radius_of_other_class", "pass arrays"):
            return _search_tensors(Z, labels, radius2, max_pairs)
    rows = as_finite_matrix("Z", Z)
    codes = np.asarray(labels)
    if codes.dtype.kind not in "iub":
        raise ValueError(f"labels must be integer codes, but they are {codes.dtype}.")
    radii = np.asarray(radius2, dtype=np.float64)
    radii = np.full(len(rows), radii) if radii.ndim == 0 else radii
    codes, radii = np.ascontiguousarray(codes, dtype=np.int64), np.ascontiguousarray(radii)
    scan = _scan_trees if use_tree(algorithm, _trees_win(rows, codes)) else _loops.radius_scan
    return scan(rows, codes, radii, max_pairs=max_pairs, n_jobs=n_jobs)


def _search_tensors(
    Z: Any, labels: Any, radius2: Any, max_pairs: int | None
) -> tuple[Any, Any, Any]:
    """Do it on the device of Z: by a kernel of Triton where one works, else by PyTorch."""
    from likewise.neighbors import _torch_radius

    Z = Z.detach()
    arguments = (Z, *_torch_radius.checked(Z, labels, radius2))
    if has_kernels(Z.device):
        from likewise.neighbors import _triton_radius

        if _triton_radius.CHECK.passes(Z.device, _triton_radius.padded_depth(Z.shape[1])):
            return _triton_radius.within_radius_of_other_class(*arguments, max_pairs=max_pairs)
    return _torch_radius.within_radius_of_other_class(*arguments, max_pairs=max_pairs)


def _trees_win(rows: Array, codes: IndexArray) -> bool:
    """Return whether rows are many and features few enough for trees to be faster."""
    if rows.shape[1] > _TREE_FEATURES or len(rows) < _TREE_MIN_ROWS:
        return False
    return len(rows) >= _TREE_MIN_ROWS_PER_CLASS * len(np.unique(codes))


def _scan_trees(
    Z: Array, labels: IndexArray, radius2: FloatArray, *, max_pairs: int | None, n_jobs: int | None
) -> tuple[IndexArray, IndexArray, FloatArray]:
    """Do what `_loops.radius_scan` does with a tree of each class."""
    from scipy.spatial import KDTree

    check_scan(Z, labels, radius2, max_pairs)
    limit = PairLimit(max_pairs, len(Z) * (len(Z) - 1))
    lock = threading.Lock()
    count_threads(n_jobs)  # raises for a bad number before any work
    centred, reach = _centred_and_reach(Z, radius2)
    parts: list[tuple[IndexArray, IndexArray, FloatArray]] = []
    for label in np.unique(labels):
        members, others = np.flatnonzero(labels == label), np.flatnonzero(labels != label)
        tree = KDTree(centred[members], leafsize=_TREE_LEAF)

        def search(
            start: int,
            stop: int,
            tree: Any = tree,
            members: IndexArray = members,
            others: Any = others,
        ) -> None:
            for rows, columns in _within_reach(tree, centred, reach, others[start:stop]):
                cols = members[columns]
                sqdist = _loops.pair_sqdist(Z, rows, cols, n_jobs=1)
                inside = sqdist < radius2[rows]
                with lock:
                    parts.append((rows[inside], cols[inside], sqdist[inside]))
                    limit.check(sum(len(part[0]) for part in parts))

        run_blocks(search, len(others), _TREE_ROWS, n_jobs)
    if not parts:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
    rows, cols, sqdist = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.lexsort((cols, rows))
    return rows[order], cols[order], sqdist[order]


def _within_reach(
    tree: Any, points: FloatArray, reach: FloatArray, asked: IndexArray
) -> Iterator[tuple[IndexArray, IndexArray]]:
    """Yield pairs (asked row, row of the tree) that are within reach, in parts of bounded size.

    Queries a few nearest neighbours first, and more where all of those are within reach.
    """
    k = min(_FIRST_NEIGHBOURS, tree.n)
    while len(asked):
        farther = []
        for part in np.array_split(asked, -(-len(asked) * k // _MAX_CANDIDATES)):
            distance, column = tree.query(
                points[part], np.arange(1, k + 1), distance_upper_bound=reach[part].max() * 2
            )
            within = distance <= reach[part, None]
            more = within[:, -1] & (k < tree.n)
            farther.append(part[more])
            row, place = np.nonzero(within & ~more[:, None])
            yield part[row], column[row, place]
        asked = np.concatenate(farther)
        k = min(4 * k, tree.n)


def _centred_and_reach(Z: Array, radius2: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return rows near the origin, at most 1 from it in each feature, and radii a little too wide.

    Centring moves a row by 2^-53 of itself and the tree's sums are off by as much per feature, so
    that what is strictly inside stays inside of the wider radius. Exact distances are not scaled:
    each of their squares may underflow, by half of 2^-1074.
    """
    n_features = Z.shape[1]
    centred = Z - Z.mean(axis=0, dtype=np.float64)
    widest = float(np.abs(centred).max(initial=0.0))
    scale = 2.0 ** -np.clip(np.frexp(widest)[1], -500, 500) if widest > 0 else 1.0
    centred *= scale
    farthest = 4.0 * n_features**0.5
    with np.errstate(over="ignore"):
        wide = np.maximum(radius2, 0) + n_features * 2.0**-1074
        reach = np.minimum(np.sqrt(wide) * scale, farthest)
    return centred, reach + (n_features + 8) * 2.0**-49
