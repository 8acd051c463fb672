"""The nearest rows of the own class, by a radius search as far as some of them are."""

import numpy as np

from likewise import _loops
from likewise._loops.distances.frames import SearchFrame, frame_of
from likewise._loops.distances.types import Packed, TooManyPairs
from likewise._runtime.arrays import Array, FloatArray, IndexArray
from likewise._runtime.threads import run_blocks
from likewise.neighbors._arguments import as_finite_matrix

# From this many rows on, a radius search is faster than to rank all rows of a class (measured).
_LARGE_CLASS = 2048
_CHUNK = 1024  # rows that are near each other, the nearest of which bound the search
_CANDIDATES_PER_ROW = 64
_MAX_NEIGHBOURS = 16
_MAX_FEATURES = 256


def rows_of_large_classes(codes: IndexArray) -> IndexArray:
    """Return the rows, ascending, of classes for which `nearest_in_large_classes` is faster.

    There are none without compiled loops: the NumPy twin of the radius search takes 30 times as
    long as to rank all rows.
    """
    if _loops.BACKEND != "native":
        return np.empty(0, dtype=np.int64)
    return np.flatnonzero(np.bincount(codes)[codes] >= _LARGE_CLASS)


def nearest_in_large_classes(
    Z: Array, codes: IndexArray, k: int, *, n_jobs: int | None = None
) -> tuple[FloatArray, IndexArray] | None:
    """Return the k nearest rows of the same class, for `rows_of_large_classes`.

    Parameters
    ----------
    Z : array of shape (n, d)
    codes : int array of shape (n,)
    k : int
    n_jobs : int or None

    Returns
    -------
    sqdist, index : arrays of shape (n, k), or None
        Nearest first, equal distances in the order of rows. None if this would not be faster: with
        few or very many features, of many neighbours, or if many rows are equal; nor if a class has
        no more than k rows.
    """
    Z = as_finite_matrix("points", Z)
    if not 0 < Z.shape[1] <= _MAX_FEATURES or k > _MAX_NEIGHBOURS:
        return None
    frame = frame_of(Z)
    if frame.axes is None:
        return None
    packed = _loops.pack_rows(Z, codes, np.zeros(len(Z)), frame, n_jobs=n_jobs)
    packed = packed.with_radius2(_bounds(packed, codes, frame, k, n_jobs))
    try:
        rows, cols, sqdist = _loops.scan_packed(
            packed,
            packed,
            same_class=True,
            max_pairs=_CANDIDATES_PER_ROW * len(Z),
            n_jobs=n_jobs,
        )[0]
    except (TooManyPairs, MemoryError):
        return None
    start = np.zeros(len(Z) + 1, dtype=np.int64)
    counts = np.bincount(rows, minlength=len(Z))
    if counts.min() < k:
        return None
    np.cumsum(counts, out=start[1:])
    nearest = _loops.smallest_of_groups(sqdist, start, k, n_jobs=n_jobs)
    return sqdist[nearest], cols[nearest]


def _bounds(
    packed: Packed, codes: IndexArray, frame: SearchFrame, k: int, n_jobs: int | None
) -> FloatArray:
    """Return for each row a squared distance within which are k rows of its class.

    They are taken from rows that are near in the order of a kd tree. Products in single precision
    of rows of norm at most 1 are off by less than g(d + 3) of the norms, g(k) = ku/(1 - ku) with
    u = 2^-24, and distances by twice that; 4(d + 8)u is allowed. Distances of the scan are not
    scaled: each of their d squares may underflow, by half of 2^-1074.
    """
    order, radius2 = packed.order, np.full(len(packed.Z), np.inf)
    ranked = codes[order]
    starts = np.flatnonzero(np.diff(ranked, prepend=ranked[0] - 1))
    chunks: list[IndexArray] = []
    for members in np.split(order, starts[1:]):
        chunks += np.array_split(members, max(1, len(members) // _CHUNK))
    slack = 4 * (packed.Z.shape[1] + 8) * 2.0**-24

    def bound(begin: int, end: int) -> None:
        for chunk in chunks[begin:end]:
            if len(chunk) <= k:
                continue
            rows = frame.centred(packed.Z[chunk]).astype(np.float32)
            norms = np.einsum("ij,ij->i", rows, rows)
            sqdist = rows @ rows.T
            sqdist *= -2
            sqdist += norms
            np.fill_diagonal(sqdist, np.inf)
            sqdist.partition(k - 1, axis=1)
            exact = sqdist[:, k - 1].astype(np.float64) + norms
            allowed = slack * (norms + norms.max()) + 2.0**-100
            radius2[chunk] = np.maximum(exact, 0) + allowed

    run_blocks(bound, len(chunks), 1, n_jobs)
    underflow = packed.Z.shape[1] * 2.0**-1074
    bounds: FloatArray = radius2 / frame.scale / frame.scale + underflow
    return np.nextafter(bounds, np.inf)
