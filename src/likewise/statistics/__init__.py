"""Tests, intervals and folds for comparisons of methods; nothing here knows a learner."""

from likewise.statistics.decision import Decision, decide
from likewise.statistics.folds import rows_to_test, stratified_folds
from likewise.statistics.friedman import RankTest, friedman_test
from likewise.statistics.friedman_holm import FriedmanHolm, friedman_holm
from likewise.statistics.holm import holm_correction, holm_test
from likewise.statistics.iman_davenport import iman_davenport_test
from likewise.statistics.nemenyi import critical_difference, nemenyi_test
from likewise.statistics.ranks import average_ranks
from likewise.statistics.sign_flip import SignFlipTest, sign_flip_max_test

__all__ = [
    "Decision",
    "FriedmanHolm",
    "RankTest",
    "SignFlipTest",
    "average_ranks",
    "critical_difference",
    "decide",
    "friedman_holm",
    "friedman_test",
    "holm_correction",
    "holm_test",
    "iman_davenport_test",
    "nemenyi_test",
    "rows_to_test",
    "sign_flip_max_test",
    "stratified_folds",
]
