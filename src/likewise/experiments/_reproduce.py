"""Running an experiment from its declaration to its files."""

from __future__ import annotations

import difflib
import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from likewise import _loops
from likewise._runtime.journal import Journal
from likewise._runtime.progress import progress
from likewise._runtime.text import quote, quote_path
from likewise._runtime.threads import count_threads
from likewise._runtime.writing import write_atomically
from likewise.experiments._data import load_once
from likewise.experiments._experiment import Experiment, Result, Size, Trial
from likewise.experiments._files import write_figures, write_results
from likewise.experiments._summary import summarize
from likewise.experiments._tables import Table, summary_sentence, tables
from likewise.experiments._trials import run_trials
from likewise.plotting._style import require_matplotlib


@dataclass(frozen=True, eq=False)
class Reproduction:
    """Result of `reproduce`.

    Attributes
    ----------
    results : dict
        What the JSON file holds: the declaration and, in "cells", one entry per data set, method
        and measure, with "mean", "standard_error", "runs", "published" and "mark"; the quick size
        has no marks.
    files : tuple of Path
        The files that were written.
    """

    results: Mapping[str, Any]
    files: tuple[Path, ...]

    @property
    def tables(self) -> list[Table]:
        """One table of text per measure."""
        return tables(self.results)

    @property
    def verdict(self) -> str:
        """How many numbers agree with the paper; empty if it has no numbers.

        Of the quick size, that they are not compared.
        """
        return summary_sentence(self.results)


def reproduce(
    experiment: str | Experiment,
    *,
    quick: bool = False,
    output: str | Path = "results",
    n_jobs: int = 1,
    verbose: bool = False,
) -> Reproduction:
    """Run an experiment of a paper and put its numbers beside the paper's.

    Finished trials are kept in ``NAME.jsonl``, or in one file for several experiments that need the
    same trials. If the run is interrupted or killed, the same call continues after them, and the
    results are those of an undisturbed run, byte by byte, whatever `n_jobs`; only times that an
    experiment measures may differ. Processor times of trials are kept in ``NAME-seconds.json``.

    Parameters
    ----------
    experiment : str or Experiment
        A name in `EXPERIMENTS`, or a declaration of your own.
    quick : bool, default=False
        Run the small size, of at most a minute or so; the files are called ``NAME-quick``. Its
        numbers are not compared with the paper's.
    output : path, default="results"
        Folder of the files: results (JSON, Markdown), figures (SVG, PNG) and finished trials.
    n_jobs : int, default=1
        Number of processes; -1 is one per core.
    verbose : bool, default=False
        Show the trials that are done and the time left, on stderr.

    Returns
    -------
    Reproduction

    Examples
    --------
    >>> from likewise.experiments import reproduce
    >>> result = reproduce("pola-denoise", quick=True, output=getfixture("tmp_path"))
    >>> result.files[0].name
    'pola-denoise-quick.json'
    """
    declared = find(experiment) if isinstance(experiment, str) else experiment
    processes = count_threads(n_jobs)
    size = declared.size(quick=quick)
    check_data(declared, size)
    if declared.figures:
        require_matplotlib()
    folder = Path(output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise type(error)(
            f"output is {quote_path(folder)}, but this folder cannot be made: {error.strerror}."
        ) from None
    ending = "-quick" if quick else ""
    path = folder / f"{declared.name}{ending}"
    trials = declared.journal or declared.name
    header = {"experiment": trials, "versions": versions(), "options": dict(size.options)}
    with Journal(folder / f"{trials}{ending}.jsonl", header) as journal:
        found = _finish(declared, size, journal, processes, verbose)
    results = {trial: result for trial, (result, _) in found.items()}
    summary = summarize(declared, size, results, path.name, quick=quick)
    summary["versions"] = header["versions"]
    files = write_results(path, summary)
    files += write_figures(path, declared, results)
    seconds = {trial.key: spent for trial, (_, spent) in found.items()}
    timings = path.with_name(f"{path.name}-seconds.json")
    write_atomically(timings, f"{json.dumps(seconds, indent=1, ensure_ascii=False)}\n".encode())
    return Reproduction(summary, (*files, timings))


def find(name: str) -> Experiment:
    """Return the experiment with a name, or raise an error with names that are close."""
    from likewise.experiments._registry import EXPERIMENTS

    if name not in EXPERIMENTS:
        close = difflib.get_close_matches(name, EXPERIMENTS, n=3, cutoff=0.5)
        hint = (
            f"did you mean {' or '.join(close)}?" if close else f"known: {', '.join(EXPERIMENTS)}"
        )
        raise ValueError(f"there is no experiment {quote(name)}; {hint}")
    return EXPERIMENTS[name]


def check_data(experiment: Experiment, size: Size) -> None:
    """Raise an error that says what to do if a data set is missing, before anything is run."""
    for name in dict.fromkeys(
        experiment.data[dataset] for dataset in size.datasets if dataset in experiment.data
    ):
        try:
            load_once(name)
        except (ConnectionError, ValueError) as error:
            raise type(error)(
                f"{experiment.name} needs the data set {quote(name)}: {error}"
            ) from error


def versions() -> dict[str, str]:
    """Return what results may depend on besides the arguments of a trial."""
    packages = ("likewise", "numpy", "scipy", "scikit-learn")
    return {
        **{name: version(name) for name in packages},
        "python": platform.python_version(),
        "loops": _loops.BACKEND,
    }


def _finish(
    experiment: Experiment, size: Size, journal: Journal, n_jobs: int, verbose: bool
) -> dict[Trial, tuple[Result, float]]:
    """Run the trials that are not in the journal yet; return all in the declared order."""
    before = {record["trial"]: record for record in journal.records}
    trials = list(size.trials())
    missing = [trial for trial in trials if trial.key not in before]
    found = {
        trial: (before[trial.key]["result"], before[trial.key]["seconds"])
        for trial in trials
        if trial.key in before
    }
    title = experiment.name + (f", {len(found)} trials done before" if found else "")
    with progress(title, len(missing), shown=verbose, exact=True) as report:
        finished = run_trials(experiment.run, missing, size.options, n_jobs)
        for done, (trial, result, seconds) in enumerate(finished, 1):
            journal.append({"trial": trial.key, "result": result, "seconds": seconds})
            # As it will be read back: a continued run must not see other types or digits.
            found[trial] = (json.loads(json.dumps(result)), seconds)
            report(done)
    return {trial: found[trial] for trial in trials}
