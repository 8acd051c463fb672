"""Online metrics: Pérez-Suay, Ferri, Arevalillo-Herráez and Albert, 2013."""

from __future__ import annotations

from dataclasses import replace

from likewise.experiments._experiment import (
    Experiment,
    Figure,
    Measure,
    Published,
    Result,
    Size,
    Trial,
)
from likewise.experiments._pa_data import DATA, STAND_INS
from likewise.experiments._pa_derived import (
    TIMED,
    Results,
    errors_of_best_k,
    ranks_and_tests,
    ranks_of_errors,
    ratios_of_times,
)
from likewise.experiments._pa_figures import (
    draw_dimensions,
    draw_distances,
    draw_errors_by_eigenvectors,
    draw_predictive_errors,
    draw_ranks,
    draw_steps,
    draw_times,
)
from likewise.experiments._pa_trials import METHODS, ONLINE, run_metric

_PAPER = (
    "A. Pérez-Suay, F. J. Ferri, M. Arevalillo-Herráez, J. V. Albert, Comparative evaluation of "
    "batch and online distance metric learning approaches based on margin maximization, Progress "
    "in Artificial Intelligence 2, 2013"
)
_ERRORS = """
    soyS       0.158  0.119  0.133  0.125  0.136  0.121  0.125  0.126
    wine       0.027  0.033  0.018  0.017  0.016  0.017  0.024  0.019
    glass      0.510  0.513  0.523  0.506  0.518  0.527  0.507  0.518
    ecoli      0.064  0.077  0.075  0.075  0.076  0.075  0.076  0.070
    iono       0.153  0.155  0.129  0.136  0.140  0.139  0.143  0.138
    balance    0.335  0.263  0.219  0.219  0.258  0.234  0.312  0.258
    breast     0.033  0.037  0.025  0.026  0.027  0.025  0.028  0.030
    mor        0.277  0.273  0.296  0.299  0.294  0.297  0.269  0.279
    spam       0.115  0.109  0.118  0.120  0.119  0.121  0.120  0.121
    satellite  0.119  0.118  0.137  0.132  0.132  0.127  0.132  0.127
    soyL       0.136  0.086  0.107  0.100  0.099  0.097  0.098  0.083
    usps       0.057  0.057  0.057  0.059  0.057  0.060  0.066  0.056
"""
"""Table 2: the methods in the order of `METHODS`."""
_SECONDS = """
    soyS       10.56 12.08  0.30  0.01  0.11 0.02  0.30  0.04  0.10 0.05  0.49    0.05  0.11  0.04
    wine       0.72  1.17   0.18  0.03  0.10 0.00  0.15  0.04  0.10 0.00  0.29    0.02  0.10  0.00
    glass      0.53  1.28   0.26  0.04  0.08 0.06  0.25  0.04  0.09 0.07  0.32    0.03  0.11  0.08
    ecoli      0.85  1.08   0.24  0.07  0.05 0.01  0.28  0.08  0.05 0.01  0.32    0.03  0.06  0.01
    iono       2.15  0.69   0.80  0.06  0.28 0.03  0.84  0.13  0.29 0.04  1.37    0.11  0.34  0.04
    balance    2.11  1.17   0.46  0.02  0.28 0.01  0.46  0.02  0.28 0.01  0.58    0.01  0.30  0.00
    breast     0.29  0.45   0.57  0.12  0.26 0.10  0.63  0.14  0.27 0.12  0.83    0.12  0.35  0.09
    mor        4.08  2.30   4.77  0.23  3.76 0.19  4.72  0.24  3.81 0.18  8.00    0.29  4.23  0.14
    spam       0.73  0.57   12.51 1.08  0.54 0.07  12.68 1.31  0.50 0.07  17.69   1.17  0.60  0.01
    satellite  3.99  7.65   39.86 2.40  2.12 0.09  34.93 5.20  2.07 0.05  99.60   0.42  2.46  0.06
    soyL       26.93 0.97   4.48  1.03  0.86 0.12  4.55  1.01  0.85 0.09  26.47   2.37  1.07  0.04
    usps       86.09 46.08  480.23 17.15 10.13 1.02 500.55 19.73 10.81 1.67 2007.20 14.47 34.06 1.09
"""
"""Table 3: the mean and the deviation for each of `TIMED`."""
_RANKS = dict(zip(TIMED, (5.67, 4.93, 1.49, 4.86, 1.77, 6.40, 2.87), strict=True))
"""Table 4."""
_RUNS = 10


def _rows(text: str) -> list[tuple[str, list[float]]]:
    rows = [line.split() for line in text.strip().splitlines()]
    return [(dataset, [float(number) for number in numbers]) for dataset, *numbers in rows]


def _published_errors() -> tuple[Published, ...]:
    return tuple(
        Published(dataset, method, "error", value, runs=_RUNS)
        for dataset, values in _rows(_ERRORS)
        for method, value in zip(METHODS, values, strict=True)
    )


def _published_times() -> tuple[Published, ...]:
    """Return the times of the online methods in units of the mean time of ITML."""
    return tuple(
        Published(dataset, method, "ratio", mean / values[0], deviation / values[0], runs=_RUNS)
        for dataset, values in _rows(_SECONDS)
        for method, mean, deviation in zip(TIMED, values[::2], values[1::2], strict=True)
        if method != "ITML"
    )


def _times_and_ranks(results: Results) -> Results:
    found: dict[Trial, Result] = {}
    for derive in (ratios_of_times, ranks_of_errors, ranks_and_tests):
        for trial, result in derive(results).items():
            found[trial] = {**found.get(trial, {}), **result}
    return found


TABLES = Experiment(
    name="pa-tables",
    title="nearest-neighbour errors of online metrics",
    paper=_PAPER,
    place="Table 2",
    protocol=(
        "Ten times, half of the rows of each class are drawn for training; the others are for "
        "test. Features are divided by their range in the training half. The metrics are learned "
        "from the same r = 40 c (c − 1) random pairs of training rows, for c classes, no two of "
        "which are the same. PA-I, PA-II and PALS start at M = 0 and b = 0, X is not scaled "
        "further, and they take min(n (n − 2)/40, 50 r) steps for n rows, but at least 2 r, in a "
        "new random order in each pass over the pairs. The projection to the positive semidefinite "
        "matrices is after each step (+) or at the end (−). C is the one of 13 values from 0.0001 "
        "to 100 with the best leave-one-out accuracy on the training half, with the best of 1 to "
        "25 neighbours, after one pass over the pairs. The slack weight of ITML is the one of nine "
        "powers of ten with the least error of 4 neighbours in two folds of the training half, as "
        "in its authors' software; there are at most 25 Newton steps. Errors are averaged over the "
        "classes, and a tied vote is for the first class. k is, as in the paper, the number of "
        "neighbours up to 25 with the least mean test error."
    ),
    run=run_metric,
    measures=(),
    full=Size(tuple(DATA), METHODS, runs=_RUNS),
    quick=Size(("wine", "iono"), METHODS, runs=2, options={"limit": 120}),
    data=DATA,
    published=_published_errors(),
    stand_ins=STAND_INS,
    derive=errors_of_best_k,
    derived=(
        Measure("error", "Error, averaged over the classes", decimals=3),
        Measure("k", "Best number of neighbours", decimals=0),
    ),
    own_methods=tuple(ONLINE),
    journal="pa",
)
RANKS = replace(
    TABLES,
    name="pa-ranks",
    title="processor times and ranks of online metrics",
    place="Tables 3 to 5",
    protocol=(
        "The trials of pa-tables. The processor time is that of learning with the chosen "
        "parameter; times of the paper are compared in units of the mean time of ITML on the same "
        "data set. Ours is Newton's method, the paper's the cyclic projections of its authors. The "
        "methods are ranked on each data set, stand-ins left out, by mean time and by mean error; "
        "the standard error of an average rank is that over data sets. p-values of Friedman and of "
        "Iman and Davenport are for the hypothesis that all methods are equal, those of Holm for "
        "pairs of methods, adjusted for all 21 pairs. Times differ from run to run."
    ),
    published=(
        *_published_times(),
        *(Published("times", method, "rank", rank) for method, rank in _RANKS.items()),
    ),
    derive=_times_and_ranks,
    derived=(
        Measure("milliseconds", "Processor time (ms)"),
        Measure("ratio", "Processor time / that of ITML", decimals=3),
        Measure("rank", "Average rank"),
        Measure("error_rank", "Rank of the error", decimals=1),
        Measure("p_value", "Adjusted p-values of Holm's test of times", decimals=7),
        Measure("p_equal", "p-values of tests of all methods", decimals=5),
    ),
    figures=(
        Figure(
            "diagram",
            "Average ranks of processor times and of errors. Bars join methods that do not differ "
            "significantly by Holm's test (level 0.05).",
            draw_ranks,
        ),
    ),
)
FIGURES = replace(
    TABLES,
    name="pa-figures",
    title="online metrics while they are learned",
    place="Figures 1 to 6",
    protocol=(
        "The trials of pa-tables. The predictive error is the share of the pairs so far that were "
        "predicted wrongly before they were learned, and the effective dimension the number of "
        "eigenvalues above a millionth of the largest."
    ),
    measures=(
        Measure("predictive", "Predictive error at the end", decimals=3),
        Measure("dimension", "Effective dimension at the end", higher_is_better=False, decimals=1),
    ),
    published=(),
    derive=None,
    derived=(),
    figures=(
        Figure(
            "distances",
            "Squared distances of similar and dissimilar pairs of two Gaussians in the plane, "
            "whose means have distance 1: separable (left) and not, by a few pairs (Figure 1).",
            draw_distances,
        ),
        Figure(
            "steps",
            "Step sizes as a function of the signed loss p and of C, for a pair at distance 1 "
            "(Figure 2). For p > 0, PALS takes the steps of PA-II.",
            draw_steps,
        ),
        Figure(
            "predictive",
            "Predictive error, mean of the runs (Figure 3): projection after each step (+, solid) "
            "or at the end (−, dashed).",
            draw_predictive_errors,
        ),
        Figure(
            "dimension",
            "Effective dimension on ionosphere, mean of the runs (Figure 4).",
            draw_dimensions,
        ),
        Figure(
            "eigenvectors",
            "2-NN error on ionosphere with the eigenvectors of the largest eigenvalues alone: "
            "training rows, each one left out, and test rows (Figure 5).",
            draw_errors_by_eigenvectors,
        ),
        Figure("times", "Mean processor times (Figure 6).", draw_times),
    ),
)
EXPERIMENTS = (TABLES, RANKS, FIGURES)
