"""Base classes of all estimators."""

from likewise._runtime.interrupts import time_limit
from likewise._runtime.validation import check_labelled, check_rows
from likewise.base.affine_map import AffineMap
from likewise.base.estimate import Estimate
from likewise.base.learner import Learner, fitting, updating
from likewise.base.metric_learner import MetricLearner
from likewise.base.online_learner import OnlineLearner
from likewise.base.pair_explanation import PairExplanation
from likewise.base.voting import NeighborVoter

__all__ = [
    "AffineMap",
    "Estimate",
    "Learner",
    "MetricLearner",
    "NeighborVoter",
    "OnlineLearner",
    "PairExplanation",
    "check_labelled",
    "check_rows",
    "fitting",
    "time_limit",
    "updating",
]
