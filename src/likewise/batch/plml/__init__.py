"""Parametric local metric learning: the estimator and the weights of its basis metrics."""

from likewise.batch.plml.estimator import PLML

__all__ = ["PLML"]
