"""From the results of trials to means, standard errors and marks beside the paper's values."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from likewise.experiments._experiment import Experiment, Measure, Published, Result, Size, Trial

_SIGNIFICANT = 6  # digits in the files


def summarize(
    experiment: Experiment,
    size: Size,
    results: Mapping[Trial, Result],
    name: str,
    *,
    quick: bool = False,
) -> dict[str, Any]:
    """Return what the JSON file holds: the declaration and one entry per cell.

    Files of figures begin with `name`. Numbers of the quick size are not marked: they are of fewer
    rows than the paper's.
    """
    cells = list(_cells(experiment, experiment.measures, results, judged=not quick))
    if experiment.derive is not None:
        derived = experiment.derive(results)
        cells += _cells(experiment, experiment.derived, derived, judged=not quick)
    own = [cell for cell in cells if cell["method"] in experiment.own_methods]
    return {
        "experiment": experiment.name,
        "title": experiment.title,
        "paper": experiment.paper,
        "place": experiment.place,
        "protocol": experiment.protocol,
        "quick": quick,
        "runs": size.runs,
        "options": dict(size.options),
        "stand_ins": {n: what for n, what in experiment.stand_ins.items() if n in size.datasets},
        "reductions": list(experiment.reductions),
        "measures": [asdict(measure) for measure in (*experiment.measures, *experiment.derived)],
        "marks": _count_marks(cells),
        "own_marks": _count_marks(own),
        "cells": cells,
        "details": list(_details(experiment.kept, results)),
        "figures": [
            {"name": f"{name}-{figure.name}", "caption": figure.caption}
            for figure in experiment.figures
        ],
    }


def _cells(
    experiment: Experiment,
    measures: Sequence[Measure],
    results: Mapping[Trial, Result],
    *,
    judged: bool,
) -> Iterable[dict[str, Any]]:
    expected = {(p.dataset, p.method, p.measure): p for p in experiment.published}
    places: dict[tuple[str, str], list[Trial]] = {}
    for trial in results:
        places.setdefault((trial.dataset, trial.method), []).append(trial)
    for measure in measures:
        for (dataset, method), trials in places.items():
            seen = [results[trial] for trial in sorted(trials)]
            values = [result[measure.name] for result in seen if measure.name in result]
            if values:
                error = standard_error(measure, values, seen[0])
                paper = expected.get((dataset, method, measure.name))
                comparable = judged and measure.judged and dataset not in experiment.stand_ins
                yield {
                    "dataset": dataset,
                    "method": method,
                    "measure": measure.name,
                    "mean": _rounded(float(np.mean(values))),
                    "standard_error": None if error is None else _rounded(error),
                    "runs": [_rounded(float(value)) for value in values],
                    "published": None if paper is None else paper.value,
                    "published_deviation": None if paper is None else paper.deviation,
                    "mark": mark(measure, values, error, paper) if paper and comparable else None,
                }


def _details(kept: Sequence[str], results: Mapping[Trial, Result]) -> Iterable[dict[str, Any]]:
    """Yield what is kept of each trial besides the measures."""
    for trial, result in results.items():
        found = {name: _rounded(result[name]) for name in kept if name in result}
        if found:
            place = {"dataset": trial.dataset, "method": trial.method, "run": trial.run}
            yield {**place, **found}


def _count_marks(cells: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    counts = Counter(cell["mark"] for cell in cells)
    return {mark: counts[mark] for mark in ("better", "same", "worse")}


def standard_error(measure: Measure, values: Sequence[float], result: Result) -> float | None:
    """Return the standard error of a mean over runs; of one run's share, the binomial one."""
    if len(values) > 1:
        return float(np.std(values, ddof=1)) / math.sqrt(len(values))
    if measure.tested is not None:
        share = values[0] / 100
        return 100 * math.sqrt(share * (1 - share) / result[measure.tested])
    return None


def mark(measure: Measure, values: Sequence[float], error: float | None, paper: Published) -> str:
    """Return "better", "same" (within two standard errors of the difference) or "worse"."""
    difference = float(np.mean(values)) - paper.value
    # The paper's value is rounded to the decimals that the table shows.
    rounding = 0.0 if measure.decimals is None else 0.5 * 10.0**-measure.decimals
    theirs = paper.standard_error
    if paper.deviation is None and paper.runs > 1 and len(values) > 1 and error is not None:
        theirs = error * math.sqrt(len(values) / paper.runs)
    if abs(difference) <= 2 * math.hypot(error or 0.0, theirs) + rounding:
        return "same"
    return "better" if (difference > 0) == measure.higher_is_better else "worse"


def _rounded(value: Any) -> Any:
    """Return a number with the digits of the files, also inside lists and mappings."""
    if isinstance(value, float):
        return float(f"{value:.{_SIGNIFICANT}g}")
    if isinstance(value, Mapping):
        return {name: _rounded(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(entry) for entry in value]
    return value
