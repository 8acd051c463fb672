"""The memory estimate of the LMNN family against the memory used."""

import tracemalloc

import numpy as np
import pytest
import rich.progress  # noqa: F401, their imports would count as memory of a fit,
import sklearn.neighbors  # noqa: F401, the former where it is slow

import likewise as lw
from likewise._runtime import memory
from likewise.batch.lmnn import memory as lmnn_memory


def data(n, d, dtype=np.float64, apart=0.2):
    random = np.random.default_rng(0)
    y = np.arange(n) % 3
    return (random.normal(size=(n, d)) + apart * random.normal(size=(3, d))[y]).astype(dtype), y


# Few impostors: the pairs of the working set are not part of the estimate.
CASES = {
    "many features": (lw.LMNN(max_iter=25, tol=1e-9), 300, 250, np.float64, 0.2),
    "many rows": (lw.LMNN(max_iter=15, tol=1e-9), 4000, 60, np.float64, 1.0),
    "float32": (lw.LMNN(max_iter=15, tol=1e-9), 4000, 60, np.float32, 1.0),
    "few components": (lw.LMNN(n_components=10, max_iter=15), 300, 400, np.float64, 0.5),
    "several": (lw.MultiMetricLMNN(max_iter=25, tol=1e-9), 300, 120, np.float64, 0.2),
    "several, float32": (lw.MultiMetricLMNN(max_iter=15, tol=1e-9), 2000, 80, np.float32, 1.0),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("case", CASES)
def test_the_estimate_is_close_to_the_memory_used(case, monkeypatch):
    model, n, d, dtype, apart = CASES[case]
    model.set_params(n_jobs=1)  # how many blocks threads hold at a time depends on the machine
    model.fit(*data(30, d, dtype, apart))  # imports and caches do not count
    estimates = []
    monkeypatch.setattr(lmnn_memory, "require_memory", lambda size, *_: estimates.append(size))
    X, y = data(n, d, dtype, apart)
    tracemalloc.start()
    model.fit(X, y)
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0.8 * used < max(estimates) < 1.8 * used


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (
            lw.LMNN(1),
            r"^LMNN of 30 rows of 50 features needs about .* MiB, but .* free; reduce the features",
        ),
        (
            lw.MultiMetricLMNN(1),
            r"^MultiMetricLMNN with 3 metrics of 30 rows of 50 features needs .* fewer metrics\.$",
        ),
        (
            lw.LMNN(1, kernel="rbf"),
            r"^LMNN of 30 rows of 29 directions needs .*; a smaller budget keeps fewer of them\.$",
        ),
    ],
    ids=["single", "several", "kernel"],
)
def test_too_little_memory_is_an_error(model, sentence, monkeypatch):
    X, y = data(30, 50)
    monkeypatch.setattr(memory, "UNCHECKED_BYTES", 0)
    monkeypatch.setattr(memory, "free_memory", lambda: 100_000)
    with pytest.raises(MemoryError, match=sentence):
        model.fit(X, y)


def test_the_kernel_uses_no_more_memory_than_estimated(monkeypatch):
    X, y = data(700, 4)
    estimates = []
    monkeypatch.setattr(
        "likewise.batch._kernel_space.require_memory", lambda size, *words: estimates.append(size)
    )
    lw.LMNN(1, kernel="rbf", budget=2, max_iter=1, tol=1e9).fit(X[:60], y[:60])
    tracemalloc.start()
    lw.LMNN(1, kernel="rbf", budget=2, max_iter=1, tol=1e9).fit(X, y)
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0.5 * estimates[1] < used < 1.05 * estimates[1]
