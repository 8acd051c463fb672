"""What a comparison found, ready to be printed, stored or read on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from likewise._runtime.text import list_some, quote
from likewise._runtime.validation import pluralize
from likewise.evaluation._leaking_columns import describe_leaks
from likewise.evaluation._report import MethodRow, Report, notes_on_table, percent

_MOST = 0.9  # of the tested rows: a class of more makes any error small


@dataclass(frozen=True)
class MethodResult(MethodRow):
    """One method's row of a comparison; its numbers are NaN and None where it failed.

    Attributes
    ----------
    name : str
    call, title : str
        The constructor call of the estimator that was tried, and the same without a seed; the
        title is the name where that says everything.
    error, spread : float
        Share of the tested rows that are predicted wrongly, mean over the repeats, and the standard
        deviation of this error over the folds.
    eer : float
        Mean equal error rate on pairs of test rows; NaN if no class has two test rows, and for
        classifiers without a metric.
    fit_seconds : float
        Median time of a fit.
    rank : int or None
        Directions that matter to the metric of the first fold: its `effective_dimension`. None
        where it has no components.
    difference : float
        Error of `Euclidean` less this error; NaN without `Euclidean`, and for itself.
    interval : tuple of two floats
        Bounds of the difference. Each holds for all methods with 95 % confidence.
    errors, eers : tuple of float
        Test error and equal error rate of each fold, repeat by repeat.
    failed : str or None
        Why there are no numbers.
    warned : str or None
        What the method warned of first while it gave these numbers.
    n_warned : int
        Number of fits that warned.
    """

    error: float = math.nan
    spread: float = math.nan
    eer: float = math.nan
    errors: tuple[float, ...] = ()
    eers: tuple[float, ...] = ()

    @property
    def loss(self) -> float:
        """The error: less is better."""
        return self.error

    def _numbers(self) -> tuple[str, ...]:
        rates = (percent(rate) for rate in (self.error, self.spread, self.eer))
        return (*rates, f"{self.fit_seconds:.3f}", "–" if self.rank is None else str(self.rank))


@dataclass(frozen=True)
class Comparison(Report):
    """What `compare` found; print it, or read `rows`, `outcome` and `verdict`.

    Attributes
    ----------
    rows : tuple of MethodResult
        One for each method.
    outcome : {"use", "no difference", "undecided", "untested"}
        "use": a metric is better than `Euclidean`, or this is better than all others. "no
        difference": none is better by 2 points. "undecided": neither is shown. "untested": there
        was no `Euclidean`, or nothing else.
    recommended : str or None
        The method to use; None if undecided.
    leader : str or None
        The method with the lowest error that `difference` and `interval` are about.
    difference, interval : float, tuple of two floats
        The leader's, as in its row.
    needed_repeats, needed_rows : int or None
        If undecided: repeats on these rows, or rows with as many repeats, that would decide if the
        difference stays as seen. `needed_repeats` is None where no number of repeats is enough.
    verdict : str
        The same in words.
    n_samples, n_features, n_classes, n_groups : int
        Size of the data; `n_groups` is None without groups.
    n_untested : int
        Rows that are not tested, since their class occurs once only (with groups: in one group).
    untested_classes, id_columns : tuple of str
        Their classes, and the names of columns that look like row numbers.
    leaking_columns : tuple of str
        Names of columns that alone tell all classes apart without an error.
    largest_class : tuple of str and int
        The class with the most tested rows, and their number.
    similar_labels : tuple of tuples of str
        Labels that differ by spaces or case only, together.
    n_copies : int
        Rows that are equal to another one (with groups: to one of another group).
    n_neighbors, n_repeats, n_folds, standardized, n_pairs, random_state
        The settings.
    estimators : mapping of str to estimator
        The unfitted estimators by name.
    """

    headings: ClassVar[tuple[str, ...]] = ("error", "spread", "EER", "fit s", "rank")

    rows: tuple[MethodResult, ...]
    outcome: Literal["use", "no difference", "undecided", "untested"]
    recommended: str | None
    leader: str | None
    difference: float
    interval: tuple[float, float]
    needed_repeats: int | None
    needed_rows: int | None
    verdict: str
    n_samples: int
    n_features: int
    n_classes: int
    n_groups: int | None
    n_untested: int
    untested_classes: tuple[str, ...]
    id_columns: tuple[str, ...]
    leaking_columns: tuple[str, ...]
    largest_class: tuple[str, int]
    similar_labels: tuple[tuple[str, ...], ...]
    n_copies: int
    n_neighbors: int
    n_repeats: int
    n_folds: int
    standardized: bool
    n_pairs: int
    random_state: int
    estimators: Mapping[str, Any] = field(repr=False, compare=False, default_factory=dict)

    @property
    def caption(self) -> str:
        """Say how the numbers were obtained."""
        groups = "" if self.n_groups is None else f", {self.n_groups} groups kept together"
        return (
            f"{pluralize(self.n_samples, 'row')}, {pluralize(self.n_features, 'feature')} "
            f"({self._scaling}), {self.n_classes} classes{groups}; {self.n_neighbors}-NN test "
            f"error and its spread over {self.n_repeats}×{self.n_folds} stratified folds; EER of "
            "pairs of test rows"
        )

    def _notes_on_data(self) -> list[str]:
        notes = notes_on_table(self.id_columns, self.n_copies, self.n_samples)
        if self.leaking_columns:
            names = list(self.leaking_columns)
            notes.append(describe_leaks(names, self.n_classes, "Column"))
        if self.similar_labels:
            alike = "; ".join(
                list_some(map(quote, labels), 5) for labels in self.similar_labels[:3]
            )
            notes.append(
                f"Some labels differ by spaces or case only ({alike}), and count as different "
                "classes: if they are the same, write them alike."
            )
        name, size = self.largest_class
        n_tested = self.n_samples - self.n_untested
        if size > _MOST * n_tested:
            notes.append(
                f"{size} of {n_tested} tested rows are of class {name}: always to answer {name} "
                f"has an error of {1 - size / n_tested:.2%}."
            )
        if self.n_untested:
            where, once = "", "once only"
            if self.n_groups is not None:
                where, once = " where this splits no group", "in one group only"
            notes.append(
                f"Not tested, but kept in the training parts{where}: "
                f"{pluralize(self.n_untested, 'row')} of classes that occur {once} "
                f"({list_some(self.untested_classes, 5)})."
            )
        return notes
