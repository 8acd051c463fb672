"""Store one model file per public class, with its answers: files that every later release reads.

    python tools/store_models.py 0.2

writes NAME.safetensors and NAME.json to tests/data/models/0.2 for every case below that has no file
there. The JSON file has rows and what the model answers for them. What is stored stays as it is: a
file of a release is never written again, and `tests/test_stored_models.py` loads all of them.
"""

from __future__ import annotations

import argparse
import copy
import json
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_iris

import likewise as lw
from likewise.tables import TableEncoder, TableModel

FOLDER = Path(__file__).parents[1] / "tests" / "data" / "models"
OF_ROWS = ("transform", "predict", "decision_function", "predict_proba")
OF_PAIRS = ("pair_distance", "predict_pairs", "predict_proba_pairs")
MORE = "after partial_fit: "  # how the answers of a model that went on learning are called

Rows = Any  # a matrix, or a table as a mapping from names to columns
# Makes a fitted model, rows to ask it about, and their labels.
Case = Callable[[], tuple[Any, Rows, list[Any]]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("release", help="the release that the files are for, such as 0.2")
    folder = FOLDER / parser.parse_args().release
    folder.mkdir(parents=True, exist_ok=True)
    for name in cases():
        if not (folder / f"{name}.json").exists():
            store(name, folder)
            print(folder / f"{name}.safetensors")


def store(name: str, folder: Path) -> None:
    """Fit one case and write its model, then its answers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fifty rows are few
        model, rows, labels = cases()[name]()
    model.save(folder / f"{name}.safetensors")
    content = {"rows": rows, "labels": labels, "answers": answers(model, rows, labels)}
    text = json.dumps(content, indent=1, default=lambda array: array.tolist())
    (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def answers(model: Any, rows: Rows, labels: list[Any]) -> dict[str, Any]:
    """Return what a model says of rows and of pairs of them, also after learning from them."""
    found = _answers_now(model, rows)
    if hasattr(model, "partial_fit"):
        learned = copy.deepcopy(model).partial_fit(rows, labels)
        more = _answers_now(learned, rows)
        if "pair_distance" in more:
            del more["transform"]  # a new factor of M, of which the signs are arbitrary
        found |= {MORE + name: values for name, values in more.items()}
    return found


def _answers_now(model: Any, rows: Rows) -> dict[str, Any]:
    first, second = _part(rows, slice(None, -1)), _part(rows, slice(1, None))
    asked: list[tuple[str, tuple[Rows, ...]]] = [(name, (rows,)) for name in OF_ROWS]
    asked += [(name, (first, second)) for name in OF_PAIRS]
    return {
        name: np.asarray(getattr(model, name)(*given)).tolist()
        for name, given in asked
        if hasattr(model, name)
    }


def _part(rows: Rows, which: slice) -> Rows:
    if isinstance(rows, Mapping):
        return {name: column[which] for name, column in rows.items()}
    return rows[which]


IRIS, IRIS_LABELS = load_iris(return_X_y=True)
LEARNED, ASKED = slice(0, None, 3), slice(1, None, 11)
CENTRE, SPREAD = [5.8, 3.1, 3.8, 1.2], [0.8, 0.4, 1.8, 0.8]


def cases() -> dict[str, Case]:
    """Return every case by name; a case named CLASS-VARIANT has a part of state of its own."""
    every = (IRIS - CENTRE) / SPREAD
    words = np.array(["setosa", "versicolor", "virginica"])[IRIS_LABELS]
    # Above 40 features, M is stored as its eigenvectors.
    many_features = np.cos(every @ np.linspace(-1, 1, 4 * 41).reshape(4, 41))
    rbf = {"kernel": "rbf", "kernel_params": {"gamma": 0.1}}
    table, asked_table = _table(LEARNED), _table(ASKED)

    def of(model: Any, labels: Any = IRIS_LABELS, X: Any = every) -> Case:
        if "random_state" in model.get_params():
            model.set_params(random_state=0)
        return lambda: (model.fit(X[LEARNED], labels[LEARNED]), X[ASKED], labels[ASKED].tolist())

    return {
        "AROW": of(lw.AROW()),
        "AROW-diagonal": of(lw.AROW(covariance="diagonal", record_every=20), words),
        "CW": of(lw.CW()),
        "ComposedMetric": of(lw.ComposedMetric()),
        "DMLEig": of(lw.DMLEig()),
        "DoubletSVM": of(lw.DoubletSVM()),
        "DoubletSVM-kernel": of(lw.DoubletSVM(psd=False, **rbf)),
        "EmbeddingAdapter": of(lw.EmbeddingAdapter()),
        "EnergyClassifier": of(lw.EnergyClassifier(lw.RCA(), n_neighbors=3), words),
        "Euclidean": of(lw.Euclidean()),
        "FDA": of(lw.FDA()),
        "ITML": of(lw.ITML()),
        "LDML": of(lw.LDML()),
        "LMNN": of(lw.LMNN()),
        "LMNN-kernel": of(lw.LMNN(**rbf)),
        "MCML": of(lw.MCML()),
        "MMC": of(lw.MMC()),
        "MetricKNN": of(lw.MetricKNN(metric=lw.LMNN()), words),
        "MultiMetricLMNN": of(lw.MultiMetricLMNN()),
        "NCA": of(lw.NCA()),
        "NCML": of(lw.NCML()),
        "PA": of(lw.PA()),
        "PAM": of(lw.PAM()),
        "PAM-sketch": of(lw.PAM("PAM", covariance=2, multiclass="top2")),
        "PAMetric": of(lw.PAMetric()),
        "PAMetric-eigenbasis": of(lw.PAMetric("PALS", psd="each", max_iter=200), X=many_features),
        "PAUM": of(lw.PAUM()),
        "PCML": of(lw.PCML()),
        "PLML": of(lw.PLML(n_metrics=2)),
        "POLA": of(lw.POLA(max_iter=5)),
        "POLA-kernel": of(lw.POLA(max_iter=2, budget=20, **rbf)),
        "PairClassifier": of(lw.PairClassifier(lw.RCA())),
        "Perceptron": of(lw.Perceptron(), words),
        "RCA": of(lw.RCA()),
        "SecondOrderPerceptron": of(lw.SecondOrderPerceptron()),
        "TableEncoder": lambda: (
            TableEncoder(encode=True, impute=True).fit(table),
            asked_table,
            words[ASKED].tolist(),
        ),
        "TableModel": lambda: (
            TableModel(lw.RCA(), encode=True, impute=True).fit(table, words[LEARNED]),
            asked_table,
            words[ASKED].tolist(),
        ),
        "TripletSVM": of(lw.TripletSVM()),
        "Whitening": of(lw.Whitening()),
    }


def _table(which: slice) -> dict[str, list[Any]]:
    """Return rows as a table with words and gaps."""
    length, width = IRIS[which, 2], IRIS[which, 1]
    return {
        "length": [None if i % 7 == 3 else value for i, value in enumerate(length.tolist())],
        "width": width.tolist(),
        "colour": [("red", "blue", "white")[int(10 * value) % 3] for value in width],
    }


if __name__ == "__main__":
    main()
