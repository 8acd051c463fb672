"""Radius scans of two blocks of rows, compared with the scan of all of them."""

import itertools
import pickle
from functools import partial

import numpy as np
from loop_backends import _native

from likewise._loops.distances import reference
from likewise._loops.distances.frames import frame_of

if _native is not None:
    from likewise._loops.distances import compiled

    BOTH = (compiled, reference)
else:
    BOTH = (reference,)


def blocks_of(loops, Z, labels, radius2, n_first, frame=None):
    """Return the first rows and the others, packed."""
    frame = frame or frame_of(Z)
    return [
        loops.pack_rows(np.ascontiguousarray(Z[part]), labels[part], radius2[part], frame, n_jobs=1)
        for part in (slice(n_first), slice(n_first, None))
    ]


def assert_scans_of_blocks_are_the_scan_of_all(Z, labels, radius2, n_first, frame=None):
    """Compare the pairs within two blocks and between them with those of a scan of all rows."""
    everything = reference.radius_scan(Z, np.arange(len(Z)), radius2)
    of_one_class = labels[everything.rows] == labels[everything.cols]
    assert_scans_of_blocks(Z, labels, radius2, n_first, frame, everything, of_one_class)
    return (~of_one_class).sum()


def assert_scans_of_blocks(Z, labels, radius2, n_first, frame, everything, of_one_class):
    """Compare scans for pairs of different classes, and for those of one, with all pairs."""
    for loops, same_class in itertools.product(BOTH, (False, True)):
        rows, cols, sqdist = (side[of_one_class == same_class] for side in everything)
        first, second = blocks_of(loops, Z, labels, radius2, n_first, frame)
        scan = partial(loops.scan_packed, same_class=same_class)
        forward, backward = scan(first, pickle.loads(pickle.dumps(second)))
        for found, of_rows, of_cols in (
            (scan(first, first)[0], rows < n_first, cols < n_first),
            (forward, rows < n_first, cols >= n_first),
            (backward, rows >= n_first, cols < n_first),
            (scan(second, second)[0], rows >= n_first, cols >= n_first),
        ):
            kept = of_rows & of_cols
            start = [
                n_first * bool(kept.any() and side[kept][0] >= n_first) for side in (rows, cols)
            ]
            expected = rows[kept] - start[0], cols[kept] - start[1], sqdist[kept]
            for a, b in zip(found, expected, strict=True):
                assert a.tobytes() == b.tobytes()
