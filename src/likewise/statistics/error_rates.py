"""False match and false non-match rate at a threshold, with intervals that hold for pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.special
from numpy.typing import ArrayLike

from likewise._runtime.text import quote
from likewise._runtime.validation import at_least, check_parameters, strictly_between
from likewise.statistics._error_order import ErrorOrder
from likewise.statistics._rate_bounds import Guarantee, RateBounds, check_confidence, rate_bounds
from likewise.statistics._scored_pairs import ScoredPairs


@dataclass(frozen=True)
class ErrorRates:
    """Both error rates of "same if distance <= threshold", with what can be said about them.

    Attributes
    ----------
    threshold : float
        The largest distance that is accepted as *same*.
    fmr : float
        False match rate: the share of different pairs that are accepted.
    fmr_interval : tuple of float
        Two-sided interval of `confidence`.
    fmr_upper : float
        One-sided bound of `confidence`: the rate is at most that.
    fnmr, fnmr_interval, fnmr_upper : float, tuple of float, float
        The same of the false non-match rate: the share of same pairs that are rejected.
    n_items : int
        Different items in the pairs.
    n_different, n_same : int
        Pairs of each kind.
    effective_pairs : tuple of float
        Independent pairs that would say as much, of the different and of the same pairs.
    confidence : float
    guarantee : {"approximate", "exact", "bootstrap"}
    """

    threshold: float
    fmr: float
    fmr_interval: tuple[float, float]
    fmr_upper: float
    fnmr: float
    fnmr_interval: tuple[float, float]
    fnmr_upper: float
    n_items: int
    n_different: int
    n_same: int
    effective_pairs: tuple[float, float]
    confidence: float
    guarantee: Guarantee


def error_rates(
    distances: ArrayLike,
    same: ArrayLike,
    threshold: float,
    *,
    items: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    confidence: float = 0.95,
    guarantee: Guarantee = "approximate",
    random_state: int = 0,
) -> ErrorRates:
    """Return the error rates of a threshold on the distance, with confidence intervals.

    Pairs that share an item are not independent, and a binomial interval of all pairs is too
    narrow for them: say by `items` which pairs share one.

    Parameters
    ----------
    distances : array-like of shape (n_pairs,)
        Large means different. The pairs must not have been used to learn the metric, nor to choose
        the threshold.
    same : array-like of bool of shape (n_pairs,)
        True for pairs that belong together. Both kinds are needed.
    threshold : float
        Pairs of at most this distance are accepted as *same*.
    items : array-like of shape (n_pairs, 2), optional
        The ids of the two items of each pair, integers or text. By default all pairs are
        independent: no two share an item.
    groups : array-like of shape (n_items,), optional
        The subject of each item, such as the person of a picture; `items` are then positions in
        it. Pairs that share a subject are dependent.
    confidence : float, default=0.95
        Of each interval, and of each one-sided bound.
    guarantee : {"approximate", "exact", "bootstrap"}, default="approximate"
        How the bounds are found.

        - "approximate": those of Clopper and Pearson for the effective number of pairs, which
          comes from the dyadic variance (Korn and Graubard).
        - "exact": Clopper and Pearson's of disjoint pairs, drawn at random. They hold for any
          number of items, but most pairs are not used. The order of the pairs must not depend on
          their distances, and the number of pairs of an item must not depend on how often it
          causes errors. The rates are still those of all pairs; a bound that such a rate exceeds
          is replaced by it.
        - "bootstrap": quantiles over 1000 draws of items.

        Where no pair is an error, or every pair is, all three use disjoint pairs.
    random_state : int, default=0
        Decides the disjoint pairs and the draws of the bootstrap.

    Returns
    -------
    ErrorRates

    Warns
    -----
    UserWarning
        If a variance rests on fewer than 8 degrees of freedom: a few items cause most errors, and
        the intervals may be too narrow.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.statistics import error_rates
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(400) % 100
    >>> X = 3 * rng.normal(size=(100, 2))[y] + rng.normal(size=(400, 2))
    >>> items = np.stack(np.triu_indices(400, 1), axis=1)
    >>> distances = np.linalg.norm(X[items[:, 0]] - X[items[:, 1]], axis=1)
    >>> same = y[items[:, 0]] == y[items[:, 1]]
    >>> rates = error_rates(distances, same, 1.0, items=items, groups=y)
    >>> round(rates.fmr, 3), round(rates.fmr_upper, 3)
    (0.023, 0.028)
    """
    check_confidence("error_rates", confidence, guarantee, random_state)
    pairs = ScoredPairs.check(distances, same, items, groups)
    if not strictly_between(-np.inf, np.inf).holds(threshold):
        raise ValueError(f"threshold is {quote(threshold)}, but a finite number is needed.")
    kinds = pairs.different_pairs, pairs.same_pairs
    counts = [kind.count(np.array([float(threshold)])) for kind in kinds]
    bounds = [
        rate_bounds(kind.variances, len(kind), count, guarantee, random_state)
        for kind, count in zip(kinds, counts, strict=True)
    ]
    pairs.warn_of_few_degrees(min(float(kind.degrees_of_freedom[0]) for kind in bounds))
    (fmr, fmr_interval, fmr_upper), (fnmr, fnmr_interval, fnmr_upper) = (
        _rate_and_bounds(kind, int(count[0]), bound, confidence)
        for kind, count, bound in zip(kinds, counts, bounds, strict=True)
    )
    return ErrorRates(
        threshold=float(threshold),
        fmr=fmr,
        fmr_interval=fmr_interval,
        fmr_upper=fmr_upper,
        fnmr=fnmr,
        fnmr_interval=fnmr_interval,
        fnmr_upper=fnmr_upper,
        n_items=pairs.n_items,
        n_different=pairs.n_different,
        n_same=pairs.n_same,
        effective_pairs=(
            float(bounds[0].effective_pairs[0]),
            float(bounds[1].effective_pairs[0]),
        ),
        confidence=float(confidence),
        guarantee=guarantee,
    )


def pairs_needed(target: float, confidence: float = 0.95, errors: int = 0) -> int:
    """Return how many independent pairs show that a rate is at most `target`.

    Parameters
    ----------
    target : float
        The rate not to be exceeded, above 0 and below 1.
    confidence : float, default=0.95
        Of the one-sided bound of Clopper and Pearson.
    errors : int, default=0
        How many of the pairs may be errors.

    Returns
    -------
    int
        Pairs that share no items. Pairs that do count for less: see `effective_pairs` of
        `error_rates`.

    Examples
    --------
    >>> from likewise.statistics import pairs_needed
    >>> [pairs_needed(0.001, errors=errors) for errors in (0, 1, 30)]
    [2995, 4742, 40686]
    """
    check_parameters(
        "pairs_needed",
        {"target": target, "confidence": confidence, "errors": errors},
        {
            "target": strictly_between(0, 1),
            "confidence": strictly_between(0, 1),
            "errors": at_least(0),
        },
    )
    # The bound is at most the target if so few errors are this unlikely at that rate.
    too_few, enough = errors, errors + 1
    while scipy.special.bdtr(errors, enough, target) > 1 - confidence:
        too_few, enough = enough, 2 * enough
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        if scipy.special.bdtr(errors, middle, target) <= 1 - confidence:
            enough = middle
        else:
            too_few = middle
    return enough


def _rate_and_bounds(
    kind: ErrorOrder, n_errors: int, bounds: RateBounds, confidence: float
) -> tuple[float, tuple[float, float], float]:
    """Return the rate, its two-sided interval and its upper bound."""
    both_sides = (1 + confidence) / 2
    interval = float(bounds.lower(both_sides)[0]), float(bounds.upper(both_sides)[0])
    return n_errors / len(kind), interval, float(bounds.upper(confidence)[0])
