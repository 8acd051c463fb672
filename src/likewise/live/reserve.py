"""Which pairs belong to the audit stream."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from likewise._runtime.arrays import BoolArray, IndexArray

__all__ = ["AuditReserve"]

_64_BITS = 2**64 - 1  # integers have no end, arrays wrap around by themselves


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
        self._keys = int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little")

    def contains(self, pairs: IndexArray) -> BoolArray:
        """Return which pairs of rows, in either order, are reserved."""
        rows = np.sort(np.asarray(pairs, dtype=np.int64).reshape(-1, 2), axis=1).astype(np.uint64)
        found: BoolArray = self._hash(rows[:, 0], rows[:, 1]) < self.share
        return found

    def contains_pair(self, left: int, right: int) -> bool:
        """Return whether one pair of rows is reserved: quicker than `contains`."""
        return bool(self._hash(min(left, right), max(left, right)) < self.share)

    def _hash(self, low: Any, high: Any) -> Any:
        """Return uniform numbers from 0 to 1, of arrays of 64-bit numbers or of two integers."""
        first, second = self._keys
        return (_mix(_mix(low ^ first) ^ high ^ second) >> 11) * 2.0**-53


def _mix(value: Any) -> Any:
    """Return the finalizer of SplitMix64, a bijection of 64 bits in which each bit counts."""
    value = (value + 0x9E3779B97F4A7C15) & _64_BITS
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _64_BITS
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _64_BITS
    return value ^ (value >> 31)
