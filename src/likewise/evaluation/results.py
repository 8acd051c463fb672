"""What a comparison found, ready to be printed, stored or read on."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class MethodResult:
    """One method's row of a comparison; its numbers are NaN and None where it failed.

    Attributes
    ----------
    name : str
    error, spread : float
        Mean of the kNN test error over the splits, and its standard deviation.
    eer : float
        Mean equal error rate on pairs of test rows; NaN if no class has two test rows.
    fit_seconds : float
        Median time of a fit.
    rank : int or None
        Directions that matter to the metric of the first split: its `effective_dimension`. None
        where it has no components.
    errors, eers : tuple of float
        kNN test error and equal error rate of each split, in the order of the splits.
    failed : str or None
        Why there are no numbers.
    warned : str or None
        What the method warned of while it gave these numbers.
    """

    name: str
    error: float = math.nan
    spread: float = math.nan
    eer: float = math.nan
    fit_seconds: float = math.nan
    rank: int | None = None
    errors: tuple[float, ...] = ()
    eers: tuple[float, ...] = ()
    failed: str | None = None
    warned: str | None = None


@dataclass(frozen=True)
class Comparison:
    """What `compare` found; print it, or read `rows`, `recommended` and `verdict`."""

    rows: tuple[MethodResult, ...]
    recommended: str | None
    verdict: str
    n_samples: int
    n_features: int
    n_classes: int
    n_neighbors: int
    n_splits: int
    test_size: float
    standardized: bool
    n_pairs: int
    random_state: int

    @property
    def caption(self) -> str:
        """Say how the numbers were obtained."""
        features = "standardised on each training part" if self.standardized else "raw"
        return (
            f"{self.n_samples} rows, {self.n_features} features ({features}), {self.n_classes} "
            f"classes; {self.n_neighbors}-NN test error and spread over {self.n_splits} "
            f"stratified splits with {self.test_size:.0%} test rows; EER of pairs of test rows"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values that JSON can hold; NaN becomes None."""
        everything = asdict(self) | {"caption": self.caption}
        return {name: _plain(value) for name, value in everything.items()}

    def __str__(self) -> str:
        width = max(len("metric"), *(len(row.name) for row in self.rows))
        lines = [f"{'metric':{width}}    error   spread      EER    fit s   rank"]
        lines += [_line(row, width) for row in self.rows]
        lines += [f"{row.name} warned: {row.warned}" for row in self.rows if row.warned]
        return "\n".join([*lines, f"({self.caption})", self.verdict])


def _line(row: MethodResult, width: int) -> str:
    if row.failed is not None:
        return f"{row.name:{width}}  failed: {row.failed}"
    return (
        f"{row.name:{width}}  {row.error:7.2%}  {row.spread:7.2%}  {row.eer:7.2%}"
        f"  {row.fit_seconds:7.3f}  {'–' if row.rank is None else row.rank:>5}"
    )


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
