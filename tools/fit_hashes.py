"""Tell whether a refactoring changed what any method learns.

    python tools/fit_hashes.py record FILE     before the change
    python tools/fit_hashes.py compare FILE    after it

`record` fits every method in several ways and keeps, for each fit, the components, the predictions
and the history. `compare` fits again and prints each fit whose bits differ, with the largest
relative difference. The file is for one machine and one set of library versions: do not commit it.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.preprocessing import StandardScaler

import likewise as lw
from likewise.constraints import random_pairs

Fit = Callable[[], Any]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("action", choices=["record", "compare"])
    parser.add_argument("file")
    parser.add_argument("--only", default="", help="fits whose name contains this")
    chosen = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {
            f"{name} {what}": array
            for name, fit in fits().items()
            if chosen.only in name
            for what, array in results_of(fit())
        }
    whole = hashlib.sha256()
    for name, array in sorted(found.items()):
        whole.update(name.encode() + np.ascontiguousarray(array).tobytes())
    print(f"{len({name.split()[0] for name in found})} fits, sha256 {whole.hexdigest()[:16]}")
    if chosen.action == "record":
        np.savez_compressed(chosen.file, **found)
        return 0
    with np.load(chosen.file) as archive:
        expected = {name: archive[name] for name in archive.files if chosen.only in name}
    differing = [
        f"{name}: {difference(found.get(name), expected.get(name))}"
        for name in sorted(found.keys() | expected.keys())
        if not identical(found.get(name), expected.get(name))
    ]
    print("\n".join(differing) if differing else "all bits are the same")
    return bool(differing)


def identical(first: Any, second: Any) -> bool:
    return (
        first is not None
        and second is not None
        and first.shape == second.shape
        and first.dtype == second.dtype
        and first.tobytes() == second.tobytes()
    )


def difference(first: Any, second: Any) -> str:
    if first is None or second is None:
        return "only one of the two runs has it"
    if first.shape != second.shape:
        return f"shape {first.shape} instead of {second.shape}"
    size = np.abs(second).max(initial=0.0) or 1.0
    return f"relative difference {np.abs(first - second).max(initial=0.0) / size:.1e}"


def results_of(fitted: Any) -> Iterator[tuple[str, np.ndarray]]:
    """Yield what a fit learned; `fitted` is a model and the rows to ask it about."""
    model, X = fitted
    for name in ("components_", "coef_", "intercept_", "objective_", "n_iter_", "threshold_", "b_"):
        value = getattr(model, name, None)
        if value is not None:
            yield name, np.asarray(value)
    for name in ("transform", "predict", "decision_function"):
        method = getattr(model, name, None)
        if method is not None:
            yield name, np.asarray(method(X))
    if hasattr(model, "pair_distance") and not sp.issparse(X):
        half = len(X) // 2
        yield "pair_distance", model.pair_distance(X[:half], X[half : 2 * half])
    history = getattr(model, "history_", None) or {}
    for name, values in history.items():
        yield f"history {name}", np.asarray(values)


def fits() -> dict[str, Fit]:
    """Return all fits by name, each to be made when called."""
    wine, wine_y = scaled(load_wine)
    iris, iris_y = scaled(load_iris)
    cancer, cancer_y = scaled(load_breast_cancer)
    digits, digits_y = load_digits(return_X_y=True)
    small, small_y = digits[:600], digits_y[:600]
    single = small.astype(np.float32)
    pairs = random_pairs(wine_y, 400, random_state=0)
    triplets = lw.constraints.triplets(wine, wine_y, 2, 2)
    weights = np.linspace(0.5, 2, len(wine))
    rbf = {"kernel": "rbf", "kernel_params": {"gamma": 0.05}}

    def of_labels(model: Any, X: Any = wine, y: Any = wine_y, **options: Any) -> Fit:
        return lambda: (model.fit(X, y, **options), X)

    def of_pairs(model: Any) -> Fit:
        return lambda: (model.fit_pairs(wine, pairs.index, pairs.same), wine)

    def of_stream(model: Any) -> Fit:
        return lambda: (model.partial_fit_pairs(wine, pairs.index, pairs.same), wine)

    def of_events(model: Any) -> Fit:
        def learn() -> tuple[Any, Any]:
            for (first, second), same in zip(pairs.index[:100], pairs.same[:100], strict=True):
                model.learn_pair(wine[first], wine[second], bool(same))
            return model, wine

        return learn

    def of_rows(model: Any, X: Any = cancer, y: Any = cancer_y) -> Fit:
        return lambda: (model.partial_fit(X, y, classes=np.unique(y)), X)

    return {
        "euclidean": of_labels(lw.Euclidean()),
        "whitening": of_labels(lw.Whitening(3, shrinkage="auto")),
        "rca": of_labels(lw.RCA(shrinkage=0.1)),
        "rca-pairs": of_pairs(lw.RCA()),
        "fda": of_labels(lw.FDA()),
        "lmnn": of_labels(lw.LMNN(), small, small_y),
        "lmnn-float32": of_labels(lw.LMNN(n_components=8, n_passes=2), single, small_y),
        "lmnn-penalty": of_labels(lw.LMNN(regularization=0.1, init="fda"), anchor_weight=weights),
        "lmnn-validation": of_labels(
            lw.LMNN(validation_fraction=0.2, random_state=0), small, small_y
        ),
        "lmnn-projected": of_labels(lw.LMNN(solver="projected", max_iter=60)),
        "lmnn-kernel": of_labels(lw.LMNN(**rbf)),
        "lmnn-triplets": lambda: (lw.LMNN().fit_triplets(wine, triplets.index), wine),
        "multi-metric-lmnn": of_labels(lw.MultiMetricLMNN()),
        "nca": of_labels(lw.NCA(regularization=0.01), small, small_y),
        "nca-adam": of_labels(
            lw.NCA(2, solver="adam", max_iter=20, batch_size=64, random_state=0), small, small_y
        ),
        "itml": of_labels(lw.ITML(random_state=0)),
        "itml-pairs": of_pairs(lw.ITML(random_state=0)),
        "mcml": of_labels(lw.MCML(), iris, iris_y),
        "mmc": of_labels(lw.MMC(random_state=0)),
        "mmc-diagonal": of_pairs(lw.MMC(diagonal=True)),
        "dml-eig": of_labels(lw.DMLEig(random_state=0)),
        "plml": of_labels(lw.PLML(n_metrics=3, random_state=0)),
        "doublet-svm": of_labels(lw.DoubletSVM(), small, small_y),
        "doublet-svm-kernel": of_labels(lw.DoubletSVM(psd=False, **rbf)),
        "triplet-svm": of_labels(lw.TripletSVM()),
        "triplet-svm-symmetric": of_labels(lw.TripletSVM(psd=False)),
        "pcml": of_labels(lw.PCML()),
        "ncml": of_labels(lw.NCML()),
        "ncml-kernel": of_labels(lw.NCML(**rbf)),
        "ldml": of_pairs(lw.LDML()),
        "composed-conic": of_labels(lw.ComposedMetric("pairs", "logistic", "conic")),
        "composed-squared": of_labels(lw.ComposedMetric("triplets", "squared_hinge", "psd")),
        "pa-metric": of_stream(lw.PAMetric("PA-I", C=0.1)),
        "pa-metric-each": of_stream(lw.PAMetric("PALS", C=0.1, psd="each")),
        "pa-metric-labels": of_labels(lw.PAMetric("PA-II", C=0.1, random_state=0)),
        "pa-metric-events": of_events(lw.PAMetric("PA", psd=10)),
        "pola": of_stream(lw.POLA()),
        "pola-batch": of_labels(lw.POLA(10.0, max_iter=5, random_state=0)),
        "pola-kernel": of_stream(lw.POLA(budget=50, **rbf)),
        "perceptron": of_rows(lw.Perceptron()),
        "paum": of_rows(lw.PAUM(), wine, wine_y),
        "pa": of_rows(lw.PA("PA-II", C=0.1, multiclass="top2"), wine, wine_y),
        "pam": of_rows(lw.PAM()),
        "pam-sketch": of_rows(lw.PAM("PAM", covariance=4, multiclass="top2"), wine, wine_y),
        "cw": of_rows(lw.CW(covariance="diagonal")),
        "arow": of_rows(lw.AROW(fit_intercept=True)),
        "arow-sparse": of_rows(lw.AROW(covariance="diagonal"), sp.csr_array(digits), digits_y),
        "second-order-perceptron": of_rows(lw.SecondOrderPerceptron(), wine, wine_y),
        "metric-knn": of_labels(lw.MetricKNN(metric=lw.RCA()), small, small_y),
        "energy": of_labels(lw.EnergyClassifier(lw.RCA(), n_neighbors=3), small, small_y),
    }


def scaled(load: Callable[..., Any]) -> tuple[np.ndarray, np.ndarray]:
    X, y = load(return_X_y=True)
    return StandardScaler().fit_transform(X), y


if __name__ == "__main__":
    sys.exit(main())
