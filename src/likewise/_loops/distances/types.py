"""Limits and argument checks of the loops over distances."""

from collections.abc import Iterable
from typing import NamedTuple, Protocol

import numpy as np

from likewise._loops.checks import check_vector
from likewise._runtime.arrays import FloatArray, FloatingArray, IndexArray
from likewise._runtime.memory import UNCHECKED_BYTES, allowed_memory

# Memory per pair while the search runs: 17 bytes found, 24 returned.
BYTES_PER_PAIR = 41


class TooManyPairs(RuntimeError):  # noqa: N818 - it reads as what happened, and callers catch it
    """A search found more pairs than the limit; it stopped early and returned none.

    Parameters
    ----------
    max_pairs : int
        The limit.
    """

    def __init__(self, max_pairs: int) -> None:
        super().__init__(f"The search found more than max_pairs={max_pairs} pairs.")
        self.max_pairs = max_pairs

    def __reduce__(self) -> tuple[type["TooManyPairs"], tuple[int]]:
        return TooManyPairs, (self.max_pairs,)


class PairsFound(NamedTuple):
    """Pairs that a search found, with their squared distances.

    Those of a radius search are sorted by row and column.
    """

    rows: IndexArray
    cols: IndexArray
    sqdist: FloatArray

    @classmethod
    def none(cls) -> "PairsFound":
        """Return no pairs."""
        nothing = np.empty(0, dtype=np.int64)
        return cls(nothing, nothing, np.empty(0))

    @classmethod
    def joined(cls, parts: Iterable["PairsFound"]) -> "PairsFound":
        """Return the pairs of all parts, one after the other."""
        return cls(*map(np.concatenate, zip(cls.none(), *parts, strict=True)))


class Packed(Protocol):
    """Rows that were prepared for scans, by the compiled loops or by their twins."""

    @property
    def Z(self) -> FloatingArray:  # noqa: N802 - the rows are Z everywhere
        """The rows."""
        ...

    @property
    def labels(self) -> IndexArray:
        """The label of each row."""
        ...

    @property
    def order(self) -> IndexArray:
        """The rows by label; near rows are near each other if the frame has axes."""
        ...

    def with_radius2(self, radius2: FloatArray) -> "Packed":
        """Return the same rows with other radii."""
        ...


class PairLimit:
    """The number of pairs that a search may return: the caller's limit, and that of the memory.

    Parameters
    ----------
    max_pairs : int or None
        The caller's limit; None is no limit.
    possible : int
        The number of pairs that there can be. The free memory is not read where all of them take at
        most `UNCHECKED_BYTES`.
    """

    def __init__(self, max_pairs: int | None, possible: int) -> None:
        self.wanted = max_pairs
        self.pairs = possible if max_pairs is None else min(max_pairs, possible)
        if self.pairs * BYTES_PER_PAIR > UNCHECKED_BYTES:
            allowed = allowed_memory()
            if allowed is not None:
                self.pairs = min(self.pairs, allowed // BYTES_PER_PAIR)

    def check(self, found: int) -> None:
        """Raise if ``found`` pairs are too many."""
        if self.wanted is not None and found > self.wanted:
            raise TooManyPairs(self.wanted)
        if found > self.pairs:
            raise MemoryError(
                f"The radius search found more than {self.pairs} pairs, which is all that fits "
                "in the free memory, or in max_memory; make the radii smaller or pass max_pairs."
            )


def check_rows(name: str, Z: FloatingArray) -> None:
    """Raise unless Z is a C-contiguous float matrix; a silent copy would hide its cost."""
    if not isinstance(Z, np.ndarray) or Z.dtype not in (np.float32, np.float64):
        found = getattr(Z, "dtype", type(Z).__name__)
        raise TypeError(f"{name} must be a float32 or float64 array, but it is {found}.")
    if Z.ndim != 2 or not Z.flags.c_contiguous:
        raise TypeError(
            f"{name} must be a C-contiguous matrix, but its shape is {Z.shape} and its strides "
            f"are {Z.strides}."
        )


def check_points(Z: FloatingArray, points: FloatingArray | None) -> FloatingArray:
    """Return the matrix that ``cols`` index: ``points``, or Z itself for None."""
    check_rows("Z", Z)
    if points is None:
        return Z
    check_rows("points", points)
    if points.dtype != Z.dtype or points.shape[1] != Z.shape[1]:
        raise TypeError(
            f"points must be {Z.dtype} with {Z.shape[1]} features, as Z is, but it is "
            f"{points.dtype} with {points.shape[1]}."
        )
    return points


def check_pairs(rows: IndexArray, cols: IndexArray, n_rows: int, n_cols: int) -> None:
    """Raise unless rows and cols are int64 vectors of equal length and within range."""
    check_pair_arrays(rows, cols)
    for name, index, n in (("rows", rows, n_rows), ("cols", cols, n_cols)):
        if len(index) and not (index.min() >= 0 and index.max() < n):
            raise IndexError(
                f"{name} must lie in 0 to {n - 1}, but they run from {index.min()} to "
                f"{index.max()}."
            )


def check_pair_arrays(rows: IndexArray, cols: IndexArray) -> None:
    """Raise unless rows and cols are int64 vectors of equal length."""
    for name, index in (("rows", rows), ("cols", cols)):
        check_vector(name, index, np.int64)
    if len(rows) != len(cols):
        raise ValueError(
            f"rows and cols must have the same length, but have {len(rows)} and {len(cols)}."
        )


def check_weights(weights: FloatArray, n_pairs: int) -> None:
    """Raise unless weights has one float64 per pair."""
    check_vector("weights", weights, np.float64)
    if len(weights) != n_pairs:
        raise ValueError(f"weights must hold {n_pairs} values, one per pair, not {len(weights)}.")


def check_scan(
    Z: FloatingArray, labels: IndexArray, radius2: FloatArray, max_pairs: int | None
) -> None:
    """Raise unless the arguments of `radius_scan` are valid."""
    check_rows("Z", Z)
    check_vector("labels", labels, np.int64)
    check_vector("radius2", radius2, np.float64)
    for name, values in (("labels", labels), ("radius2", radius2)):
        if len(values) != len(Z):
            raise ValueError(
                f"{name} must hold {len(Z)} values, one per row of Z, not {len(values)}."
            )
    if np.isnan(radius2).any():
        raise ValueError("radius2 must not hold NaN, but it does.")
    if max_pairs is not None and max_pairs < 0:
        raise ValueError(f"max_pairs must be None or at least 0, but it is {max_pairs}.")


def check_groups(values: FloatArray, start: IndexArray, k: int) -> None:
    """Raise unless `start` divides the values into groups, and k is at least 1."""
    check_vector("values", values, np.float64)
    check_vector("start", start, np.int64)
    if (
        not (len(start) and start[0] == 0 and start[-1] == len(values))
        or (np.diff(start) < 0).any()
    ):
        raise ValueError(f"start must rise from 0 to {len(values)}, the number of values.")
    if k < 1:
        raise ValueError(f"k must be at least 1, but it is {k}.")


def bounds(Z: FloatingArray) -> tuple[FloatArray, FloatArray]:
    """Return the minimum and maximum of every feature; raise if Z is not finite or too large."""
    low, high = Z.min(axis=0).astype(np.float64), Z.max(axis=0).astype(np.float64)
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        raise ValueError("Z must be finite, but it holds NaN or infinity.")
    if max(-low.min(initial=0), high.max(initial=0)) > 1e300:
        raise ValueError("Z must lie within ±1e300, but it holds larger values.")
    return low, high
