"""Metrics learned from a whole data set at once: one class per file."""

from likewise.batch.euclidean import Euclidean
from likewise.batch.fda import FDA
from likewise.batch.itml import ITML
from likewise.batch.lmnn import LMNN
from likewise.batch.nca import NCA
from likewise.batch.rca import RCA
from likewise.batch.whitening import Whitening

__all__ = ["FDA", "ITML", "LMNN", "NCA", "RCA", "Euclidean", "Whitening"]
