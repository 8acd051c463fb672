"""The objectives of LMNN and NCA over blocks of rows that stay on their workers."""

from likewise.objectives.blocked.large_margin import BlockedLargeMargin
from likewise.objectives.blocked.mapped_rows import MappedRows
from likewise.objectives.blocked.pairs import BlockedPairs, BlockedSqdist
from likewise.objectives.blocked.softmax_neighbours import BlockedSoftmaxNeighbours

__all__ = [
    "BlockedLargeMargin",
    "BlockedPairs",
    "BlockedSoftmaxNeighbours",
    "BlockedSqdist",
    "MappedRows",
]
