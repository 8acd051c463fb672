"""Whether a promised error rate still holds, pair by pair."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.special
from numpy.typing import ArrayLike

from likewise._runtime.arrays import FloatArray
from likewise._runtime.text import quote
from likewise._runtime.validation import (
    at_least,
    check_parameters,
    either,
    none,
    strictly_between,
)
from likewise.statistics._pair_units import check_scored_pairs
from likewise.statistics._promise import percent
from likewise.statistics._target import parse_target

__all__ = ["Alarm", "ThresholdMonitor"]

# Alternatives, as multiples of the promised rate; the last is half-way between it and 1.
_RATIOS = (1.2, 1.5, 2.0, 3.0, 5.0, 10.0)
_GROWTH = 1.25  # of the starting points: a change is at most a fifth of the stream after one
_WHAT = {
    "fmr": ("FMR", "different pairs"),
    "fnmr": ("FNMR", "same pairs"),
    "precision": ("The share of wrong matches", "accepted pairs"),
}


@dataclass(frozen=True)
class Alarm:
    """What changed, when a promised error rate no longer holds.

    Attributes
    ----------
    rate : str
        "fmr", "fnmr" or "precision" (then the rates are those of wrong matches).
    promised : float
        The rate that was promised.
    since : int
        About which pair the change began with, counted from 1 over all pairs of the stream.
    raised_at : int
        The pair that raised the alarm.
    rate_before, rate_after : float
        The rate of the relevant pairs before `since` (NaN if there were none) and from it on.
    n_after : int
        The relevant pairs from `since` on.
    distance_before, distance_after : float
        Mean distance of the relevant pairs before `since` and from it on.
    group : str or None
        The group whose errors rose most, if there are two or more.
    e_value : float
        The evidence: at least 1/alpha.
    message : str
        All that in a sentence.
    """

    rate: str
    promised: float
    since: int
    raised_at: int
    rate_before: float
    rate_after: float
    n_after: int
    distance_before: float
    distance_after: float
    group: str | None
    e_value: float
    message: str


class ThresholdMonitor:
    r"""Watches whether an error rate that was promised for a threshold still holds.

    Pairs are judged one after the other. Each pair that the rate is about is an error or not,
    x = 1 or 0. Under the hypothesis that the rate is at most the promised q, whatever came before,

    .. math:: E_t = \sum_k w_k \, \frac1m \sum_{r} \prod_{s_k < i \le t}
       \left(\frac{r}{q}\right)^{x_i} \left(\frac{1 - r}{1 - q}\right)^{1 - x_i}

    is a nonnegative supermartingale that begins with 1: the capital of a player who bets on
    rates r > q from each of the points :math:`s_k` of the stream on, with the shares
    :math:`w_k = 1/((k+1)(k+2))` of the capital. By Ville's inequality it ever reaches
    1/alpha with probability at most alpha. So the alarm is raised at 1/alpha, and a monitor that
    runs for ever raises a false one with probability at most alpha.

    Parameters
    ----------
    target : str
        What was promised: "fmr<=0.01", "fnmr<=0.05", "recall>=0.95" or "precision>=0.99". The
        last is about the accepted pairs as they come: their share of same pairs is not corrected.
    threshold : float
        Pairs of at most this distance are accepted as *same*.
    alpha : float, default=0.05
        The probability of a false alarm, over all time.
    window : int or None, default=200
        Relevant pairs in the window of the baseline, an exact binomial test of the last ones at
        level alpha. It is repeated with every pair, so that its false alarms add up: it is there
        to compare with.
    n_before : int, default=0
        Pairs of the stream before the first one that is taken in; an alarm numbers the pairs of
        the whole stream.

    Attributes
    ----------
    alarm_ : Alarm or None
        The first alarm. It stays.
    e_value_ : float
        The evidence against the promise now.
    n_pairs_, n_relevant_, n_errors_ : int
        Pairs seen; those that the rate is about; the errors among them.
    window_p_value_ : float
        Of the baseline; 1 until the window is full.
    window_alarm_ : int or None
        The pair at which the baseline first raised an alarm.

    References
    ----------
    I. Waudby-Smith, A. Ramdas, Estimating means of bounded random variables by betting, 2024.
    J. Ville, Étude critique de la notion de collectif, 1939.

    Examples
    --------
    >>> import numpy as np
    >>> import likewise as lw
    >>> rng = np.random.default_rng(0)
    >>> monitor = lw.ThresholdMonitor("fmr<=0.02", threshold=1.0)
    >>> before, after = 1 + rng.exponential(size=400), 0.8 + rng.exponential(size=200)
    >>> monitor.update_many(before, np.zeros(400, dtype=bool))  # no error: no alarm
    >>> alarm = monitor.update_many(after, np.zeros(200, dtype=bool))
    >>> print(alarm.message)
    FMR is no longer at most 2%: from about pair 429 on it is 17.1% (76 different pairs),
    before 0.234%; their mean distance is 1.71, before 2.11.
    """

    threshold: float
    alpha: float
    n_before: int
    e_value_: float
    n_pairs_: int
    n_errors_: int
    window_p_value_: float

    def __init__(
        self,
        target: str,
        threshold: float,
        *,
        alpha: float = 0.05,
        window: int | None = 200,
        n_before: int = 0,
    ) -> None:
        parsed = parse_target(target)
        if parsed.name in ("eer", "accuracy"):
            raise ValueError(
                f"target={quote(target)} is not allowed: ThresholdMonitor needs a rate that was "
                "promised, such as 'fmr<=0.01'."
            )
        check_parameters(
            "ThresholdMonitor",
            {"threshold": threshold, "alpha": alpha, "window": window, "n_before": n_before},
            {
                "threshold": strictly_between(-np.inf, np.inf),
                "alpha": strictly_between(0, 1),
                "window": either(none(), at_least(1)),
                "n_before": at_least(0),
            },
        )
        self.target = target
        self.threshold = float(threshold)
        self.alpha = float(alpha)
        self.window = window
        self.n_before = n_before
        self.alarm_: Alarm | None = None
        self.e_value_ = 1.0
        self.n_pairs_ = 0
        self.n_errors_ = 0
        self.window_p_value_ = 1.0
        self.window_alarm_: int | None = None
        self._kind = parsed.name
        self._rate = 1 - parsed.rate if parsed.name == "precision" else parsed.rate
        self._gain, self._loss = _log_odds(self._rate)
        self._starts: list[int] = []  # in relevant pairs
        self._log_capital = np.empty((0, len(self._gain)))
        self._numbers: list[int] = []
        self._distances: list[float] = []
        self._errors: list[bool] = []
        self._groups: list[str | None] = []

    @property
    def n_relevant_(self) -> int:
        """Pairs that the rate is about."""
        return len(self._errors)

    def update(self, distance: float, same: bool, group: str | None = None) -> Alarm | None:
        """Take in one judged pair.

        Parameters
        ----------
        distance : float
            Of the pair, by the metric of the threshold. The pairs must be a random sample, not
            chosen by their distance, and not those that the threshold was chosen on.
        same : bool
            What was judged.
        group : str, optional
            Where the pair comes from, such as an annotator; an alarm names the one that changed.

        Returns
        -------
        Alarm or None
            The alarm, from the pair on that raised it.
        """
        value = float(distance)
        if not math.isfinite(value):
            raise ValueError(f"distance is {quote(distance)}, but a finite number is needed.")
        if same not in (True, False):
            raise ValueError(f"same is {quote(same)}, but True or False is needed.")
        flag = bool(same)
        self.n_pairs_ += 1
        accepted = value <= self.threshold
        relevant = {"fmr": not flag, "fnmr": flag, "precision": accepted}[self._kind]
        if relevant:
            error = accepted != flag
            self._begin_if_due()
            self._numbers.append(self.n_before + self.n_pairs_)
            self._distances.append(value)
            self._errors.append(error)
            self._groups.append(group)
            self.n_errors_ += error
            self._log_capital += self._gain if error else self._loss
            self._evaluate()
        return self.alarm_

    def update_many(
        self, distances: ArrayLike, same: ArrayLike, groups: Sequence[str] | None = None
    ) -> Alarm | None:
        """Take in judged pairs in order: `update` with each.

        Parameters
        ----------
        distances : array-like of shape (n_pairs,)
            Of the pairs.
        same : array-like of bool of shape (n_pairs,)
            What was judged.
        groups : sequence of str, optional
            Where each pair comes from.

        Returns
        -------
        Alarm or None
        """
        values, flags = check_scored_pairs(distances, same, both_kinds=False)
        if groups is not None and len(groups) != len(values):
            raise ValueError(
                f"groups has {len(groups)} entries, but there are {len(values)} pairs."
            )
        for position, (value, flag) in enumerate(zip(values, flags, strict=True)):
            self.update(value, flag, None if groups is None else groups[position])
        return self.alarm_

    def _begin_if_due(self) -> None:
        """Let a share of the capital begin to bet, if the stream has grown by a quarter."""
        position = len(self._errors)
        if not self._starts or position >= _GROWTH * self._starts[-1] + 1:
            self._starts.append(position)
            self._log_capital = np.vstack([self._log_capital, np.zeros(len(self._gain))])

    def _evaluate(self) -> None:
        n_starts = len(self._starts)
        shares = 1 / np.arange(1, n_starts + 1) / np.arange(2, n_starts + 2)
        with np.errstate(over="ignore"):  # infinite evidence is evidence
            capital = shares * np.exp(self._log_capital).mean(axis=1)
        # What has not begun to bet is still there: the shares from n on sum to 1/(n + 1).
        self.e_value_ = float(capital.sum() + 1 / (n_starts + 1))
        if self.window is not None and len(self._errors) >= self.window:
            recent = sum(self._errors[-self.window :])
            # The probability of at least so many errors at the promised rate.
            self.window_p_value_ = float(scipy.special.bdtrc(recent - 1, self.window, self._rate))
            if self.window_p_value_ <= self.alpha and self.window_alarm_ is None:
                self.window_alarm_ = self.n_pairs_
        if self.alarm_ is None and self.e_value_ >= 1 / self.alpha:
            self.alarm_ = self._alarm()

    def _change_point(self, errors: FloatArray) -> int:
        """Return since which relevant pair a higher rate explains the errors best (CUSUM)."""
        scores = np.outer(errors, self._gain) + np.outer(1 - errors, self._loss)
        sums = np.vstack([np.zeros(len(self._gain)), np.cumsum(scores, axis=0)[:-1]])
        lowest = sums.argmin(axis=0)
        best = int((scores.sum(axis=0) - sums.min(axis=0)).argmax())
        return int(lowest[best])

    def _alarm(self) -> Alarm:
        errors = np.array(self._errors, dtype=np.float64)
        start = self._change_point(errors)
        distances = np.array(self._distances)
        since = self._numbers[start]
        name, pairs = _WHAT[self._kind]
        after, before = float(errors[start:].mean()), _mean(errors[:start])
        far, near = float(distances[start:].mean()), _mean(distances[:start])
        group = self._changed_group(start)
        earlier = f", before {_short_percent(before)}" if start else ""
        mean_before = f", before {near:.3g}" if start else ""
        blamed = f"; its errors rose most in group {quote(group)}" if group is not None else ""
        claim = f"{name} is no longer at most {percent(self._rate)}"
        return Alarm(
            rate=self._kind,
            promised=self._rate,
            since=since,
            raised_at=self.n_before + self.n_pairs_,
            rate_before=before,
            rate_after=after,
            n_after=len(errors) - start,
            distance_before=near,
            distance_after=far,
            group=group,
            e_value=self.e_value_,
            message=(
                f"{claim}: from about pair {since} on it is {_short_percent(after)} "
                f"({len(errors) - start} {pairs}){earlier}; their mean distance is {far:.3g}"
                f"{mean_before}{blamed}."
            ),
        )

    def _changed_group(self, start: int) -> str | None:
        """Return the group with the most errors beyond those promised; one alone is no news."""
        if len(set(self._groups)) < 2:
            return None
        excess: dict[str, float] = {}
        for error, group in zip(self._errors[start:], self._groups[start:], strict=True):
            if group is not None:
                excess[group] = excess.get(group, 0.0) + error - self._rate
        return max(excess, key=lambda group: excess[group]) if excess else None


def _log_odds(rate: float) -> tuple[FloatArray, FloatArray]:
    """Return what an error, and no error, add to the logarithm of the capital of each bet."""
    alternatives = [rate * ratio for ratio in _RATIOS if rate * ratio < (1 + rate) / 2]
    rates = np.array([*alternatives, (1 + rate) / 2])
    return np.log(rates / rate), np.log1p(-rates) - np.log1p(-rate)


def _mean(values: FloatArray) -> float:
    return float(values.mean()) if len(values) else math.nan


def _short_percent(rate: float) -> str:
    return f"{100 * rate:.3g}%"
