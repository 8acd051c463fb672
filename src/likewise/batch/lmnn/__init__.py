"""Large margin nearest neighbours, with one metric or with one metric per class or cluster."""

from likewise.batch.lmnn.estimator import LMNN
from likewise.batch.lmnn.multi_metric import MultiMetricLMNN

__all__ = ["LMNN", "MultiMetricLMNN"]
