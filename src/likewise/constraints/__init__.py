"""Weak supervision: pairs, triplets and chunks of rows, and their construction from labels.

Everything is a row number into X, never a copy of rows. All builders are deterministic: equal
distances are ordered by row number, and a row is never its own neighbour.
"""

from likewise.constraints._chunks import chunks_from_pairs, pairs_from_chunks
from likewise.constraints._from_labels import (
    doublets,
    nearest_and_farthest_pairs,
    target_neighbors,
    triplets,
)
from likewise.constraints._random_pairs import random_pairs
from likewise.constraints._scale import unit_sqdist
from likewise.constraints._tuples import Pairs, Triplets, as_pairs, as_triplets

__all__ = [
    "Pairs",
    "Triplets",
    "as_pairs",
    "as_triplets",
    "chunks_from_pairs",
    "doublets",
    "nearest_and_farthest_pairs",
    "pairs_from_chunks",
    "random_pairs",
    "target_neighbors",
    "triplets",
    "unit_sqdist",
]
