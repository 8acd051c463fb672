"""Information-theoretic metric learning: the estimator and its Bregman projections."""

from likewise.batch.itml.estimator import ITML

__all__ = ["ITML"]
