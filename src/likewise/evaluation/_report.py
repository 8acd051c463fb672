"""What every comparison of methods shows: a table, notes and a verdict."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, ClassVar, TypeVar

from sklearn.base import clone

from likewise._runtime.text import list_some, printable


@dataclass(frozen=True)
class MethodRow:
    """What the row of a method has in every comparison; a subclass adds the numbers."""

    name: str
    call: str = ""
    title: str = ""
    difference: float = math.nan
    interval: tuple[float, float] = (math.nan, math.nan)
    fit_seconds: float = math.nan
    rank: int | None = None
    failed: str | None = None
    warned: str | None = None
    n_warned: int = 0

    @property
    def loss(self) -> float:
        """A number of which less is better."""
        raise NotImplementedError

    @property
    def cells(self) -> tuple[str, ...]:
        """The numbers as text, in the order of the headings of the table."""
        if self.failed is not None:
            return ("failed", "", "", "", "")
        return self._numbers()

    def _numbers(self) -> tuple[str, ...]:
        raise NotImplementedError


RowT = TypeVar("RowT", bound=MethodRow)


class Report:
    """The table, the notes on methods and the plain form of a comparison, a dataclass."""

    headings: ClassVar[tuple[str, ...]]
    rows: tuple[Any, ...]
    n_repeats: int
    n_folds: int
    standardized: bool
    recommended: str | None
    verdict: str
    estimators: Mapping[str, Any]

    @property
    def caption(self) -> str:
        """Say how the numbers were obtained."""
        raise NotImplementedError

    @property
    def notes(self) -> tuple[str, ...]:
        """Say what the table does not show: parameters, failures, warnings and odd data."""
        return (*self._notes_on_data(), *self._notes_on_methods())

    @property
    def n_fits(self) -> int:
        """How often each method was fitted: once for each fold, or split."""
        return self.n_repeats * self.n_folds

    @property
    def _scaling(self) -> str:
        return "standardised on each training part" if self.standardized else "raw"

    def best_estimator(self) -> Any:
        """Return the recommended estimator, unfitted, as it was tried.

        If the comparison is undecided, it is the one with the best number. Where `standardized` is
        True it was fitted to standardised features, and needs them again: see the example.

        Examples
        --------
        >>> from sklearn.pipeline import make_pipeline
        >>> from sklearn.preprocessing import StandardScaler
        >>> from likewise import MetricKNN
        >>> from likewise.datasets import load
        >>> from likewise.evaluation import compare
        >>> wine = load("wine")
        >>> best = compare(wine.X, wine.y, ["Euclidean", "RCA"]).best_estimator()
        >>> best
        RCA()
        >>> knn = make_pipeline(StandardScaler(), MetricKNN(metric=best)).fit(wine.X, wine.y)
        """
        fitted = [row for row in self.rows if row.failed is None]
        if not fitted:
            raise ValueError("no method could be fitted, so there is no best estimator.")
        best = min(fitted, key=lambda row: row.loss)
        return clone(self.estimators[self.recommended or best.name])

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values that JSON can hold; NaN becomes None."""
        everything = {
            item.name: getattr(self, item.name)
            for item in fields(self)  # type: ignore[arg-type]
            if item.name != "estimators"
        }
        everything |= {"caption": self.caption, "notes": self.notes}
        return {name: plain(value) for name, value in everything.items()}

    def _notes_on_data(self) -> list[str]:
        raise NotImplementedError

    def _notes_on_methods(self) -> list[str]:
        notes = []
        if calls := [row.title for row in self.rows if row.title != row.name]:
            notes.append(f"Not with default parameters: {', '.join(calls)}.")
        notes += [f"{row.name} failed: {row.failed}" for row in self.rows if row.failed]
        notes += [
            f"{row.name} warned in {row.n_warned} of {self.n_fits} fits: {row.warned}"
            for row in self.rows
            if row.warned
        ]
        return notes

    def __str__(self) -> str:
        lines = [("metric", *self.headings), *((row.name, *row.cells) for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        table = [
            f"{name:{widths[0]}}  "
            + "  ".join(f"{cell:>{width}}" for cell, width in zip(cells, widths[1:], strict=True))
            for name, *cells in lines
        ]
        return "\n".join([*table, f"({self.caption})", *self.notes, self.verdict])


_MANY_COPIES = 0.05
_NUMBERED = re.compile(r"\b(columns?) (\d+(?:, \d+(?! more))*)(?!\d| more| \()")


def notes_on_table(id_columns: Sequence[str], n_copies: int, n_samples: int) -> list[str]:
    """Say so if columns look like row numbers, and if many rows are copies."""
    notes = []
    if id_columns:
        listed, plural = list_some(id_columns, 5), len(id_columns) > 1
        notes.append(
            f"Column{'s' if plural else ''} {listed} look{'' if plural else 's'} like row "
            "numbers, which say nothing about new rows: leave "
            f"{'them' if plural else 'it'} out (--id or --drop on the command line; not in X in "
            "Python)."
        )
    if n_copies > _MANY_COPIES * n_samples:
        notes.append(
            f"{n_copies} of {n_samples} rows are equal to another one. Copies in "
            "training and test parts make errors too low: remove them, or keep them together "
            "as groups."
        )
    return notes


def with_column_names(row: RowT, names: Sequence[str] | None) -> RowT:
    """Return a row whose warning names columns: methods are fitted to arrays, and know numbers."""
    if row.warned is None or names is None:
        return row

    def named(match: re.Match[str]) -> str:
        numbers = [int(number) for number in match[2].split(", ")]
        if max(numbers) >= len(names):
            return match[0]
        return f"{match[1]} {', '.join(printable(str(names[i])) for i in numbers)}"

    return replace(row, warned=_NUMBERED.sub(named, row.warned))


def percent(rate: float) -> str:
    """Write a rate for a table; a dash if there is none."""
    return "–" if math.isnan(rate) else f"{rate:.2%}"


def plain(value: Any) -> Any:
    """Return what JSON can hold."""
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: plain(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
