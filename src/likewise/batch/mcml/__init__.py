"""Maximally collapsing metric learning: the estimator and its solver on the PSD cone."""

from likewise.batch.mcml.estimator import MCML

__all__ = ["MCML"]
