"""Figure 4 of Shalev-Shwartz, Singer and Ng: document filtering by the nearest relevant one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise._runtime.arrays import Array, BoolArray, FloatArray
from likewise.datasets import Dataset
from likewise.experiments._data import load_once
from likewise.experiments._experiment import Experiment, Figure, Measure, Result, Size, Trial
from likewise.experiments._figures import panels
from likewise.experiments._papers import POLA_PAPER
from likewise.experiments._rows import all_rows, unit_rows
from likewise.experiments._seeds import generator
from likewise.online import PAUM, POLA, Perceptron

if TYPE_CHECKING:
    import matplotlib.figure

_TOPICS = (
    "crude",
    "trade",
    "money-fx",
    "interest",
    "money-supply",
    "ship",
    "sugar",
    "coffee",
    "gold",
    "gnp",
    "cpi",
    "cocoa",
    "grain",
)
_METHODS = ("POLA", "Perceptron", "PAUM", "1-NN")
_N_WORDS = 500
_MARGINS = (0.0, 0.1, 1.0)
_FIRST_PART = 0.25  # of the stream, on which the margins of PAUM are chosen
_BLOCK = 512  # documents that are compared with all others at a time


def run_topic(dataset: str, method: str, run: int, *, limit: int | None = None) -> Result:
    """Filter a stream of documents by topic; return error rates in per cent."""
    X, relevant = documents(dataset, run, limit)
    predicted = PREDICTORS[method](X, relevant)
    misses, false_alarms = error_rates(predicted, relevant)
    return {
        "error": 50 * (misses + false_alarms),
        "misses": 100 * misses,
        "false_alarms": 100 * false_alarms,
    }


def documents(topic: str, run: int, limit: int | None) -> tuple[FloatArray, BoolArray]:
    """Return documents in a random order, and which are of the topic."""
    data = load_once("reuters_r52_bow")
    assert data.classes is not None
    X, y = _vectors(data)
    order = generator("documents", run).permutation(len(X))[:limit]
    return X[order], y[order] == data.classes.index(topic)


@lru_cache(maxsize=1)
def _vectors(data: Dataset) -> tuple[FloatArray, Array]:
    """Return all documents, with their labels.

    Words are weighted by tf-idf; those of the largest variance are used, and rows have length 1.
    """
    counts, y = all_rows(data)
    idf = np.log(len(counts) / np.maximum(np.count_nonzero(counts, axis=0), 1))
    variances = np.square(idf) * counts.var(axis=0, dtype=np.float32)
    words = np.sort(np.argsort(-variances, kind="stable")[:_N_WORDS])
    return unit_rows(counts[:, words] * idf[words]), y


def error_rates(predicted: BoolArray, relevant: BoolArray) -> tuple[float, float]:
    """Return the shares of relevant documents missed and of others taken for relevant."""
    return float(np.mean(~predicted[relevant])), float(np.mean(predicted[~relevant]))


def filter_by_pola(X: FloatArray, relevant: BoolArray) -> BoolArray:
    """Predict that a document is relevant if its nearest relevant one is within the threshold.

    The metric learns the pair of these two.
    """
    learner = POLA(scale=1.0)
    M, b = np.zeros((X.shape[1], X.shape[1])), 0.0
    predicted = np.zeros(len(X), dtype=bool)
    first = int(relevant.argmax())  # nothing can be predicted before the first relevant document
    seen = X[[first]]
    mapped = seen @ M
    for number in range(first + 1, len(X)):
        x = X[number]
        sqdists = x @ M @ x - 2 * mapped @ x + np.einsum("ij,ij->i", mapped, seen)
        nearest = int(sqdists.argmin())
        predicted[number] = sqdists[nearest] <= b
        v = x - seen[nearest]
        loss = learner.learn_pair(x, seen[nearest], same=bool(relevant[number]))
        if relevant[number]:
            M = learner._state.dense()
            seen = np.vstack([seen, x])
            mapped = seen @ M
        elif loss > 0:
            # A step away from a dissimilar pair needs no projection, and no product of matrices.
            step = loss / (1 + (v @ v) ** 2) * v
            M = M + np.outer(step, v)
            mapped = mapped + np.outer(seen @ step, v)
        b = learner.b_
    return predicted


def filter_by_weights(learner: Any, X: FloatArray, relevant: BoolArray) -> BoolArray:
    """Predict by a linear classifier before it learns the document."""
    learner.set_params(record_every=1).partial_fit(X, relevant, classes=[False, True])
    wrong = np.diff(learner.history_["mistakes"], prepend=0) > 0
    return np.asarray(relevant ^ wrong)


def _filter_by_perceptron(X: FloatArray, relevant: BoolArray) -> BoolArray:
    return filter_by_weights(Perceptron(fit_intercept=True), X, relevant)


def _filter_by_paum(X: FloatArray, relevant: BoolArray) -> BoolArray:
    """Choose the margins by the balanced error on the first part of the stream."""
    part = slice(0, int(_FIRST_PART * len(X)))
    if not relevant[part].any():
        part = slice(0, int(relevant.argmax()) + 1)

    def error(margins: tuple[float, float]) -> float:
        learner = PAUM(*margins, fit_intercept=True)
        predicted = filter_by_weights(learner, X[part], relevant[part])
        return sum(error_rates(predicted, relevant[part]))

    margins = min(((first, second) for first in _MARGINS for second in _MARGINS), key=error)
    return filter_by_weights(PAUM(*margins, fit_intercept=True), X, relevant)


def _filter_by_neighbor(X: FloatArray, relevant: BoolArray) -> BoolArray:
    """Predict the label of the nearest document so far."""
    predicted = np.zeros(len(X), dtype=bool)
    for start in range(0, len(X), _BLOCK):
        rows = np.arange(start, min(start + _BLOCK, len(X)))
        similar = X[rows] @ X[: rows[-1] + 1].T
        similar[np.arange(similar.shape[1]) >= rows[:, None]] = -np.inf
        later = rows > 0
        predicted[rows[later]] = relevant[similar[later].argmax(axis=1)]
    return predicted


PREDICTORS: Mapping[str, Callable[[FloatArray, BoolArray], BoolArray]] = {
    "POLA": filter_by_pola,
    "Perceptron": _filter_by_perceptron,
    "PAUM": _filter_by_paum,
    "1-NN": _filter_by_neighbor,
}


def _draw(results: Mapping[Trial, Result]) -> matplotlib.figure.Figure:
    """Draw the balanced errors of POLA against those of each rival, one point per topic."""
    errors: dict[str, dict[str, list[float]]] = {}
    for trial, result in results.items():
        errors.setdefault(trial.method, {}).setdefault(trial.dataset, []).append(result["error"])
    means = {
        method: np.array([np.mean(runs) for runs in topics.values()])
        for method, topics in errors.items()
    }
    ours = means.pop("POLA")
    figure, axes = panels(len(means), len(means))
    for axis, (rival, others) in zip(axes, means.items(), strict=True):
        most = 1.05 * max(ours.max(), others.max())
        axis.plot([0, most], [0, most], linewidth=0.8, color="0.6")
        axis.plot(others, ours, "o", markersize=3)
        axis.set(xlabel=f"balanced error of {rival} (%)", ylabel="balanced error of POLA (%)")
    return figure


POLA_FILTER = Experiment(
    name="pola-filter",
    title="document filtering by the nearest relevant document",
    paper=POLA_PAPER,
    place="Figure 4",
    protocol=(
        "Documents of Reuters-21578 arrive in a random order, and are predicted to be relevant for "
        "a topic before their label is known. POLA does so if the nearest relevant document so far "
        "is within its threshold, and learns the pair of the two; 1-NN takes the label of the "
        "nearest document so far; Perceptron and PAUM have an intercept, and the margins of PAUM "
        "are chosen on the first quarter of the stream. Documents are tf-idf vectors of length 1 "
        "over the 500 words whose tf-idf has the largest variance. The balanced error is the mean "
        "of the shares of relevant documents missed and of other documents taken for relevant. The "
        "paper shows a figure without numbers."
    ),
    run=run_topic,
    measures=(
        Measure("error", "Balanced error (%)"),
        Measure("misses", "Relevant documents missed (%)"),
        Measure("false_alarms", "Other documents taken for relevant (%)"),
    ),
    full=Size(_TOPICS, _METHODS, runs=3, options={"limit": 3000}),
    quick=Size(("crude", "trade"), _METHODS, runs=1, options={"limit": 800}),
    data=dict.fromkeys(_TOPICS, "reuters_r52_bow"),
    reductions=(
        "Topics are the 13 most frequent ones below a tenth of the documents, among the 52 of the "
        "documents with exactly one topic.",
        "3000 random documents in each run, of 9100.",
    ),
    own_methods=("POLA",),
    figures=(
        Figure(
            "errors",
            "Balanced errors of POLA against those of the other methods, one point per topic "
            "(Figure 4).",
            _draw,
        ),
    ),
)
