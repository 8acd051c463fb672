"""Warnings about metrics that fit their training data but are of little use, from cheap facts."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from likewise._runtime.arrays import Array
from likewise._runtime.tensors import to_numpy
from likewise._runtime.validation import warn_user
from likewise.base.metric_learner import MetricLearner
from likewise.constraints import Pairs, Triplets
from likewise.exceptions import DegenerateMetricWarning, OverfitWarning
from likewise.metric import row_norms

Metric = TypeVar("Metric", bound=MetricLearner)

# Measured on handwritten digits, embedded texts and wine: with fewer than two pairs per feature,
# PAMetric, DoubletSVM, LDML and MMC fit nearly all of their pairs, whatever the error on others,
# which was between six points below and twenty above that of the Euclidean distance.
_MIN_PER_FEATURE = 2
# Measured: PCML and NCML with fewer support pairs had neighbour errors two to ten points above
# those of the Euclidean distance on satimage, soybean and wdbc.
_MIN_SUPPORT = 0.5  # of the features
_MIN_FEATURES = 10  # with fewer, a few pairs are a worked example
_MAX_PAIRS = 2000  # pairs whose decisions are looked at
_MIN_PAIRS = 10  # of each kind, for decisions to be judged
_CHANCE = 0.45  # error from which on decisions are hardly better than chance
# Pairs made from labels are often the hardest ones; those of a stream are usually not.
_STREAM_CHANCE = 0.4
_MIN_EVENTS = 1000  # pairs of a stream before its decisions are looked at


def diagnosed(metric: Metric, X: Array, constraints: Pairs | Triplets) -> Metric:
    """Return a fitted metric; warn if it rests on few constraints, or decides at chance.

    Parameters
    ----------
    metric : MetricLearner
        Fitted to the constraints; its decisions are looked at if it has a `threshold_`.
    X : array of shape (n_samples, n_features)
        Training data.
    constraints : Pairs or Triplets
        What it learned from.
    """
    _warn_of_few_constraints(metric, constraints)
    if isinstance(constraints, Pairs):
        _warn_of_decisions(metric, X, constraints)
    return metric


def diagnosed_stream(metric: Metric, n_events: int, X: Array, pairs: Pairs) -> Metric:
    """Return an online metric; warn if it decides at chance the pairs that it learned last.

    It is looked at when the stream is long enough and whenever its length has doubled: the metric
    costs the eigenvalues of M.
    """
    unit = max(_MIN_EVENTS, _MIN_PER_FEATURE * metric.n_features_in_)
    n_before = n_events - len(pairs)
    if (n_events // unit).bit_length() > (n_before // unit).bit_length():
        _warn_of_decisions(metric, X, pairs, _STREAM_CHANCE)
    return metric


def warn_of_few_samples(
    metric: MetricLearner, shrinkage: float | str | None, n_free: int, n_features: int
) -> None:
    """Warn if a metric inverts a covariance of `n_free` independent samples that is singular."""
    shrinks = bool(shrinkage)
    if n_free >= n_features or (shrinks and n_features < _MIN_FEATURES):
        return
    consequence = (
        "even shrunk, it may be a worse metric than the Euclidean one"
        if shrinks
        else "it says nothing about directions without variance, and distances between new "
        "samples may mean nothing"
    )
    warn_user(
        f"{type(metric).__name__}(shrinkage={shrinkage!r}) inverts a covariance of "
        f"{n_features} features from {n_free} independent differences, fewer than features: "
        f"{consequence}. Use shrinkage=0.9, more samples, or PCA first.",
        OverfitWarning,
    )


def _warn_of_few_constraints(metric: MetricLearner, constraints: Pairs | Triplets) -> None:
    n_features = metric.n_features_in_
    if n_features < _MIN_FEATURES or _is_diagonal(metric):
        return
    kind = "pairs" if isinstance(constraints, Pairs) else "triplets"
    if len(constraints) < _MIN_PER_FEATURE * n_features:
        facts = (
            f"learned from {len(constraints)} {kind}, but a metric of {n_features} features has "
            f"{n_features * (n_features + 1) // 2} degrees of freedom: it may fit them by chance "
            "and fail on others."
        )
        remedy = f"Use at least {_MIN_PER_FEATURE * n_features} {kind}"
    elif (n_support := _n_support(metric, len(constraints))) < _MIN_SUPPORT * n_features:
        facts = (
            f"rests on {n_support} of {len(constraints)} {kind}, fewer than half of its "
            f"{n_features} features: it may ignore what distinguishes other samples."
        )
        remedy = f"Use more, or harder, {kind}"
    else:
        return
    warn_user(
        f"{type(metric).__name__} {facts} {remedy}, or reduce the features first, for instance by "
        f"PCA, and test the metric on {kind} of other samples.",
        OverfitWarning,
    )


def _warn_of_decisions(
    metric: MetricLearner, X: Array, pairs: Pairs, chance: float = _CHANCE
) -> None:
    """Warn if a metric with a `threshold_` decides training pairs hardly better than chance.

    Similar and dissimilar pairs count equally, so that calling all pairs alike is chance, too.
    """
    threshold = getattr(metric, "threshold_", None)
    if threshold is None:
        return
    index, same = pairs
    if len(index) > _MAX_PAIRS:
        chosen = np.linspace(0, len(index) - 1, _MAX_PAIRS).astype(np.int64)
        index, same = index[chosen], same[chosen]
    if min(np.count_nonzero(same), np.count_nonzero(~same)) < _MIN_PAIRS:
        return
    distances = row_norms(metric._map_differences(X[index[:, 0]], X[index[:, 1]]))
    predicted = to_numpy(distances) <= threshold
    found, wrong = float(predicted[same].mean()), float(predicted[~same].mean())
    if (1 - found + wrong) / 2 < chance:
        return
    if getattr(metric, "psd", None) == "end":
        remedy = ", or set psd='auto'"
    elif getattr(metric, "scale", "auto") != "auto":
        remedy = ", or set scale='auto'"
    elif not 0.25 <= same.mean() <= 0.75:
        remedy = ", or give it as many similar as dissimilar pairs"
    else:
        remedy = ""
    warn_user(
        f"{type(metric).__name__} calls {found:.0%} of the similar and {wrong:.0%} of the "
        f"dissimilar training pairs similar (threshold_ = {threshold:.3g}), which is "
        "hardly better than chance: its distances may be useful, its decisions are not. Choose a "
        f"threshold by likewise.evaluation.verification_curve on other pairs{remedy}.",
        DegenerateMetricWarning,
    )


def _is_diagonal(metric: MetricLearner) -> bool:
    return metric._linear and bool((np.count_nonzero(metric.components_, axis=1) <= 1).all())


def _n_support(metric: MetricLearner, n_constraints: int) -> int:
    """Return how many of the constraints have a weight in the metric."""
    if hasattr(metric, "support_pairs_"):
        return len(metric.support_pairs_)
    return min(getattr(metric, "n_updates_", n_constraints), n_constraints)
