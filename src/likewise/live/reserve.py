"""Which pairs belong to the audit stream."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from likewise._runtime.arrays import BoolArray, IndexArray

__all__ = ["AuditReserve"]


class AuditReserve:
    """A random share of all pairs, which is kept for the audit stream.

    A pair belongs to it if a hash of the pair under a key is small. So whether it does depends on
    no judgement and on no model, and the pairs that are chosen to learn from are never among them:
    what is left to audit remains a random sample of all pairs, however many were chosen.

    Parameters
    ----------
    key : str
        Identity of the project.
    share : float
        The probability that a pair is reserved.
    """

    def __init__(self, key: str, share: float) -> None:
        self.share = share
        digest = hashlib.blake2b(key.encode(), digest_size=16, person=b"likewise audit").digest()
        self._keys = np.frombuffer(digest, dtype="<u8").astype(np.uint64)

    def contains(self, pairs: IndexArray) -> BoolArray:
        """Return which pairs of rows, in either order, are reserved."""
        rows = np.sort(np.asarray(pairs, dtype=np.int64).reshape(-1, 2), axis=1).astype(np.uint64)
        hashed = _mix(_mix(rows[:, 0] ^ self._keys[0]) ^ rows[:, 1] ^ self._keys[1])
        found: BoolArray = (hashed >> np.uint64(11)) * 2.0**-53 < self.share
        return found


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the finalizer of SplitMix64, a bijection of 64 bits in which each bit counts."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: NDArray[np.uint64] = values ^ (values >> np.uint64(31))
    return mixed
