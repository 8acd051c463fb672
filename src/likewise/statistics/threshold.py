"""A threshold on the distance for which an error rate can be promised."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from likewise._runtime.text import quote
from likewise._runtime.validation import strictly_between
from likewise.statistics._promise import no_promise, promise, refusal
from likewise.statistics._rate_bounds import Guarantee, check_confidence
from likewise.statistics._scored_pairs import ScoredPairs
from likewise.statistics._target import Target, parse_target
from likewise.statistics._threshold_interval import equal_error_interval, threshold_interval
from likewise.statistics._threshold_walk import walk_precision, walk_rate
from likewise.statistics.verification import verification_curve


@dataclass(frozen=True)
class ChosenThreshold:
    """A threshold and what can be promised of it.

    Attributes
    ----------
    threshold : float
        Pairs of at most this distance are *same*.
    interval : tuple of float or None
        Where the threshold of the target itself is, with `confidence`: two-sided, and so around
        the chosen one, which is on the safe side. That of "eer" is always approximate. None where
        no interval is valid: for the best accuracy, and for a precision.
    promise : str
        What holds, in a sentence.
    promised : bool
        Whether a rate is promised: not for "eer" and "accuracy".
    rule : {"approximate", "exact", "bootstrap"}
        How the promise was established: "exact" also where the guarantee asked for was another, but
        too few errors were seen for it. "approximate" for "eer" and "accuracy", whatever the
        guarantee asked for.
    fmr, fnmr : float
        Rates of the given pairs at the threshold. The rate that was promised to be low is
        underestimated, as the threshold was chosen for it.
    n_items, n_different, n_same : int
    """

    threshold: float
    interval: tuple[float, float] | None
    promise: str
    promised: bool
    rule: Guarantee
    fmr: float
    fnmr: float
    n_items: int
    n_different: int
    n_same: int


def choose_threshold(
    distances: ArrayLike,
    same: ArrayLike,
    target: str = "eer",
    *,
    items: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    prevalence: float | None = None,
    confidence: float = 0.95,
    guarantee: Guarantee = "approximate",
    random_state: int = 0,
) -> ChosenThreshold:
    """Choose a threshold on the distance that keeps a target on pairs of new items.

    An error rate rises with the threshold, or falls. So thresholds of a grid are tested from the
    strictest on, each by the upper bound of `error_rates`, and the last one before the first
    failure is chosen: the target is kept as often as one bound holds. The first of them has at
    least 10 errors. If it fails, the same is done with disjoint pairs, which needs no errors.

    Up to 100 errors (or a tenth of the pairs) the effective pairs are at most those at 100, as the
    items that cause most errors need not be among the first. No threshold is chosen at which the
    share of errors among all pairs is above the target.

    Parameters
    ----------
    distances : array-like of shape (n_pairs,)
        Of pairs that the metric was not learned from.
    same : array-like of bool of shape (n_pairs,)
        True for pairs that belong together.
    target : str, default="eer"
        What the threshold is for:

        - "fmr<=0.001": at most this share of different pairs is accepted. The largest such
          threshold.
        - "fnmr<=0.05" or "recall>=0.95": at most this share of same pairs is rejected. The
          smallest such threshold.
        - "precision>=0.99": at least this share of the accepted pairs is *same*, where the share
          `prevalence` of all pairs is.
        - "eer": both error rates are equal. Nothing is promised, and the interval is always
          approximate.
        - "accuracy": the accuracy is highest at `prevalence`, by default one half. Nothing is
          promised.
    items, groups : array-like, optional
        Which pairs share items or subjects, as for `error_rates`.
    prevalence : float, optional
        The share of same pairs where the threshold will be used.
    confidence : float, default=0.95
        Of the promise.
    guarantee : {"approximate", "exact", "bootstrap"}, default="approximate"
        How bounds are found, as for `error_rates`.
    random_state : int, default=0
        Decides the disjoint pairs and the draws of the bootstrap.

    Returns
    -------
    ChosenThreshold

    Raises
    ------
    GuaranteeError
        If the target cannot be promised; it says about how many pairs and items would do, or why
        more would not help.

    Warns
    -----
    UserWarning
        If a variance rests on fewer than 8 degrees of freedom: a few items cause most errors, and
        the promise, which then says so, or the interval may not hold.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.statistics import choose_threshold
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(400) % 100
    >>> X = 3 * rng.normal(size=(100, 2))[y] + rng.normal(size=(400, 2))
    >>> items = np.stack(np.triu_indices(400, 1), axis=1)
    >>> distances = np.linalg.norm(X[items[:, 0]] - X[items[:, 1]], axis=1)
    >>> same = y[items[:, 0]] == y[items[:, 1]]
    >>> chosen = choose_threshold(distances, same, "fmr<=0.05", items=items, groups=y)
    >>> print(chosen.promise)
    With 95% confidence over draws of subjects, FMR at this threshold is at most 5% (approximate).
    """
    parsed = parse_target(target)
    check_confidence("choose_threshold", confidence, guarantee, random_state)
    check_prevalence(parsed, prevalence)
    pairs = ScoredPairs.check(distances, same, items, groups)
    if pairs.distances.min() == pairs.distances.max():
        raise ValueError(
            f"distances are all equal to {pairs.distances[0]:.6g}, but a threshold needs at least "
            "two different ones."
        )
    rule: Guarantee = "approximate"
    if parsed.name in ("eer", "accuracy"):
        threshold, interval, freedom = _optimum(pairs, parsed, prevalence, confidence)
        pairs.warn_of_few_degrees(freedom)
        sentence = no_promise(parsed, pairs, threshold)
    else:
        kind = pairs.same_pairs if parsed.name == "fnmr" else pairs.different_pairs
        if parsed.name == "precision" and prevalence is not None:
            passed = walk_precision(
                pairs, parsed.rate, prevalence, confidence, guarantee, random_state
            )
        else:
            passed = walk_rate(kind, pairs, parsed.rate, confidence, guarantee, random_state)
        if passed is None:
            raise refusal(parsed, pairs, prevalence, confidence, guarantee, random_state)
        pairs.warn_of_few_degrees(passed.degrees_of_freedom)
        threshold, rule = passed.threshold, passed.rule
        sentence = promise(
            parsed, prevalence, confidence, rule, pairs.unit, passed.degrees_of_freedom
        )
        interval = None
        if parsed.name != "precision":
            ends = threshold_interval(kind, parsed.rate, confidence, guarantee, random_state)
            # The exact rule, which decides if the first approximate test fails, may be stricter.
            interval = min(ends[0], threshold), max(ends[1], threshold)
    return ChosenThreshold(
        threshold=threshold,
        interval=interval,
        promise=sentence,
        promised=parsed.name not in ("eer", "accuracy"),
        rule=rule,
        fmr=float((pairs.distances[~pairs.same] <= threshold).mean()),
        fnmr=float((pairs.distances[pairs.same] > threshold).mean()),
        n_items=pairs.n_items,
        n_different=pairs.n_different,
        n_same=pairs.n_same,
    )


def check_prevalence(target: Target, prevalence: float | None) -> None:
    """Raise an error if the prevalence is missing, or is no share."""
    if prevalence is None:
        if target.name == "precision":
            raise ValueError(
                f"prevalence is missing, but target={quote(target.text)} depends on the share of "
                "same pairs where the threshold will be used."
            )
    elif not strictly_between(0, 1).holds(prevalence):
        raise ValueError(
            f"prevalence={quote(prevalence)} is not allowed: a number above 0 and below 1 is "
            "needed."
        )


def _optimum(
    pairs: ScoredPairs, target: Target, prevalence: float | None, confidence: float
) -> tuple[float, tuple[float, float] | None, float]:
    """Return the threshold of equal errors or of the best accuracy.

    With the interval of the former, and its degrees of freedom.
    """
    curve = verification_curve(pairs.distances, pairs.same)
    thresholds, fmr, fnmr = curve.thresholds[1:], curve.fmr[1:], curve.fnmr[1:]
    if target.name == "accuracy":
        share = 0.5 if prevalence is None else prevalence
        best = int(np.argmin(share * fnmr + (1 - share) * fmr))
        return float(thresholds[best]), None, np.inf
    best = int(np.argmin(np.abs(fmr - fnmr)))
    interval, freedom = equal_error_interval(pairs, thresholds, confidence)
    return float(thresholds[best]), interval, freedom
