"""Tests, intervals and splits, for methods and for pairs; nothing here knows a learner."""

from likewise.statistics.auc_test import AUCTest, auc_test
from likewise.statistics.decision import Decision, decide
from likewise.statistics.dyadic import DyadicVariance, dyadic_variance
from likewise.statistics.error_rates import ErrorRates, error_rates, pairs_needed
from likewise.statistics.folds import rows_to_test, stratified_folds
from likewise.statistics.friedman import RankTest, friedman_test
from likewise.statistics.friedman_holm import FriedmanHolm, friedman_holm
from likewise.statistics.holm import holm_correction, holm_test
from likewise.statistics.iman_davenport import iman_davenport_test
from likewise.statistics.leakage import Leakage, leakage
from likewise.statistics.nemenyi import critical_difference, nemenyi_test
from likewise.statistics.pair_split import GroupPairSplit, PairSplit
from likewise.statistics.placed_pairs import PlacedPairs, place_pairs, rate_interval
from likewise.statistics.ranks import average_ranks
from likewise.statistics.sign_flip import SignFlipTest, sign_flip_max_test
from likewise.statistics.threshold import ChosenThreshold, choose_threshold
from likewise.statistics.verification import (
    VerificationBand,
    VerificationCurve,
    verification_curve,
)

__all__ = [
    "AUCTest",
    "ChosenThreshold",
    "Decision",
    "DyadicVariance",
    "ErrorRates",
    "FriedmanHolm",
    "GroupPairSplit",
    "Leakage",
    "PairSplit",
    "PlacedPairs",
    "RankTest",
    "SignFlipTest",
    "VerificationBand",
    "VerificationCurve",
    "auc_test",
    "average_ranks",
    "choose_threshold",
    "critical_difference",
    "decide",
    "dyadic_variance",
    "error_rates",
    "friedman_holm",
    "friedman_test",
    "holm_correction",
    "holm_test",
    "iman_davenport_test",
    "leakage",
    "nemenyi_test",
    "pairs_needed",
    "place_pairs",
    "rate_interval",
    "rows_to_test",
    "sign_flip_max_test",
    "stratified_folds",
    "verification_curve",
]
