"""What a benchmark declares: its data, its rivals, its measures and its targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

OURS = "likewise"
REGISTRY: dict[str, Benchmark] = {}

Arrays = Mapping[str, NDArray]


@dataclass(frozen=True)
class Rival:
    """The code of a rival: ``file:function`` in `rivals/`, and the environment that it needs.

    The function imports what it needs and returns the function to be timed, which takes the
    prepared arrays and returns arrays. `ours` marks further rows of ours beside the row `OURS`:
    they are shown, and may have targets, but do not count as rivals.
    """

    function: str
    environment: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    ours: bool = False


@dataclass(frozen=True)
class Target:
    """A goal on some data: `times` less than the best rival, or less than `below`.

    `standard_error` names the fact that holds the standard error of the measure in one run; a
    difference of less than two standard errors does not count. `row` is the row that the target is
    for, where several rows are ours, and `against` the only rival that counts. `note` is shown
    beside the target.
    """

    dataset: str
    measure: str
    times: float | None = None
    below: float | None = None
    standard_error: str | None = None
    row: str = OURS
    against: str | None = None
    note: str = ""


@dataclass(frozen=True)
class Growth:
    """A figure: measures over a fact, on logarithmic axes, each beside its expected power law."""

    over: str
    powers: dict[str, float]


class Benchmark:
    """The base class of declarations; the decorator `benchmark` adds data, repeats and limits."""

    rivals: ClassVar[dict[str, Rival]]
    # Measures are compared (less is better in all of them); facts are only shown.
    measures: ClassVar[Sequence[str]] = ("warm_s", "cold_s", "added_mb")
    facts: ClassVar[Sequence[str]] = ("cpu_s", "peak_mb")
    # The table shows the mean of these over all runs, and the median of the others.
    averaged: ClassVar[Sequence[str]] = ()
    targets: ClassVar[Sequence[Target]] = ()
    plot: ClassVar[Growth | None] = None
    # A first call that takes longer is not followed by a warm call: its time stands for both.
    warm_below_s: ClassVar[float] = 30

    name: str
    datasets: Sequence[str]
    smoke_datasets: Sequence[str]
    seeds: Sequence[int]
    repeats: int
    threads: int
    budget_s: float

    def prepare(self, X: NDArray, y: NDArray, seed: int) -> Arrays:
        """Return the arrays that every rival is given."""
        return {"X": X, "y": y, "seed": np.asarray(seed)}

    def reference(self, arrays: Arrays) -> Any:
        """Return the reference that `score` compares with, computed once per seed."""

    def score(self, result: Arrays, arrays: Arrays, reference: Any) -> dict[str, float]:
        """Return our own scores of a rival's result, or raise `WrongAnswerError`."""
        raise NotImplementedError

    def rates(self, measured: dict[str, float], arrays: Arrays) -> dict[str, float]:
        """Return further facts, computed from what was measured."""
        return {}


class WrongAnswerError(Exception):
    """A rival's result does not solve the problem of the benchmark."""


def benchmark(
    name: str,
    *,
    datasets: Sequence[str],
    smoke: Sequence[str] | None = None,
    seeds: Sequence[int] = (0,),
    repeats: int = 5,
    threads: int = 2,
    budget_s: float = 120,
):
    """Declare a benchmark: `budget_s` limits one run of one rival, `smoke` names what tests run."""

    def declare(cls: type[Benchmark]) -> type[Benchmark]:
        declared = cls()
        declared.name, declared.datasets, declared.seeds = name, datasets, seeds
        declared.smoke_datasets = smoke or datasets[:1]
        declared.repeats, declared.threads, declared.budget_s = repeats, threads, budget_s
        REGISTRY[name] = declared
        return cls

    return declare
