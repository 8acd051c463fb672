"""Information-theoretic metric learning: the estimator, its problem and Newton's method."""

from likewise.batch.itml.estimator import ITML

__all__ = ["ITML"]
