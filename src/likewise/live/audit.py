"""What the audit stream says: error rates, a threshold with its promise, drift, and the curve."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import count, takewhile
from typing import Any

import numpy as np

from likewise._runtime.arrays import Array, BoolArray, FloatArray, IndexArray
from likewise._runtime.text import quote
from likewise.exceptions import GuaranteeError
from likewise.live.view import ModelView
from likewise.statistics import choose_threshold, place_pairs, rate_interval
from likewise.statistics._target import parse_target
from likewise.threshold_monitor import ThresholdMonitor

__all__ = ["AuditPairs", "CurvePoint", "audit_report", "check_target", "learning_curve"]

_FIRST_PROMISE = 64  # audit pairs; then whenever their number has doubled
_MAX_POINTS = 40
_ALPHA = 0.05  # of all monitors together
_WEAKER_RATES = (0.2, 0.1, 0.05, 0.02, 0.01)
_NEARBY = (
    "This holds for pairs drawn as the audit stream draws them, half of them neighbours, and not "
    "for all pairs."
)


@dataclass(frozen=True)
class AuditPairs:
    """The decided pairs of the audit stream, in order.

    Attributes
    ----------
    pairs : array of int of shape (n_pairs, 2)
        Rows of the items.
    same : array of bool of shape (n_pairs,)
    annotators : list of str
    learned_before : array of int of shape (n_pairs,)
        How many judgements were learned when each was made.
    """

    pairs: IndexArray
    same: BoolArray
    annotators: list[str]
    learned_before: IndexArray

    def __len__(self) -> int:
        return len(self.same)

    def __getitem__(self, part: slice) -> AuditPairs:
        return AuditPairs(
            self.pairs[part], self.same[part], self.annotators[part], self.learned_before[part]
        )

    @property
    def both_kinds(self) -> bool:
        """Whether there are same and different pairs."""
        return bool(self.same.any() and not self.same.all())


@dataclass(frozen=True)
class CurvePoint:
    """The ranking error of one model on all audit pairs, with its interval.

    It is the chance that a different pair is closer than a same pair, 1 − AUC.
    """

    judgements: int
    error: float
    low: float
    high: float


def check_target(target: str) -> None:
    """Raise an error for what is no target, and for targets without a rate to be promised."""
    try:
        name = parse_target(target).name
    except ValueError:  # which lists more than is allowed here
        name = ""
    if name not in ("fmr", "fnmr"):
        raise ValueError(
            f"target={quote(target)} is not allowed: 'fmr<=RATE', 'fnmr<=RATE' or 'recall>=RATE' "
            "is needed, with a rate above 0 and below 1."
        )


def learning_curve(
    X: Array, audit: AuditPairs, checkpoints: Mapping[int, ModelView]
) -> list[CurvePoint]:
    """Return the ranking error of the models at the checkpoints.

    No model has learned from any audit pair, so each is evaluated on all of them, also on those
    judged before it.
    """
    if not audit.both_kinds:
        return []
    points = []
    positions = sorted(checkpoints)
    step = max(1, -(-len(positions) // _MAX_POINTS))
    for position in positions[(len(positions) - 1) % step :: step]:
        distances = checkpoints[position].distances(X, audit.pairs)
        placed = place_pairs([distances], [np.arange(len(audit))], audit.same)
        auc = placed.auc()
        low, high = rate_interval(placed, auc, audit.pairs)
        points.append(CurvePoint(position, 1 - auc.value, 1 - high, 1 - low))
    return points


def audit_report(
    X: Array,
    audit: AuditPairs,
    view: ModelView,
    checkpoints: Mapping[int, ModelView],
    target: str,
    *,
    nearby: bool = False,
) -> dict[str, Any]:
    """Return what can be promised of the present model, and whether earlier promises still hold.

    A promise is made from the first 64, 128, … audit pairs, for the model of that time, and
    watched on the pairs that follow, until the next one is made. Whether half of them were drawn
    among neighbours, `nearby`, is said with the promise.
    """
    distances = view.distances(X, audit.pairs)
    promise = _promise(distances, audit, target)
    refusal, rate = promise.pop("refusal", None), None
    if refusal is not None:
        if (refusal.needed_items or 0) > len(X):
            rate = _strictest_rate(distances, audit, target)
        promise["promise"] = _refused(refusal, target, audit, len(X), rate)
    if nearby and (promise["promised"] or rate is not None):
        promise["promise"] += f" {_NEARBY}"
    return {
        "pairs": len(audit),
        "same": int(audit.same.sum()),
        "different": int(len(audit) - audit.same.sum()),
        "target": target,
        **promise,
        "drift": _drift(X, audit, checkpoints, target),
    }


def _promise(distances: Array, audit: AuditPairs, target: str) -> dict[str, Any]:
    """Return a threshold and what is promised of it, or why nothing is.

    A `refusal` is the error of a rate that cannot be promised, which is yet to be put into words.
    """
    nothing = {"threshold": None, "promised": False, "fmr": None, "fnmr": None}
    if not audit.both_kinds:
        return nothing | {
            "promise": "No rate can be promised before the audit stream has same and different "
            "pairs."
        }
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            chosen = choose_threshold(distances, audit.same, target, items=audit.pairs)
    except GuaranteeError as error:
        return nothing | {"promise": str(error), "refusal": error}
    except ValueError:
        return nothing | {"promise": "No rate can be promised: all audit pairs are equally far."}
    notes = " ".join(str(warning.message) for warning in caught)
    return {
        "threshold": chosen.threshold,
        "promised": chosen.promised,
        "promise": f"{chosen.promise} {notes}".strip(),
        "fmr": chosen.fmr,
        "fnmr": chosen.fnmr,
    }


def _refused(
    error: GuaranteeError, target: str, audit: AuditPairs, n_items: int, instead: float | None
) -> str:
    """Return for annotators why a rate cannot be promised, and what would help."""
    wanted = parse_target(target)
    refused = f"{_rate_in_words(wanted.name, wanted.rate)} cannot be promised"
    if error.needed_pairs is None or error.needed_items is None:
        return f"{refused}: {str(error).partition(': ')[2]}"
    is_same = wanted.name == "fnmr"
    found = int(audit.same.sum() if is_same else (~audit.same).sum())
    kind = "same" if is_same else "different"
    needed = (
        f"the audit stream has {found} {kind} {'pair' if found == 1 else 'pairs'}, and about "
        f"{error.needed_pairs} would do"
    )
    if error.needed_items <= n_items:
        return f"{refused} yet: {needed}."
    weaker = "" if instead is None else f" {_rate_in_words(wanted.name, instead)} can be."
    return (
        f"{refused} yet: {needed} if they were pairs of about {error.needed_items} items. This "
        f"data set has only {n_items}, which are probably too few for it.{weaker}"
    )


def _strictest_rate(distances: Array, audit: AuditPairs, target: str) -> float | None:
    """Return the strictest of some weaker rates that can be promised, or None.

    The rates are tried from the weakest on until one fails: in a fixed order, each test can have
    the level of all together.
    """
    wanted, promised = parse_target(target), None
    for rate in (rate for rate in _WEAKER_RATES if rate > wanted.rate):
        if not _promise(distances, audit, f"{wanted.name}<={rate}")["promised"]:
            break
        promised = rate
    return promised


def _rate_in_words(name: str, rate: float) -> str:
    kind = {"fmr": "match", "fnmr": "non-match"}[name]
    return f"A false {kind} rate of at most {100 * rate:.6g} %"


def _drift(
    X: Array, audit: AuditPairs, checkpoints: Mapping[int, ModelView], target: str
) -> dict[str, Any]:
    """Return the state of the monitor of the latest promise, and the alarms of all.

    The levels of the monitors sum to `_ALPHA`: so is the chance that any ever raises a false alarm.
    """
    promises: list[tuple[int, int, float, FloatArray]] = []
    starts = takewhile(lambda n: n < len(audit), (_FIRST_PROMISE << k for k in count()))
    for k, start in enumerate(starts, start=1):
        known = [at for at in checkpoints if at <= audit.learned_before[start - 1]]
        distances = checkpoints[max(known, default=min(checkpoints))].distances(X, audit.pairs)
        promise = _promise(distances[:start], audit[:start], target)
        if promise["promised"]:
            promises.append((k, start, promise["threshold"], distances))
    alarms: list[dict[str, Any]] = []
    latest: dict[str, Any] = {"watching": False, "e_value": None, "watched": 0, "alarms": alarms}
    stops = [*(start for _, start, _, _ in promises), len(audit)][1:]
    for (k, start, threshold, distances), stop in zip(promises, stops, strict=True):
        level = _ALPHA * 6 / (np.pi * k) ** 2
        monitor = ThresholdMonitor(target, threshold, alpha=level, n_before=start)
        watched = slice(start, stop)
        alarm = monitor.update_many(
            distances[watched], audit.same[watched], audit.annotators[watched]
        )
        if alarm is not None:
            alarms.append(asdict(alarm))
        latest |= {
            "watching": True,
            "e_value": monitor.e_value_,
            "alpha": level,
            "watched": monitor.n_pairs_,
            "threshold": threshold,
        }
    return latest
