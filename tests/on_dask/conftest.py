"""One small cluster for all tests here; they are skipped where Dask is not installed."""

import os
import signal

import numpy as np
import pytest
from gathered import arrays_in

from likewise._runtime.blocks.engines import ClusterEngine

_ENVIRONMENT = set(os.environ)


@pytest.fixture(autouse=True)
def threads_of_this_process():
    """Undo what Dask sets in this process when it starts workers: OMP_NUM_THREADS and others."""
    yield
    for name in set(os.environ) - _ENVIRONMENT:
        if name.endswith("_NUM_THREADS"):
            del os.environ[name]


@pytest.fixture(scope="session")
def client():
    distributed = pytest.importorskip("distributed", reason="needs likewise[dask]")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def no_client(monkeypatch):
    """Hide the client of other tests: blocks are in this process, and computed there."""
    dask = pytest.importorskip("dask", reason="needs likewise[dask]")
    distributed = pytest.importorskip("distributed", reason="needs likewise[dask]")

    def default_client():
        raise ValueError("No clients found")

    monkeypatch.setattr(distributed, "default_client", default_client)
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="session")
def labelled():
    """Rows of three classes, far from zero."""
    random = np.random.default_rng(3)
    y = np.repeat([0, 1, 2], [900, 700, 500])
    random.shuffle(y)
    centres = random.normal(size=(3, 6))
    X = (centres[y] + random.normal(size=(len(y), 6))) * [1, 2, 3, 1, 0.1, 5] + 100
    return X, y


@pytest.fixture
def gathered_sizes(monkeypatch):
    """The sizes of all arrays that reach the client."""
    sizes, gather = [], ClusterEngine.gather

    def recorded(self, handles):
        results = gather(self, handles)
        sizes.extend(array.size for array in arrays_in(results))
        return results

    monkeypatch.setattr(ClusterEngine, "gather", recorded)
    return sizes


@pytest.fixture
def kill_a_worker(monkeypatch):
    """A function: kill a worker of a cluster when the client gathers for the n-th time."""

    def prepare(cluster, n):
        n_gathered, gather = [0], ClusterEngine.gather

        def kill_once(self, handles):
            n_gathered[0] += 1
            if n_gathered[0] == n:
                os.kill(next(iter(cluster.workers.values())).process.pid, signal.SIGKILL)
            return gather(self, handles)

        monkeypatch.setattr(ClusterEngine, "gather", kill_once)
        return n_gathered

    return prepare
