"""What follows from all trials of the paper on online metrics: best k, ratios of times, ranks."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from likewise._runtime.arrays import FloatArray
from likewise.experiments._experiment import Result, Trial
from likewise.experiments._pa_data import STAND_INS
from likewise.experiments._pa_trials import METHODS, ONLINE
from likewise.statistics import FriedmanHolm, friedman_holm
from likewise.statistics.ranks import rank_methods

Results = Mapping[Trial, Result]
TIMED = tuple(method for method in METHODS if method != "Euclidean")
NEGATIVE = tuple(method for method in ONLINE if method.endswith("−"))


def errors_of_best_k(results: Results) -> Results:
    """Return the error of each trial with the k that is best on average over the runs."""
    found: dict[Trial, Result] = {}
    for trials in _by_cell(results).values():
        curves = [results[trial]["errors"] for trial in trials]
        n_numbers = min(map(len, curves))
        common = np.array([curve[:n_numbers] for curve in curves])
        best = int(common.mean(axis=0).argmin())
        for trial, errors in zip(trials, common, strict=True):
            found[trial] = {"error": float(errors[best]), "k": best + 1}
    return found


def ratios_of_times(results: Results) -> Results:
    """Return the processor time of each trial, and its ratio to the mean time of ITML."""
    times = {trial: result["seconds"] for trial, result in results.items() if "seconds" in result}
    cells = _by_cell(times)
    found = {}
    for trial, seconds in times.items():
        itml = np.mean([times[other] for other in cells[trial.dataset, "ITML"]])
        found[trial] = {"milliseconds": 1000 * seconds, "ratio": seconds / float(itml)}
    return found


def ranks_of_errors(results: Results) -> Results:
    """Return the rank of each method on each data set, by its mean error."""
    table = rank_methods(scores(errors_of_best_k(results), "error", METHODS))
    return {
        Trial(0, dataset, method): {"error_rank": rank}
        for dataset, ranks in zip(datasets_of(results), table.tolist(), strict=True)
        for method, rank in zip(METHODS, ranks, strict=True)
    }


def scores(results: Results, name: str, methods: tuple[str, ...]) -> FloatArray:
    """Return the mean of a number over the runs: one row per data set, one column per method."""
    cells = _by_cell(results)
    return np.array(
        [
            [
                np.mean([results[trial][name] for trial in cells[dataset, method]])
                for method in methods
            ]
            for dataset in datasets_of(results)
        ]
    )


def datasets_of(results: Results) -> list[str]:
    """Return the data sets in the order of the trials."""
    return list(dict.fromkeys(trial.dataset for trial in results))


def score_tables(results: Results) -> dict[str, tuple[tuple[str, ...], FloatArray]]:
    """Return the methods and scores that are ranked: processor times and errors.

    Stand-ins for data sets of the paper have no part in the ranks.
    """
    own = {trial: result for trial, result in results.items() if trial.dataset not in STAND_INS}
    return {
        "times": (TIMED, scores(own, "seconds", TIMED)),
        "errors": (METHODS, scores(errors_of_best_k(own), "error", METHODS)),
    }


def compare_ranks(results: Results) -> dict[str, FriedmanHolm]:
    """Return the tests of Friedman and Holm of times and errors."""
    return {
        what: friedman_holm(table, methods)
        for what, (methods, table) in score_tables(results).items()
    }


def ranks_and_tests(results: Results) -> Results:
    """Return the rank of each method on each data set, and the p-values of the tests.

    Data sets take the place of runs, so that the mean is the average rank.
    """
    found: dict[Trial, Result] = {}
    for what, (methods, table) in score_tables(results).items():
        for number, ranks in enumerate(rank_methods(table)):
            for method, rank in zip(methods, ranks.tolist(), strict=True):
                found[Trial(number, what, method)] = {"rank": rank}
    tests = compare_ranks(results)
    for what, test in tests.items():
        found[Trial(0, what, "Friedman")] = {"p_equal": test.friedman.p_value}
        found[Trial(0, what, "Iman–Davenport")] = {"p_equal": test.iman_davenport.p_value}
    p_values = tests["times"].p_values
    for method in NEGATIVE:
        for other in TIMED:
            if other not in NEGATIVE:
                p_value = p_values[TIMED.index(method), TIMED.index(other)]
                found[Trial(0, method, other)] = {"p_value": float(p_value)}
    return found


def _by_cell(trials: Mapping[Trial, object]) -> dict[tuple[str, str], list[Trial]]:
    cells: dict[tuple[str, str], list[Trial]] = {}
    for trial in trials:
        cells.setdefault((trial.dataset, trial.method), []).append(trial)
    return cells
