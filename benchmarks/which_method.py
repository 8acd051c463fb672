"""Which metric has the lowest error on average: ``python -m benchmarks.which_method``.

Every labelled data set with its default-comparable methods; the page *Which method?* of the
documentation reads the results. One data set after the other is added to the file, so that a run
that was interrupted goes on where it stopped.
"""

from __future__ import annotations

import json
import sys
import time
import tracemalloc
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from likewise.datasets import load
from likewise.evaluation import compare

RESULTS = Path(__file__).parent.parent / "docs" / "results" / "which-method.json"
MAX_ROWS, MAX_FEATURES, N_AXES = 600, 60, 40
DATASETS = (
    "balance",
    "breast_tissue",
    "breast_wisconsin",
    "bupa",
    "cardiotocography",
    "crx",
    "digits8x8",
    "ecoli",
    "glass",
    "ilpd",
    "ionosphere",
    "iris",
    "isolet",
    "letter",
    "mfeat_mor",
    "mnist",
    "20news_bow",
    "20news_minilm",
    "olivetti",
    "olivetti_dlib",
    "parkinsons",
    "pendigits",
    "reuters_r52_bow",
    "satimage",
    "segment",
    "semeion",
    "sonar",
    "soybean_large",
    "soybean_small",
    "spambase",
    "spectf",
    "transfusion",
    "tweets_sanders_bow",
    "usps",
    "wdbc",
    "webkb4_bow",
    "wine",
    "yaleb_ext",
)


def read(name: str) -> tuple[NDArray, NDArray]:
    """Return at most 600 rows, drawn by class, of at most 60 features.

    Counts of words become tf-idf. More features are replaced by their 40 leading principal
    components, which see no label. A class of one row, of which nothing can be drawn by class, is
    left out (*reuters_r52_bow* has one).
    """
    data = load(name)
    X, y = np.asarray(data.X, dtype=np.float64), np.asarray(data.y)
    if name.endswith("_bow"):
        X = TfidfTransformer().fit_transform(X).toarray()
    labels, counts = np.unique(y, return_counts=True)
    kept = np.isin(y, labels[counts > 1])
    X, y = X[kept], y[kept]
    if len(X) > MAX_ROWS:
        X, _, y, _ = train_test_split(X, y, train_size=MAX_ROWS, stratify=y, random_state=0)
    if X.shape[1] > MAX_FEATURES:
        X = PCA(N_AXES, svd_solver="full").fit_transform(X)
    return X, y


def measure(X: NDArray, y: NDArray) -> dict[str, Any]:
    """Compare the methods on one data set, and take time and memory of a fit to all rows."""
    result = compare(X, y, n_repeats=2, n_pairs=1000, n_jobs=1)
    scaled = StandardScaler().fit_transform(X)
    return {
        "n_samples": result.n_samples,
        "n_features": result.n_features,
        "n_classes": result.n_classes,
        "outcome": result.outcome,
        "recommended": result.recommended,
        "errors": {row.name: row.error for row in result.rows},
        "eers": {row.name: row.eer for row in result.rows},
        "cpu_seconds": {
            name: processor_time(estimator, scaled, y)
            for name, estimator in result.estimators.items()
        },
        "peak_bytes": {
            name: peak_memory(estimator, scaled, y) for name, estimator in result.estimators.items()
        },
        "failed": {row.name: row.failed for row in result.rows if row.failed},
    }


def processor_time(estimator: Any, X: NDArray, y: NDArray) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.process_time()
        clone(estimator).fit(X, y)
        return time.process_time() - start


def peak_memory(estimator: Any, X: NDArray, y: NDArray) -> int:
    """Return the most bytes that NumPy and Python held at once during a fit, besides X and y."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tracemalloc.start()
        try:
            clone(estimator).fit(X, y)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()


def main(file: Path = RESULTS) -> int:
    results = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    with threadpool_limits(1):
        for number, name in enumerate(DATASETS, 1):
            if name not in results:
                start = time.process_time()
                results[name] = measure(*read(name))
                file.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
                seconds = time.process_time() - start
                print(f"{number} of {len(DATASETS)}: {name}, {seconds:.0f} s", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
