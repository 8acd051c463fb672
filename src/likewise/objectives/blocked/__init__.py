"""The LMNN objective over blocks of rows that stay on their workers."""

from likewise.objectives.blocked.large_margin import BlockedLargeMargin
from likewise.objectives.blocked.mapped_rows import MappedRows
from likewise.objectives.blocked.pairs import BlockedPairs, BlockedSqdist

__all__ = ["BlockedLargeMargin", "BlockedPairs", "BlockedSqdist", "MappedRows"]
