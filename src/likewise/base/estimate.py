"""What a fit will cost: seconds and bytes, from the sizes of the data and the machine's rate.

The operations of a fit, counted by the formula of its method in `costs`, are divided by those that
one core does in a second. Fits of other learners within a fit count with it, and so does kernel PCA
before a fit in its coordinates.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from likewise._runtime.blocks import is_dask, is_read_in_blocks
from likewise._runtime.configuration import get_config
from likewise._runtime.memory import format_size
from likewise._runtime.tables import check_table
from likewise._runtime.tensors import is_tensor, to_numpy
from likewise._runtime.threads import count_threads, single_threaded_blas
from likewise._runtime.validation import TableLike, at_least, check_parameters, either, none
from likewise.base.costs import COSTS, UNCERTAINTY, Cost, Size
from likewise.base.kernel_costs import (
    KERNEL_PCA,
    coordinate_bytes,
    has_kernel,
    in_kernel_space,
    kernel_matrix_size,
)

_FIXED_BYTES = 4e6
_SIDE, _PRODUCTS = 384, 20
_SERIAL_SHARE = 0.1  # of the work of fits that take seconds: two threads use 1.75 to 1.9 cores
# The argument that says what a method of fitting learns from.
_SUPERVISION = {"fit": "y", "fit_pairs": "pairs", "fit_triplets": "triplets"}


@dataclass(frozen=True)
class Estimate:
    """Estimated cost of a fit; printed as a sentence.

    Attributes
    ----------
    seconds : float
        Processor time. On several cores it may take less on the clock.
    interval : tuple of float
        Half and twice of that for most methods, a quarter and four times where the number of
        iterations varies more with the data: `NCA`, `ITML`, `MCML`, `NCML`, `DoubletSVM`,
        `ComposedMetric`, `POLA`, `PairClassifier` and the online classifiers. That of `LDML` is
        wider, since only some fits need a Newton step. With a kernel the fewest are those of kernel
        PCA alone, since the kernel may have few directions; the most are those of a fit in as many
        as there can be.
    n_bytes : int
        Memory that is needed in addition to the data. For `LDML` and with a kernel it is the most.
    """

    seconds: float
    interval: tuple[float, float]
    n_bytes: int

    def __str__(self) -> str:
        low, high = map(_duration, self.interval)
        return (
            f"about {_duration(self.seconds)} of processor time ({low} to {high}) and "
            f"{format_size(self.n_bytes)} of memory"
        )

    @classmethod
    def of(cls, seconds: float, n_bytes: float, uncertainty: float = UNCERTAINTY) -> Estimate:
        """Return the estimate with its interval."""
        return cls(seconds, (seconds / uncertainty, seconds * uncertainty), int(n_bytes))


@dataclass(frozen=True)
class NestedFit:
    """Fits of another learner that a fit takes: how many, and to what share of rows and pairs."""

    learner: Any
    number: int = 1
    rows: float = 1.0
    pairs: float = 1.0


@dataclass(frozen=True)
class _Part:
    """So many equal fits of one learner, without those of others within them.

    Attributes
    ----------
    seconds : float
        Processor time of all of them.
    interval : tuple of float
        The fewest and the most seconds.
    n_bytes : float
        Memory of one of them.
    clock_share : float
        Time on the clock as a share of the processor time, by the threads of the learner.
    """

    seconds: float
    interval: tuple[float, float]
    n_bytes: float
    clock_share: float

    @classmethod
    def of(cls, size: Size, cost: Cost, number: int) -> _Part:
        """Return the fits that cost so much."""
        per_second = machine_rate() / (number * cost.factor)
        fewest = number * cost.fixed + cost.operations(size) / per_second
        optional = cost.optional(size) / per_second
        return cls(
            fewest + optional / 2,
            (fewest / cost.uncertainty, (fewest + optional) * cost.uncertainty),
            cost.n_bytes(size) + 8 * cost.copies * size.n * size.d,
            _clock_share(size.learner),
        )

    @classmethod
    def with_kernel(cls, size: Size, cost: Cost, number: int) -> _Part:
        """Return the same of fits that learn in the coordinates of kernel PCA."""
        matrix = kernel_matrix_size(size)
        space = in_kernel_space(matrix)
        before = cls.of(matrix, KERNEL_PCA, number)
        fit = cls.of(space, replace(cost, uncertainty=UNCERTAINTY), number)
        return cls(
            before.seconds + fit.seconds,
            (before.interval[0], before.interval[1] + fit.interval[1]),
            max(before.n_bytes, coordinate_bytes(space) + fit.n_bytes),
            fit.clock_share,
        )


def _clock_share(learner: Any) -> float:
    threads = count_threads(learner.n_jobs) if hasattr(learner, "n_jobs") else 1
    return _SERIAL_SHARE + (1 - _SERIAL_SHARE) / threads


def estimate_fit(learner: Any, X: TableLike, y: ArrayLike | None, n_pairs: int | None) -> Estimate:
    """Return the estimated cost of fitting a learner, and of the fits within its fit."""
    own, *nested = _parts(learner, _size(learner, X, y, n_pairs))
    low, high = map(sum, zip(*(part.interval for part in (own, *nested)), strict=True))
    n_bytes = own.n_bytes + max((part.n_bytes for part in nested), default=0.0)
    seconds = own.seconds + sum(part.seconds for part in nested)
    return Estimate(seconds, (low, high), int(_FIXED_BYTES + n_bytes))


def clock_seconds(
    learner: Any, X: TableLike, y: ArrayLike | None, n_pairs: int | None
) -> tuple[float, float]:
    """Return the fewest and the most seconds of a fit on the clock, with the learner's threads."""
    parts = list(_parts(learner, _size(learner, X, y, n_pairs)))
    shares = [part.clock_share for part in parts]
    fewest, most = zip(*(part.interval for part in parts), strict=True)
    return float(np.dot(fewest, shares)), float(np.dot(most, shares))


def expected_seconds(
    learner: Any, fit: str, X: Any, *args: Any, **kwargs: Any
) -> tuple[float, float] | None:
    """Return the fewest and the most seconds that a fit is expected to take on the clock.

    None if there is no formula for it: for Dask collections, tensors, `POLA` with a kernel and
    learners of other packages without one. What is wrong with the arguments is left for the fit to
    say.

    Parameters
    ----------
    learner : Learner
    fit : str
        The name of the method that fits.
    X, *args, **kwargs
        Its arguments.
    """
    if fit not in _SUPERVISION or not _is_in_memory(X):
        return None
    supervision = args[0] if args else kwargs.get(_SUPERVISION[fit])
    try:
        if fit == "fit" or supervision is None:
            return clock_seconds(learner, X, supervision, None)
        return clock_seconds(learner, X, None, len(supervision))
    except (TypeError, ValueError, NotImplementedError):
        return None


def _size(learner: Any, X: TableLike, y: ArrayLike | None, n_pairs: int | None) -> Size:
    check_table(X, "X")
    n, d = np.shape(X)
    if is_dask(X) and not isinstance(n, int):
        raise ValueError(
            "X is a Dask collection whose number of rows is not known before it is computed, but "
            "an estimate needs it: give np.broadcast_to(0.0, (n_rows, n_columns)) in its place."
        )
    check_n_pairs(f"{type(learner).__name__}.estimate", n_pairs)
    n_classes = 2 if y is None else count_classes(n, y)
    itemsize = 4 if getattr(X, "dtype", None) == np.float32 else 8
    in_blocks = is_dask(X) or is_read_in_blocks(X)
    return Size(n, d, n_classes, n_pairs or 0, learner, itemsize, in_blocks)


def check_n_pairs(owner: str, n_pairs: int | None) -> None:
    """Raise a ValueError unless a number of pairs is None or positive."""
    check_parameters(owner, {"n_pairs": n_pairs}, {"n_pairs": either(none(), at_least(1))})


def count_classes(n_rows: int, y: ArrayLike) -> int:
    """Return the number of classes of the labels y of so many rows."""
    labels = np.asarray(to_numpy(y))
    if labels.shape[:1] != (n_rows,):
        raise ValueError(f"X has {n_rows} rows but y has {labels.size} labels; they must match.")
    return len(np.unique(labels))


def _parts(learner: Any, size: Size, number: int = 1) -> Iterator[_Part]:
    """Yield the fit of a learner, and then those within it."""
    yield _part(replace(size, learner=learner), number)
    for fit in learner._nested_fits(size.m):
        n, m = round(fit.rows * size.n), max(1, round(fit.pairs * size.m)) if size.m else 0
        yield from _parts(fit.learner, replace(size, n=n, m=m), number * fit.number)


def _part(size: Size, number: int) -> _Part:
    """Return the fits of one learner."""
    cost = _cost_of(size.learner)
    if hasattr(size.learner, "_cost") or not has_kernel(size):
        return _Part.of(size, cost, number)
    if not cost.kernel_pca:
        raise NotImplementedError(
            f"{type(size.learner).__name__} has no estimate with kernel={size.learner.kernel!r}, "
            "since its basis grows with the pairs that it learns from: only kernel=None is allowed."
        )
    return _Part.with_kernel(size, cost, number)


def _is_in_memory(X: Any) -> bool:
    return not (is_dask(X) or is_tensor(X) or get_config()["device"] not in ("auto", "cpu"))


def _cost_of(learner: Any) -> Cost:
    if hasattr(learner, "_cost"):  # a learner of another package
        own: Cost = learner._cost
        return own
    for cls in type(learner).__mro__:
        if cls.__name__ in COSTS:
            return COSTS[cls.__name__]
    raise NotImplementedError(
        f"{type(learner).__name__} has no cost formula: give the class a "
        "likewise.base.costs.Cost as _cost."
    )


@functools.cache
def machine_rate() -> float:
    """Return the operations per second of a matrix product on one core, measured once.

    The shortest of a few short products: while another process has the core or its caches, most of
    them are disturbed, but seldom all.
    """
    matrix = np.random.default_rng(0).normal(size=(_SIDE, _SIDE))
    best = np.inf
    with single_threaded_blas():
        for _ in range(_PRODUCTS):
            start = time.perf_counter()  # processor time has steps of 16 ms on Windows
            matrix @ matrix
            best = min(best, time.perf_counter() - start)
    return 2 * _SIDE**3 / max(best, 1e-6)


def _duration(seconds: float) -> str:
    if seconds < 99.5:  # two digits
        return f"{seconds:.2g} s"
    if seconds < 99.5 * 60:
        return f"{seconds / 60:.2g} min"
    if seconds < 99.5 * 3600:
        return f"{seconds / 3600:.2g} h"
    return f"{seconds / 86_400:.3g} days"
