"""Exact neighbour search: the one place where n×n work happens, and never an n×n array.

Every distance returned or compared is the squared Euclidean distance of two rows, from their
differences and summed in float64, so data far from the origin lose nothing. Fast searches only
propose: their rounding errors are bounded, and whatever the bound leaves open is measured again.
Equal distances are ordered by row number. To search under a metric L, pass ``X @ L.T``.
"""

from likewise._loops.distances.types import TooManyPairs
from likewise.neighbors._nearest import farthest, nearest
from likewise.neighbors._radius import within_radius_of_other_class
from likewise.neighbors._ranking import map_rankings
from likewise.neighbors._vote import vote

__all__ = [
    "TooManyPairs",
    "farthest",
    "map_rankings",
    "nearest",
    "vote",
    "within_radius_of_other_class",
]
