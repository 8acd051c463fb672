"""A linear map for frozen embeddings, chosen so that they do not get worse."""

from likewise.adapter._estimator import EmbeddingAdapter
from likewise.adapter._learning_curve import LearningCurve

__all__ = ["EmbeddingAdapter", "LearningCurve"]
