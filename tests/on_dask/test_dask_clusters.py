"""Clusters of any size, several fits at a time, and the memory of the process that asks."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import likewise as lw
from likewise._runtime.blocks.engines import ClusterEngine

pytest.importorskip("distributed", reason="needs likewise[dask]")

import dask.array as da
import distributed

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def few(labelled):
    X, y = labelled
    return X[:600].astype(np.float32), y[:600]


def models(X, y):
    """What all kinds of fits on blocks learn."""
    rows = da.from_array(X, chunks=250)
    learners = lw.LMNN(max_iter=4), lw.NCA(max_iter=2), lw.FDA()
    return [learner.fit(rows, y).components_ for learner in learners]


@pytest.mark.parametrize(
    ("n_workers", "n_threads"), [(1, 1), (3, 1), pytest.param(2, 2, marks=pytest.mark.slow)]
)
def test_same_bits_for_any_number_of_workers(client, few, n_workers, n_threads):
    on_two = models(*few)
    with (
        distributed.LocalCluster(
            n_workers=n_workers,
            threads_per_worker=n_threads,
            processes=False,
            dashboard_address=None,
        ) as cluster,
        distributed.Client(cluster, set_as_default=True),
    ):
        for found, expected in zip(models(*few), on_two, strict=True):
            np.testing.assert_array_equal(found, expected)
    distributed.client._set_global_client(client)


def test_fits_at_the_same_time_do_not_disturb_each_other(client, few):
    X, y = few
    alone = [models(X, y), models(X[::-1], y[::-1])]
    with ThreadPoolExecutor(2) as threads:
        together = list(threads.map(models, [X, X[::-1]], [y, y[::-1]]))
    for found, expected in zip(together, alone, strict=True):
        for one, two in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(
    ("learner", "n"),
    [(lw.NCA(max_iter=4, tol=0.0), 9), (lw.FDA(), 3), (lw.Whitening(), 3)],
    ids=repr,
)
def test_a_killed_worker_changes_no_bit(few, kill_a_worker, learner, n):
    X, y = few
    expected = learner.fit(da.from_array(X, chunks=250), y).components_
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        client.wait_for_workers(2)
        rows = client.persist(da.from_array(X, chunks=250))
        n_gathered = kill_a_worker(cluster, n)
        np.testing.assert_array_equal(learner.fit(rows, y).components_, expected)
    assert n_gathered[0] > n


def _blas_threads():
    import threadpoolctl

    info = threadpoolctl.threadpool_info()
    return [library["num_threads"] for library in info if library["user_api"] == "blas"]


def test_a_task_has_one_thread_of_blas(client):
    engine = ClusterEngine(client)
    found = engine.gather([engine.submit(_blas_threads)])[0]
    assert found
    assert set(found) == {1}


MEMORY = """
import json, sys
import dask.array as da, distributed, numpy as np
import likewise as lw

def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if "VmHWM" in line)

def closed_forms(n):
    X, y = rows(n)
    for learner in (lw.FDA(), lw.Whitening()):
        learner.fit(X, y)

def adapter(n):
    X, y = rows(n)
    pairs = np.random.default_rng(0).integers(n, size=(2000, 2))
    lw.EmbeddingAdapter().fit_pairs(X, pairs, np.arange(2000) % 2 == 0)
    lw.EmbeddingAdapter().fit(X, y)

def rows(n):
    X = da.random.default_rng(0).normal(size=(n, 100), chunks=(5000, 100))
    return X, (X[:, 0] > 0).astype(int)

if __name__ == "__main__":
    options = dict(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster):
        fit = {"closed_forms": closed_forms, "adapter": adapter}[sys.argv[1]]
        fit(int(sys.argv[2]))
        before = peak()
        fit(int(sys.argv[3]))
        print(json.dumps(1024 * (peak() - before)))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads the tables of Linux")
@pytest.mark.parametrize(
    ("name", "n_before", "n", "limit"),
    [
        ("closed_forms", 5000, 200_000, 40e6),  # of 160 MB
        # More than the rows that it gathers, then 240 MB more; it has some numbers per row.
        ("adapter", 100_000, 400_000, 80e6),
    ],
)
def test_client_and_scheduler_hold_no_rows(tmp_path, name, n_before, n, limit):
    script = tmp_path / "memory.py"
    script.write_text(MEMORY)
    command = [sys.executable, script, name, str(n_before), str(n)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) < limit
