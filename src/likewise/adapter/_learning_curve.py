"""The gain of an adapter with fewer judgements."""

from __future__ import annotations

from dataclasses import dataclass

from likewise._runtime.arrays import Array, FloatArray, IndexArray


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """Gains of `EmbeddingAdapter` from parts of its judgements.

    Attributes
    ----------
    n_judgements : int array of shape (n_sizes,)
        How many judgements were used.
    gains : array of shape (n_sizes,)
        The gain of the map that was chosen; 0 where rows are left as they are.
    intervals : array of shape (n_sizes, 2)
        Of the gains, with 95 % confidence.
    chosen : array of str of shape (n_sizes,)
        The family that was chosen.
    measure : str
        What the gain is of.
    """

    n_judgements: IndexArray
    gains: FloatArray
    intervals: FloatArray
    chosen: Array
    measure: str
