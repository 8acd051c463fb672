"""Tables 2.2 and 2.4 of the chapter on SVM metrics: 1-NN errors on digits and on UCI data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from likewise.experiments._experiment import Experiment, Measure, Published, Result, Size, Trial
from likewise.experiments._seeds import generator
from likewise.experiments._svm_chapter import (
    DIGITS,
    N_FOLDS,
    NEAREST,
    OF_DIGITS,
    OF_UCI,
    PAPER,
    TASKS,
    UCI,
    contender,
    splits,
)
from likewise.experiments._tuned import choose_settings, evaluate
from likewise.statistics.ranks import rank_methods

_RIVALS_OF_DIGITS = ("Euclidean", "NCA", "ITML", "MCML", "LDML", "LMNN", "DML-eig", "PLML")
_RIVALS_OF_UCI = ("Euclidean", "NCA", "LMNN", "ITML", "MCML", "LDML")
_RANKED = "Average rank"
_RUNS = 10
_GIVEN_SPLITS: Mapping[str | tuple[str, str], int] = {
    name: 1 for name, task in TASKS.items() if not task.in_folds
}
_ERROR = Measure("error", "1-NN error (%)", tested="n_test")
_RANK = Measure("rank", "Average rank over the data sets", decimals=2)


def run_method(
    dataset: str,
    method: str,
    run: int,
    *,
    n_rows: int,
    n_folds: int = N_FOLDS,
    limit: int | None = None,
) -> Result:
    """Return the 1-NN error of a method, in per cent.

    Parameters
    ----------
    dataset, method, run
        The trial.
    n_rows : int
        Training rows of each fold on which settings are chosen.
    n_folds : int
        Folds that are tested, at most.
    limit : int or None
        Rows of each part of a split, where not all are used.

    Returns
    -------
    dict
        Also with the settings that were chosen, and in how many folds.
    """
    tried = contender(method, dataset)
    n_wrong, n_test, chosen = 0, 0, []
    for fold, split in enumerate(splits(TASKS[dataset], run, n_folds, limit)):
        random = generator(dataset, method, run, fold)
        chosen.append(choose_settings(tried, split.X, split.y, n_rows, random))
        n_wrong += evaluate(tried, chosen[-1], split, random)
        n_test += len(split.y_test)
    counts = [[settings, chosen.count(settings)] for settings in tried.settings()]
    return {
        "error": 100 * n_wrong / n_test,
        "n_test": n_test,
        "settings": [[settings, n_folds] for settings, n_folds in counts if n_folds],
    }


def ranks(
    results: Mapping[Trial, Result], methods: Iterable[str], shown: Iterable[str] | None = None
) -> Mapping[Trial, Result]:
    """Return the ranks of methods by their mean errors, with one run per data set.

    A method that has no error on a data set has no rank there.
    """
    methods = tuple(methods)
    errors: dict[str, dict[str, list[float]]] = {}
    for trial, result in results.items():
        if "error" in result and trial.method in methods:
            errors.setdefault(trial.dataset, {}).setdefault(trial.method, []).append(
                result["error"]
            )
    # A missing error is ranked behind all others, whose ranks it does not change.
    table = [
        [float(np.mean(found[method])) if method in found else 1e9 for method in methods]
        for found in errors.values()
    ]
    found_ranks = rank_methods(table)
    return {
        Trial(number, _RANKED, method): {"rank": float(found_ranks[number, methods.index(method)])}
        for number, found in enumerate(errors.values())
        for method in (methods if shown is None else shown)
        if method in found
    }


def _ranks_of_digits(results: Mapping[Trial, Result]) -> Mapping[Trial, Result]:
    """Rank the chapter's ten columns, and its methods with the nearest pairs in their place."""
    return {
        **ranks(results, (*_RIVALS_OF_DIGITS, *OF_DIGITS)),
        **ranks(results, (*_RIVALS_OF_DIGITS, *NEAREST), NEAREST),
    }


def _ranks_of_uci(results: Mapping[Trial, Result]) -> Mapping[Trial, Result]:
    """Rank the chapter's seven columns, among which the Euclidean distance is not."""
    return ranks(results, (*OF_UCI, *_RIVALS_OF_UCI[1:]))


def _published(text: str, runs: Mapping[str, int]) -> tuple[Published, ...]:
    """Read a table of the chapter: methods in the first line, then a data set and its errors."""
    first, *lines = text.strip().splitlines()
    methods = first.split()
    entries = []
    for line in lines:
        name, *values = line.rsplit(maxsplit=len(methods))
        dataset = name.strip()
        measure = "rank" if dataset == _RANKED else "error"
        for method, value in zip(methods, values, strict=True):
            if value != "–":
                n_runs = runs.get(dataset, 1)
                entries.append(Published(dataset, method, measure, float(value), runs=n_runs))
    return tuple(entries)


_DIGIT_ERRORS = _published(
    """
                  Euclidean  NCA   ITML  MCML  LDML  LMNN  DML-eig  PLML  PCML  NCML
    MNIST         2.87       5.46  2.89  –     6.05  2.28  5.06     2.54  3.85  2.80
    PenDigits     2.26       2.23  2.29  2.26  6.20  2.52  3.75     2.46  2.06  2.06
    Semeion       8.54       8.60  5.71  11.23 11.98 6.09  5.72     7.66  4.83  5.53
    USPS          5.08       5.68  6.33  5.08  8.77  5.38  11.36    6.73  5.33  5.43
    Average rank  4.00       6.25  5.25  4.67  9.50  4.50  7.50     5.75  2.75  2.75
    """,
    {"Semeion": _RUNS},
)
_UCI_ERRORS = _published(
    """
                      doublet-SVM  triplet-SVM  NCA    LMNN   ITML   MCML   LDML
    Parkinsons        5.68         7.89         4.21   5.26   6.32   12.94  7.15
    Sonar             13.07        14.29        14.43  11.57  14.86  24.29  22.86
    Segmentation      2.42         2.29         2.68   2.64   2.51   2.77   2.86
    Breast tissue     38.37        33.37        30.75  34.37  36.75  30.75  48.00
    ILPD              32.09        35.16        34.79  34.12  34.12  34.79  35.84
    Satellite         10.80        10.75        10.95  10.05  11.75  15.65  15.90
    Transfusion       29.47        34.37        28.38  28.78  27.86  31.89  31.40
    SPECTF            27.27        33.69        38.50  34.76  35.29  29.95  33.16
    Cardiotocography  20.71        19.34        21.84  19.21  18.96  20.76  22.26
    Letter            2.47         2.77         2.47   3.45   2.77   4.20   11.05
    Average rank      2.7          3.8          3.5    2.9    3.5    5.0    6.1
    """,
    {name: _RUNS for name, task in UCI.items() if task.in_folds},
)
_CHOICE = "The nearest neighbour predicts. In every fold settings are chosen by the errors in"
_FEWER_DIGITS = (
    "NCA and MCML learn from at most 2000 random training rows, PLML from 1000, and the other "
    "rivals from 10 000 of MNIST; PCML and NCML learn from all. All training rows are neighbours "
    "of the test rows, except for PLML, which has only those it has learned from."
)
_FEWER_UCI_ROWS = (
    "NCA and MCML learn from at most 2000 random training rows; all rows are neighbours of the "
    "test rows."
)

TABLE22 = Experiment(
    name="svm-table22",
    title="1-NN error of PCML and NCML on handwritten digits",
    paper=PAPER,
    place="Table 2.2",
    protocol=(
        "MNIST, Semeion and USPS on the 100 leading principal components of the training rows, "
        f"PenDigits as it is. {_CHOICE} three inner folds of at most 500 training rows: 1 or 3 "
        "neighbours and C of 0.01 or 0.1 of PCML and NCML, the slack weight of ITML, C of LDML, "
        "the number of neighbours of LMNN, the regularisation of NCA. PCML and NCML pair each row "
        "with the nearest rows of its class and the farthest rows of the others, as the chapter "
        "says; in the columns *nearest* with the nearest rows of the others."
    ),
    run=run_method,
    measures=(_ERROR,),
    derive=_ranks_of_digits,
    derived=(_RANK,),
    full=Size(
        tuple(DIGITS),
        (*_RIVALS_OF_DIGITS, *OF_DIGITS, *NEAREST),
        runs=_RUNS,
        options={"n_rows": 500},
        runs_of=_GIVEN_SPLITS,
        absent=frozenset({("MNIST", "MCML")}),
    ),
    quick=Size(
        ("PenDigits", "Semeion"),
        ("Euclidean", "LMNN", *OF_DIGITS, *NEAREST),
        runs=1,
        options={"n_rows": 100, "n_folds": 1, "limit": 200},
    ),
    data={name: task.name for name, task in DIGITS.items()},
    published=_DIGIT_ERRORS
    + tuple(
        Published(cell.dataset, f"{cell.method} nearest", cell.measure, cell.value, runs=cell.runs)
        for cell in _DIGIT_ERRORS
        if cell.method in OF_DIGITS
    ),
    reductions=(_FEWER_DIGITS,),
    own_methods=OF_DIGITS,
    kept=("settings",),
)
TABLE24 = Experiment(
    name="svm-table24",
    title="1-NN error of doublet-SVM and triplet-SVM on UCI data",
    paper=PAPER,
    place="Table 2.4",
    protocol=(
        f"Satellite, SPECTF and Letter have a training and a test part, the others {N_FOLDS} "
        f"folds. {_CHOICE} two inner folds of 1000 training rows, in three of all where there are "
        "fewer, and in ten of fewer than 100: original or standardised features, C of doublet-SVM, "
        "triplet-SVM and LDML, the slack weight of ITML, the number of neighbours of LMNN, the "
        "regularisation of NCA. "
        "Doublets and triplets consist of each row's 2 nearest rows of its class and 2 nearest "
        "rows of other classes."
    ),
    run=run_method,
    measures=(_ERROR,),
    derive=_ranks_of_uci,
    derived=(_RANK,),
    full=Size(
        tuple(UCI),
        (*OF_UCI, *_RIVALS_OF_UCI),
        runs=_RUNS,
        options={"n_rows": 1000},
        runs_of=_GIVEN_SPLITS,
    ),
    quick=Size(
        ("Parkinsons", "Breast tissue", "SPECTF"),
        (*OF_UCI, *_RIVALS_OF_UCI),
        runs=1,
        options={"n_rows": 60, "n_folds": 1, "limit": 100},
    ),
    data={name: task.name for name, task in UCI.items()},
    published=_UCI_ERRORS,
    reductions=(_FEWER_UCI_ROWS,),
    own_methods=OF_UCI,
    kept=("settings",),
)
