"""Random numbers of trials."""

from __future__ import annotations

import zlib

import numpy as np


def generator(*names: str | int) -> np.random.Generator:
    """Return the generator that names and numbers determine, the same on every machine.

    Examples
    --------
    >>> [int(generator("bupa", run).integers(100)) for run in (0, 0, 1)]
    [42, 42, 44]
    """
    return np.random.default_rng([zlib.crc32(str(name).encode()) for name in names])
