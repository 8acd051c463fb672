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
    FriedmanHolm,
    RankTest,
    SignFlipTest,
    average_ranks,
    critical_difference,
    friedman_holm,
    friedman_test,
    holm_correction,
    holm_test,
    iman_davenport_test,
    nemenyi_test,
    sign_flip_max_test,
)

__all__ = [
    "COMPARED_METHODS",
    "Comparison",
    "FriedmanHolm",
    "KNNError",
    "MethodResult",
    "PairScorer",
    "PredictiveError",
    "RankTest",
    "SignFlipTest",
    "VerificationCurve",
    "average_ranks",
    "compare",
    "critical_difference",
    "effective_dimension",
    "friedman_holm",
    "friedman_test",
    "holm_correction",
    "holm_test",
    "iman_davenport_test",
    "knn_error",
    "leave_one_out_error",
    "nemenyi_test",
    "pair_scorer",
    "predictive_error",
    "sign_flip_max_test",
    "verification_curve",
]
