"""MMC and DML-eig: separate dissimilar pairs while the scatter of similar pairs is bounded."""

from likewise.batch.similar_scatter.dml_eig import DMLEig
from likewise.batch.similar_scatter.mmc import MMC

__all__ = ["MMC", "DMLEig"]
