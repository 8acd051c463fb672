"""Same or different, decided by a threshold that can be promised."""

from likewise.pair_classifier._estimator import PairClassifier

__all__ = ["PairClassifier"]
