"""Which metric to use, in one sentence that claims no more than the splits can show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from likewise.evaluation.results import MethodResult

BASELINE = "Euclidean"
SIGNIFICANCE = 0.05


class Verdict(NamedTuple):
    """The metric to use, and why."""

    recommended: str | None
    sentence: str


def corrected_t_test(differences: ArrayLike, n_train: int, n_test: int) -> float:
    """Return the two-sided p-value that paired differences over random splits have mean 0.

    The corrected resampled t-test of Nadeau and Bengio (Machine Learning 52, 2003): the splits'
    training rows overlap, so the variance of the mean is not s²/J but (1/J + n_test/n_train) s².

    Examples
    --------
    >>> from likewise.evaluation.verdict import corrected_t_test
    >>> round(corrected_t_test([0.02, 0.03, 0.01, 0.02, 0.04], n_train=70, n_test=30), 3)
    0.057
    """
    d = np.asarray(differences, dtype=np.float64)
    if len(d) < 2:
        return 1.0
    # Errors are whole numbers of rows, so differences that agree exactly may only look free of
    # scatter: the variance is never taken to be below that of rounding to one row.
    variance = max(float(d.var(ddof=1)), 1 / (12 * n_test**2))
    t = d.mean() / math.sqrt((1 / len(d) + n_test / n_train) * variance)
    return float(2 * stats.t.sf(abs(t), len(d) - 1))


def give_verdict(
    methods: Sequence[MethodResult], *, n_neighbors: int, n_train: int, n_test: int
) -> Verdict:
    """Say which of the methods that worked to use, and whether learning was worth it.

    The neighbours' errors decide. What is said of pairs is added only if it is significant.
    """
    learned = [method for method in methods if method.name != BASELINE]
    baseline = next((method for method in methods if method.name == BASELINE), None)
    if baseline is None and not learned:
        return Verdict(None, "No method could be fitted, so there is no metric to recommend.")
    if not learned:
        return Verdict(BASELINE, f"Use {BASELINE}: there is no learned metric to compare it with.")
    best = min(learned, key=lambda method: method.error)
    if baseline is None:
        return Verdict(
            best.name,
            f"Use {best.name}: its {n_neighbors}-NN test error, {best.error:.2%}, is the lowest "
            f"here; without {BASELINE} among the methods it is not known whether learning was "
            "worth it.",
        )

    def p_value(measured: Sequence[float], by_baseline: Sequence[float]) -> float:
        # The best of several is lucky too: Bonferroni's factor for having picked it.
        differences = np.subtract(by_baseline, measured)
        return min(1.0, len(learned) * corrected_t_test(differences, n_train, n_test))

    p = p_value(best.errors, baseline.errors)
    recommended, sentence = _about_neighbours(best, baseline, p, n_neighbors, len(learned))
    closest = min(learned, key=lambda method: method.eer)
    ahead = closest.eer < baseline.eer
    if ahead and (p := p_value(closest.eers, baseline.eers)) < SIGNIFICANCE:
        who = "it also" if closest.name == recommended else closest.name
        sentence += (
            f"; {who} tells pairs apart better, {closest.eer:.2%} against {baseline.eer:.2%} EER "
            f"(p = {p:.2g})"
        )
    return Verdict(recommended, sentence + ".")


def _about_neighbours(
    best: MethodResult, baseline: MethodResult, p: float, n_neighbors: int, n_learned: int
) -> tuple[str, str]:
    numbers = f"{best.error:.2%} against {baseline.error:.2%} {n_neighbors}-NN test error"
    n_splits = len(best.errors)
    picked = f", times {n_learned} for having picked the best" if n_learned > 1 else ""
    test = f"corrected paired t-test over {n_splits} splits{picked}, p = {p:.2g}"
    if n_splits < 2 and best.error < baseline.error:
        return BASELINE, (
            f"Use {BASELINE}: {best.name} is ahead, {numbers}, but one split cannot tell skill "
            "from chance, so learning is not shown to be worth it for neighbours"
        )
    if n_splits < 2:
        test = "on one split"
    if best.error < baseline.error and p < SIGNIFICANCE:
        return best.name, (
            f"Use {best.name}: it beats {BASELINE}, {numbers}, by more than chance explains "
            f"({test}), so learning was worth it"
        )
    if best.error < baseline.error:
        return BASELINE, (
            f"Use {BASELINE}: {best.name} is ahead, {numbers}, but not by more than chance "
            f"explains ({test}), so learning is not shown to be worth it for neighbours"
        )
    relation = "only equals it" if best.error == baseline.error else "loses to it"
    return BASELINE, (
        f"Use {BASELINE}: the best learned metric, {best.name}, {relation}, {numbers} ({test}), "
        "so learning was not worth it for neighbours"
    )
