"""Online classifiers: Nguyen, Chang and Hui, Distribution-aware online classifiers, IJCAI 2011."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

from sklearn.base import clone

from likewise.experiments._classifier_streams import DATA, STREAMS, in_basis_of_rows
from likewise.experiments._experiment import Experiment, Figure, Measure, Published, Result, Size
from likewise.experiments._figures import draw_curves
from likewise.experiments._seeds import generator
from likewise.online import AROW, CW, PA, PAM, SecondOrderPerceptron, tune_classifier
from likewise.online._classifier import OnlineClassifier

_PAPER = "T. T. Nguyen, K. Chang, S. C. Hui, Distribution-aware online classifiers, IJCAI 2011"
_AGGRESSIVENESS = tuple(2.0**k for k in range(-10, 7, 2))
_CONFIDENCES = (0.55, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
_RECORD_EVERY = 20  # samples from one point of a curve to the next


@dataclass(frozen=True)
class Method:
    """An online classifier, and the values of its parameter among which one is chosen."""

    model: OnlineClassifier
    parameter: str
    values: tuple[float, ...]


METHODS: Mapping[str, Method] = MappingProxyType(
    {
        "PA-II": Method(PA("PA-II"), "C", _AGGRESSIVENESS),
        "PAM-II": Method(PAM("PAM-II", covariance="full"), "C", _AGGRESSIVENESS),
        "CW": Method(CW(covariance="diagonal"), "eta", _CONFIDENCES),
        "CW full": Method(CW(covariance="full"), "eta", _CONFIDENCES),
        "PA-I": Method(PA("PA-I"), "C", _AGGRESSIVENESS),
        "PAM-I": Method(PAM("PAM-I", covariance="full"), "C", _AGGRESSIVENESS),
        "AROW": Method(AROW(covariance="full"), "r", tuple(0.5 / C for C in _AGGRESSIVENESS)),
        "SOP": Method(
            SecondOrderPerceptron(covariance="full"), "a", tuple(1 / C for C in _AGGRESSIVENESS)
        ),
    }
)


def run_stream(dataset: str, method: str, run: int, *, limit: int | None = None) -> Result:
    """Predict each sample of a stream before it is learned; percentages.

    The parameter is chosen by the mistakes in one pass over the first quarter.
    """
    X, positive = STREAMS[dataset](generator(dataset, run), run, limit)
    declared = METHODS[method]
    if getattr(declared.model, "covariance", None) == "full":
        X = in_basis_of_rows(X)
    tuned = tune_classifier(
        declared.model, X, positive, parameter=declared.parameter, values=declared.values
    )
    learner = clone(declared.model).set_params(
        record_every=_RECORD_EVERY, **{declared.parameter: tuned.value}
    )
    learner.partial_fit(X, positive, classes=[False, True])
    negative_f1, positive_f1 = 100 * learner.f1_
    return {
        "f1_positive": float(positive_f1),
        "f1_negative": float(negative_f1),
        "error": 100 * learner.cumulative_error_,
        "parameter": tuned.value,
        "n": learner.history_["n_events"].tolist(),
        "curve": (100 * learner.history_["predictive_error"]).round(4).tolist(),
    }


def _table1(text: str) -> tuple[Published, ...]:
    """Read the rows of Table 1: a data set with + or −, and F1 ± deviation of three methods."""
    entries = []
    for line in text.strip().splitlines():
        dataset, *numbers = line.split()
        measure = "f1_positive" if dataset.endswith("+") else "f1_negative"
        values = [float(number) for number in numbers]
        for method, value, deviation in zip(
            ("PA-II", "PAM-II", "CW"), values[::2], values[1::2], strict=True
        ):
            entries.append(Published(dataset[:-1], method, measure, value, deviation, runs=10))
    return tuple(entries)


_PUBLISHED = _table1(
    """
    BUPA+   61.21 2.78  64.28 1.13  61.79 2.43
    BUPA−   57.85 1.31  60.20 2.55  57.61 2.00
    CRX+    68.54 0.40  80.37 0.51  78.28 0.93
    CRX−    77.83 0.62  84.13 0.62  82.54 0.60
    USPS+   94.08 2.77  95.26 2.56  94.81 2.79
    USPS−   93.84 2.78  95.05 2.56  94.57 2.79
    MNIST+  57.85 3.43  59.51 1.72  58.64 0.90
    MNIST−  58.97 2.47  60.47 1.48  58.52 1.12
    WebKB+  77.02 1.14  78.90 1.63  76.49 1.40
    WebKB−  90.98 0.66  92.94 0.84  90.78 0.74
    """
)
_PROTOCOL = (
    "Each sample is predicted before it is learned, in one pass over a random order; F1+ and F1− "
    "are the F1 scores of these predictions, of the positive and the negative class. C of PA and "
    "PAM, η of CW, r of AROW (1/2C) and a of SOP (1/C) are chosen by the mistakes in a pass over "
    "the first quarter of the stream. BUPA and CRX are standardised, rows of the others have "
    "length 1; there is no intercept. Σ is full, except in CW: the paper speaks of a full one, but "
    "its numbers are those of a diagonal one. Every digit is the positive class in one run."
)
_STAND_INS = {
    "WebKB": "1051 pages of WebKB-4 (230 course, 821 faculty, project and student), drawn anew in "
    "each run, in place of the 1051 pages of the two-view course data.",
    "Twitter": "1000 tweets of the Sanders corpus (emotional or neutral), drawn anew in each run, "
    "in place of the tweets of six users in the order of time.",
}
_FULL = Size(tuple(STREAMS), tuple(METHODS), runs=10)
_QUICK = Size(("BUPA", "CRX", "USPS"), ("PA-II", "PAM-II", "CW"), runs=2, options={"limit": 200})
_ERROR = Measure("error", "Cumulative error (%)")

TABLE1 = Experiment(
    name="pam-table1",
    title="F1 of online classifiers",
    paper=_PAPER,
    place="Table 1",
    protocol=_PROTOCOL,
    run=run_stream,
    measures=(
        Measure("f1_positive", "F1+ (%)", higher_is_better=True),
        Measure("f1_negative", "F1− (%)", higher_is_better=True),
        _ERROR,
    ),
    full=_FULL,
    quick=_QUICK,
    data=DATA,
    published=_PUBLISHED,
    stand_ins=_STAND_INS,
    own_methods=("PAM-II", "PAM-I"),
    journal="pam",
)
CURVES = Experiment(
    name="pam-curves",
    title="cumulative error of online classifiers",
    paper=_PAPER,
    place="Figures 1 to 4",
    protocol=_PROTOCOL,
    run=run_stream,
    measures=(_ERROR,),
    full=_FULL,
    quick=_QUICK,
    data=DATA,
    stand_ins=_STAND_INS,
    figures=(
        Figure(
            "errors",
            "Cumulative error, mean of the runs: BUPA and CRX (Figure 1), USPS and MNIST (Figure "
            "2), WebKB (Figure 3), Twitter (Figure 4).",
            partial(draw_curves, x="n", y="curve", labels=("samples", "cumulative error (%)")),
        ),
    ),
    own_methods=TABLE1.own_methods,
    journal="pam",
)
EXPERIMENTS = (TABLE1, CURVES)
