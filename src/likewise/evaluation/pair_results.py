"""What a comparison on pairs found, ready to be printed, stored or read on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from likewise._runtime.validation import pluralize
from likewise.evaluation._report import MethodRow, Report, notes_on_table
from likewise.statistics.dyadic import FEW_DEGREES_OF_FREEDOM

FMRS = (0.01, 0.001)

Interval = tuple[float, float]
_NONE: Interval = (math.nan, math.nan)


@dataclass(frozen=True)
class PairMethodResult(MethodRow):
    """One method's row of a comparison on pairs; its numbers are NaN where it failed.

    Intervals are two-sided, of 95 % confidence, for draws of items.

    Attributes
    ----------
    name : str
    call, title : str
        The constructor call of the estimator that was tried, and the same without a seed; the
        title is the name where that says everything.
    auc, auc_interval : float, tuple of two floats
        Area under the ROC curve of test pairs: the chance that a same pair is closer than a
        different one.
    eer, eer_interval : float, tuple of two floats
        Equal error rate.
    fnmr, fnmr_intervals : tuple of float, tuple of intervals
        False non-match rate where the false match rate is 1 % and 0.1 %; NaN if there are too few
        different pairs to tell.
    difference : float
        AUC less that of `Euclidean`; NaN for itself, and if it failed.
    interval : tuple of two floats
        Bounds of the difference. Each holds for all methods with 95 % confidence.
    degrees_of_freedom : float
        Of the variance of the difference: the number of items (with groups: of subjects) that it
        rests on.
    fit_seconds : float
        Median time of a fit.
    rank : int or None
        Directions that matter to the metric of the first split: its `effective_dimension`. None
        where it has no components.
    failed : str or None
        Why there are no numbers.
    warned : str or None
        What the method warned of first while it gave these numbers.
    n_warned : int
        Number of fits that warned.
    """

    auc: float = math.nan
    auc_interval: Interval = _NONE
    eer: float = math.nan
    eer_interval: Interval = _NONE
    fnmr: tuple[float, ...] = (math.nan,) * len(FMRS)
    fnmr_intervals: tuple[Interval, ...] = (_NONE,) * len(FMRS)
    degrees_of_freedom: float = math.nan

    @property
    def loss(self) -> float:
        """1 - AUC: less is better."""
        return 1 - self.auc

    def _numbers(self) -> tuple[str, ...]:
        return (
            _with_interval(self.auc, self.auc_interval),
            _with_interval(self.eer, self.eer_interval),
            *map(_with_interval, self.fnmr, self.fnmr_intervals),
            f"{self.fit_seconds:.3f}",
        )


@dataclass(frozen=True)
class PairComparison(Report):
    """What `compare_pairs` found; print it, or read `rows`, `outcome` and `verdict`.

    Attributes
    ----------
    rows : tuple of PairMethodResult
        One for each method.
    outcome : {"use", "no difference", "undecided", "untested"}
        "use": a metric has a larger AUC than `Euclidean`, or this than all others. "no
        difference": none is better by 2 points. "undecided": neither is shown. "untested":
        `Euclidean`, or all else, failed.
    recommended : str or None
        The method to use; None if undecided.
    leader : str or None
        The method with the largest AUC that `difference` and `interval` are about.
    difference, interval : float, tuple of two floats
        The leader's, as in its row.
    needed_items : int or None
        If undecided: items, or with groups subjects, that would decide if the difference, and the
        number of pairs of each, stay as seen.
    verdict : str
        The same in words.
    n_items, n_features, n_groups : int
        Items in the pairs, features, and subjects; `n_groups` is None without groups.
    n_same, n_different : int
        Pairs.
    n_tested : int
        Pairs that were tested in at least one split: of the others, the two items were never in the
        same test part.
    n_repeats, n_folds, standardized, random_state
        The settings.
    id_columns, n_copies : tuple of str, int
        Names of columns that look like row numbers, and rows that are equal to another one (with
        groups: of another group).
    estimators : mapping of str to estimator
        The unfitted estimators by name.
    """

    headings: ClassVar[tuple[str, ...]] = (
        "AUC %",
        "EER %",
        "FNMR % at FMR 1%",
        "at FMR 0.1%",
        "fit s",
    )

    rows: tuple[PairMethodResult, ...]
    outcome: Literal["use", "no difference", "undecided", "untested"]
    recommended: str | None
    leader: str | None
    difference: float
    interval: Interval
    needed_items: int | None
    verdict: str
    n_items: int
    n_features: int
    n_groups: int | None
    n_same: int
    n_different: int
    n_tested: int
    n_repeats: int
    n_folds: int
    standardized: bool
    random_state: int
    id_columns: tuple[str, ...]
    n_copies: int
    estimators: Mapping[str, Any] = field(repr=False, compare=False, default_factory=dict)

    @property
    def caption(self) -> str:
        """Say how the numbers were obtained."""
        groups = "" if self.n_groups is None else f" of {self.n_groups} subjects"
        return (
            f"{pluralize(self.n_items, 'item')}{groups}, "
            f"{pluralize(self.n_features, 'feature')} ({self._scaling}), {self.n_same} same and "
            f"{self.n_different} different pairs; rates of test pairs with 95% intervals, "
            f"{self.n_repeats}×{self.n_folds} splits with no {self._unit} in both parts"
        )

    @property
    def _unit(self) -> str:
        """What is drawn: an item, or with groups a subject."""
        return "item" if self.n_groups is None else "subject"

    def _notes_on_data(self) -> list[str]:
        notes = notes_on_table(self.id_columns, self.n_copies, self.n_items)
        n_pairs = self.n_same + self.n_different
        if self.n_tested < n_pairs:
            notes.append(
                f"{n_pairs - self.n_tested} of {n_pairs} pairs were never tested, since their two "
                "items were always in different parts; more repeats would test more."
            )
        if any(row.degrees_of_freedom < FEW_DEGREES_OF_FREEDOM for row in self.rows):
            notes.append(
                f"Some differences rest on fewer than {FEW_DEGREES_OF_FREEDOM} {self._unit}s: "
                "their bounds may be too narrow."
            )
        return notes


def _with_interval(rate: float, interval: Interval) -> str:
    if math.isnan(rate):
        return "–"
    low, high = interval
    return f"{100 * rate:.1f} ({100 * low:.1f}–{100 * high:.1f})"
