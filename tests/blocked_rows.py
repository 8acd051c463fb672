"""Rows in blocks in this process, for tests that need no Dask."""

import numpy as np

from likewise._runtime.blocks.engines import LocalEngine
from likewise._runtime.blocks.rows import BlockedRows


def blocked(X, groups, counts):
    """Return rows in blocks of given sizes."""
    engine, ends = LocalEngine(1), np.cumsum(counts)
    blocks = [
        engine.submit(lambda *block: block, X[start:end], groups[start:end])
        for start, end in zip(ends - counts, ends, strict=True)
    ]
    return BlockedRows(engine, tuple(blocks), np.array(counts), X.shape[1], X.dtype)


def contents(rows, numbers):
    """Return the rows, groups and given numbers of every block."""
    blocks = rows.engine.gather(rows.blocks)
    return [(*block, of) for block, of in zip(blocks, rows.engine.gather(numbers), strict=True)]
