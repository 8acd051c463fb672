"""What the loops of batch learners return, whichever way they are computed."""

from __future__ import annotations

from typing import NamedTuple

from likewise._runtime.arrays import FloatArray

NEGLIGIBLE = 40.0  # exp of minus this, in units of the largest, counts as nothing


class Softmax(NamedTuple):
    """What a block of softmax rows says, besides the weights that it leaves behind.

    Attributes
    ----------
    log_sums : float64 array of shape (m,)
        ``log Σ_j exp(-‖z_i - z_j‖²)`` over the others.
    own_shares : float64 array of shape (m,)
        The probability that the point picks one of its own class.
    """

    log_sums: FloatArray
    own_shares: FloatArray
