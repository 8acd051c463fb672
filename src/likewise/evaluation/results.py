"""What a comparison found, ready to be printed, stored or read on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from sklearn.base import clone

from likewise._runtime.text import list_some
from likewise._runtime.validation import pluralize


@dataclass(frozen=True)
class MethodResult:
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

    name: str
    call: str = ""
    title: str = ""
    error: float = math.nan
    spread: float = math.nan
    eer: float = math.nan
    fit_seconds: float = math.nan
    rank: int | None = None
    difference: float = math.nan
    interval: tuple[float, float] = (math.nan, math.nan)
    errors: tuple[float, ...] = ()
    eers: tuple[float, ...] = ()
    failed: str | None = None
    warned: str | None = None
    n_warned: int = 0


_MANY_COPIES = 0.05


@dataclass(frozen=True)
class Comparison:
    """What `compare` found; print it, or read `rows`, `outcome` and `verdict`.

    Attributes
    ----------
    rows : tuple of MethodResult
        One for each method.
    outcome : {"use", "no difference", "undecided", "untested"}
        "use": a metric is better than `Euclidean`. "no difference": none is better by 2 points.
        "undecided": neither is shown. "untested": there was no `Euclidean`, or nothing else.
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
    n_copies : int
        Rows that are equal to another one (with groups: to one of another group).
    n_neighbors, n_repeats, n_folds, standardized, n_pairs, random_state
        The settings.
    estimators : mapping of str to estimator
        The unfitted estimators by name.
    """

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
    n_copies: int
    n_neighbors: int
    n_repeats: int
    n_folds: int
    standardized: bool
    n_pairs: int
    random_state: int
    estimators: Mapping[str, Any] = field(repr=False, compare=False, default_factory=dict)

    def best_estimator(self) -> Any:
        """Return the recommended estimator, unfitted, as it was tried.

        If the comparison is undecided, it is the one with the lowest error.

        Examples
        --------
        >>> from likewise.datasets import load
        >>> from likewise.evaluation import compare
        >>> wine = load("wine")
        >>> compare(wine.X, wine.y, ["Euclidean", "RCA"]).best_estimator()
        RCA()
        """
        fitted = [row for row in self.rows if row.failed is None]
        if not fitted:
            raise ValueError("no method could be fitted, so there is no best estimator.")
        lowest = min(fitted, key=lambda row: row.error)
        return clone(self.estimators[self.recommended or lowest.name])

    @property
    def caption(self) -> str:
        """Say how the numbers were obtained."""
        features = "standardised on each training part" if self.standardized else "raw"
        groups = "" if self.n_groups is None else f", {self.n_groups} groups kept together"
        return (
            f"{pluralize(self.n_samples, 'row')}, {pluralize(self.n_features, 'feature')} "
            f"({features}), {self.n_classes} classes{groups}; {self.n_neighbors}-NN test error "
            f"and its spread over {self.n_repeats}×{self.n_folds} stratified folds; EER of pairs "
            "of test rows"
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Say what the table does not show: parameters, failures, warnings and odd data."""
        return (*self._notes_on_data(), *self._notes_on_methods())

    def _notes_on_data(self) -> list[str]:
        notes = []
        if self.id_columns:
            listed, plural = list_some(self.id_columns, 5), len(self.id_columns) > 1
            notes.append(
                f"Column{'s' if plural else ''} {listed} look{'' if plural else 's'} like row "
                "numbers, which say nothing about new rows: leave "
                f"{'them' if plural else 'it'} out."
            )
        if self.n_copies > _MANY_COPIES * self.n_samples:
            notes.append(
                f"{self.n_copies} of {self.n_samples} rows are equal to another one. Copies in "
                "training and test parts make errors too low: remove them, or keep them together "
                "as groups."
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

    def _notes_on_methods(self) -> list[str]:
        notes = []
        if calls := [row.title for row in self.rows if row.title != row.name]:
            notes.append(f"Not with default parameters: {', '.join(calls)}.")
        notes += [f"{row.name} failed: {row.failed}" for row in self.rows if row.failed]
        n_fits = self.n_repeats * self.n_folds
        notes += [
            f"{row.name} warned in {row.n_warned} of {n_fits} fits: {row.warned}"
            for row in self.rows
            if row.warned
        ]
        return notes

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values that JSON can hold; NaN becomes None."""
        everything = {
            item.name: getattr(self, item.name)
            for item in fields(self)
            if item.name != "estimators"
        }
        everything |= {"caption": self.caption, "notes": self.notes}
        return {name: _plain(value) for name, value in everything.items()}

    def __str__(self) -> str:
        width = max(len("metric"), *(len(row.name) for row in self.rows))
        lines = [f"{'metric':{width}}    error   spread      EER    fit s   rank"]
        lines += [_line(row, width) for row in self.rows]
        return "\n".join([*lines, f"({self.caption})", *self.notes, self.verdict])


def _line(row: MethodResult, width: int) -> str:
    if row.failed is not None:
        return f"{row.name:{width}}   failed"
    return (
        f"{row.name:{width}}  {row.error:7.2%}  {row.spread:7.2%}  {_rate(row.eer):>7}"
        f"  {row.fit_seconds:7.3f}  {'–' if row.rank is None else row.rank:>5}"
    )


def _rate(rate: float) -> str:
    return "–" if math.isnan(rate) else f"{rate:.2%}"


def _plain(value: Any) -> Any:
    if isinstance(value, MethodResult):
        return {item.name: _plain(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
