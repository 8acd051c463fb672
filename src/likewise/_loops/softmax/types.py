"""What the softmax loops return."""

from __future__ import annotations

from typing import NamedTuple

from likewise._runtime.arrays import FloatArray

NEGLIGIBLE = 40.0  # probabilities below exp(-NEGLIGIBLE) times the largest count as 0


class Softmax(NamedTuple):
    """The results for a block of anchors, besides the weights that are written in place.

    Attributes
    ----------
    log_sums : float64 array of shape (m,)
        ``log Σ_j exp(-‖z_i - z_j‖²)`` over all j ≠ i.
    same_class_probability : float64 array of shape (m,)
        The probability that the anchor picks a point of its own class.
    """

    log_sums: FloatArray
    same_class_probability: FloatArray
