"""How good is a metric: neighbours' votes, verification of pairs, and methods side by side."""

from likewise.evaluation.comparison import compare
from likewise.evaluation.knn_error import KNNError, knn_error, leave_one_out_error
from likewise.evaluation.predictive_error import PredictiveError, predictive_error
from likewise.evaluation.rank import effective_dimension
from likewise.evaluation.results import Comparison, MethodResult
from likewise.evaluation.scoring import PairScorer, pair_scorer
from likewise.evaluation.verification import VerificationCurve, verification_curve
from likewise.methods import COMPARED_METHODS
from likewise.statistics import (
    ErrorRates,
    FriedmanHolm,
    GroupPairSplit,
    Leakage,
    PairSplit,
    RankTest,
    SignFlipTest,
    average_ranks,
    critical_difference,
    error_rates,
    friedman_holm,
    friedman_test,
    holm_correction,
    holm_test,
    iman_davenport_test,
    leakage,
    nemenyi_test,
    pairs_needed,
    sign_flip_max_test,
)

__all__ = [
    "COMPARED_METHODS",
    "Comparison",
    "ErrorRates",
    "FriedmanHolm",
    "GroupPairSplit",
    "KNNError",
    "Leakage",
    "MethodResult",
    "PairScorer",
    "PairSplit",
    "PredictiveError",
    "RankTest",
    "SignFlipTest",
    "VerificationCurve",
    "average_ranks",
    "compare",
    "critical_difference",
    "effective_dimension",
    "error_rates",
    "friedman_holm",
    "friedman_test",
    "holm_correction",
    "holm_test",
    "iman_davenport_test",
    "knn_error",
    "leakage",
    "leave_one_out_error",
    "nemenyi_test",
    "pair_scorer",
    "pairs_needed",
    "predictive_error",
    "sign_flip_max_test",
    "verification_curve",
]
