"""What an experiment declares."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import matplotlib.figure

Result = Mapping[str, Any]
"""What one trial gave: numbers by the names of measures, and lists for figures."""


@dataclass(frozen=True, order=True)
class Trial:
    """One run of one method on one data set: it depends on nothing else.

    Attributes
    ----------
    run : int
        The number of the run, from 0; it seeds the trial together with the data set.
    dataset, method : str
        A row and a column of the table.
    """

    run: int
    dataset: str
    method: str

    @property
    def key(self) -> str:
        """The name of the trial in files and messages."""
        return f"{self.dataset} / {self.method} / {self.run}"


@dataclass(frozen=True)
class Measure:
    """A number that trials return.

    Attributes
    ----------
    name : str
        Its name in the results of a trial.
    title : str
        The heading of its table.
    higher_is_better : bool
        Whether larger values are better.
    decimals : int or None
        Decimals that tables show; None shows all digits of round numbers, such as 0.0001 or 10000.
    tested : str or None
        Where there is one run and the measure is a share in per cent: the name of the result with
        the number of rows that were tested, from which the binomial standard error is computed.
    judged : bool
        Whether numbers are marked as better or worse than the paper's. Times and counts, which
        depend on machines and programs, are only put beside them.
    """

    name: str
    title: str
    higher_is_better: bool = False
    decimals: int | None = 2
    tested: str | None = None
    judged: bool = True


@dataclass(frozen=True)
class Published:
    """A number in the paper.

    Attributes
    ----------
    dataset, method, measure : str
        The cell that it is compared with.
    value : float
        The number.
    deviation : float or None
        Its standard deviation over runs, where the paper gives one.
    runs : int
        The number of these runs. Where there are several and the paper gives no deviation, ours is
        taken for the paper's.
    """

    dataset: str
    method: str
    measure: str
    value: float
    deviation: float | None = None
    runs: int = 1

    @property
    def standard_error(self) -> float:
        """The standard error of the value; 0 where the paper gives no deviation."""
        return 0.0 if self.deviation is None else self.deviation / float(self.runs) ** 0.5


@dataclass(frozen=True)
class Size:
    """How much is run.

    Attributes
    ----------
    datasets, methods : tuple of str
        Rows and columns of the tables.
    runs : int
        Runs of each method on each data set.
    options : mapping
        Further arguments of the experiment's `run`: numbers of rows, pairs and the like.
    absent : frozenset of (str, str)
        Data sets and methods that have no trials together.
    runs_of : mapping from str or (str, str) to int
        The number of runs of data sets, or of data sets with a method, that have fewer.
    """

    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    runs: int
    options: Mapping[str, Any] = field(default_factory=dict)
    absent: frozenset[tuple[str, str]] = frozenset()
    runs_of: Mapping[str | tuple[str, str], int] = field(default_factory=dict)

    def trials(self) -> Iterator[Trial]:
        """Yield the trials, run by run: the time of the first ones tells that of the others."""
        for run in range(self.runs):
            for dataset in self.datasets:
                for method in self.methods:
                    if run < self._n_runs(dataset, method):
                        yield Trial(run, dataset, method)

    def _n_runs(self, dataset: str, method: str) -> int:
        if (dataset, method) in self.absent:
            return 0
        of_all_methods = self.runs_of.get(dataset, self.runs)
        return self.runs_of.get((dataset, method), of_all_methods)


@dataclass(frozen=True)
class Figure:
    """A figure that is drawn from the results of all trials.

    Attributes
    ----------
    name : str
        Ending of the file names.
    caption : str
        What it shows, and which figure of the paper it corresponds to.
    draw : callable
        Takes the results by trial and returns a Matplotlib figure.
    """

    name: str
    caption: str
    draw: Callable[[Mapping[Trial, Result]], matplotlib.figure.Figure]


@dataclass(frozen=True)
class Experiment:
    """A table or figure of a paper, declared.

    Attributes
    ----------
    name : str
        The name that `reproduce` knows it by.
    title : str
        What is measured, in a few words.
    paper, place : str
        The paper, and the table or figure in it.
    protocol : str
        What is done, in a few sentences: data, order, settings, and what the paper leaves open.
    run : callable
        Called with a trial's data set, method and run and the options of the size; returns the
        trial's results, which JSON can hold. Equal arguments give equal results, apart from
        measured times.
    measures : tuple of Measure
        The numbers that the tables show.
    full, quick : Size
        The size of the committed results, and one of at most a minute.
    data : mapping from str to str
        The name that `likewise.datasets.load` knows the rows of each data set by.
    published : tuple of Published
        The paper's numbers.
    stand_ins : mapping from str to str
        Data sets that are not the paper's, and what they replace.
    reductions : tuple of str
        What is smaller than in the paper.
    figures : tuple of Figure
        Figures to be drawn.
    derive : callable, optional
        Returns further results, computed from those of all trials: results by trial.
    derived : tuple of Measure
        The measures of these results.
    own_methods : tuple of str
        The methods that the paper proposes: they are counted apart from those it compares with.
    kept : tuple of str
        Further results of trials that the JSON file holds: chosen settings, curves.
    journal : str, optional
        Name of the file of finished trials; default: the name of the experiment. Experiments with
        the same `run` and options that name the same file share their trials: none is run twice.
    """

    name: str
    title: str
    paper: str
    place: str
    protocol: str
    run: Callable[..., Result]
    measures: tuple[Measure, ...]
    full: Size
    quick: Size
    data: Mapping[str, str] = field(default_factory=dict)
    published: tuple[Published, ...] = ()
    stand_ins: Mapping[str, str] = field(default_factory=dict)
    reductions: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    derive: Callable[[Mapping[Trial, Result]], Mapping[Trial, Result]] | None = None
    derived: tuple[Measure, ...] = ()
    own_methods: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    journal: str | None = None

    def size(self, *, quick: bool) -> Size:
        """Return the quick or the full size."""
        return self.quick if quick else self.full
