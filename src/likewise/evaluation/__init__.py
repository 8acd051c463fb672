"""How good is a metric: neighbours' votes, verification of pairs, and methods side by side."""

from likewise.evaluation.clusters import ClusterScores, b_cubed_scores, pairwise_scores
from likewise.evaluation.comparison import compare
from likewise.evaluation.cost import estimate_compare
from likewise.evaluation.first_ranking import Ranking, first_ranking
from likewise.evaluation.knn_error import KNNError, knn_error, leave_one_out_error
from likewise.evaluation.neighbor_changes import NeighborChanges, neighbor_changes
from likewise.evaluation.pair_comparison import compare_pairs
from likewise.evaluation.pair_results import PairComparison, PairMethodResult
from likewise.evaluation.pair_task import PairTask
from likewise.evaluation.predictive_error import PredictiveError, predictive_error
from likewise.evaluation.rank import effective_dimension
from likewise.evaluation.results import Comparison, MethodResult
from likewise.evaluation.retrieval import (
    mean_average_precision,
    mrr,
    ndcg,
    precision_at_k,
    recall_at_k,
)
from likewise.evaluation.retrieval_score import RetrievalScore
from likewise.evaluation.scoring import PairScorer, pair_scorer
from likewise.methods import COMPARED_METHODS, COMPARED_ON_PAIRS
from likewise.statistics import (
    ChosenThreshold,
    ErrorRates,
    FriedmanHolm,
    GroupPairSplit,
    Leakage,
    PairSplit,
    RankTest,
    SignFlipTest,
    VerificationBand,
    VerificationCurve,
    average_ranks,
    choose_threshold,
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
    verification_curve,
)

__all__ = [
    "COMPARED_METHODS",
    "COMPARED_ON_PAIRS",
    "ChosenThreshold",
    "ClusterScores",
    "Comparison",
    "ErrorRates",
    "FriedmanHolm",
    "GroupPairSplit",
    "KNNError",
    "Leakage",
    "MethodResult",
    "NeighborChanges",
    "PairComparison",
    "PairMethodResult",
    "PairScorer",
    "PairSplit",
    "PairTask",
    "PredictiveError",
    "RankTest",
    "Ranking",
    "RetrievalScore",
    "SignFlipTest",
    "VerificationBand",
    "VerificationCurve",
    "average_ranks",
    "b_cubed_scores",
    "choose_threshold",
    "compare",
    "compare_pairs",
    "critical_difference",
    "effective_dimension",
    "error_rates",
    "estimate_compare",
    "first_ranking",
    "friedman_holm",
    "friedman_test",
    "holm_correction",
    "holm_test",
    "iman_davenport_test",
    "knn_error",
    "leakage",
    "leave_one_out_error",
    "mean_average_precision",
    "mrr",
    "ndcg",
    "neighbor_changes",
    "nemenyi_test",
    "pair_scorer",
    "pairs_needed",
    "pairwise_scores",
    "precision_at_k",
    "predictive_error",
    "recall_at_k",
    "sign_flip_max_test",
    "verification_curve",
]
