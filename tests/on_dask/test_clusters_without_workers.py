"""Clusters that lose all their workers for good: a fit ends with a sentence."""

import threading

import numpy as np
import pytest

import likewise as lw
from likewise._runtime.blocks import engines

pytest.importorskip("distributed", reason="needs likewise[dask]")

import dask
import dask.array as da
import distributed


@pytest.fixture
def cluster():
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        yield cluster


@pytest.fixture
def short_limit(monkeypatch):
    monkeypatch.setattr(engines, "_MAX_SECONDS_WITHOUT_WORKERS", 1.0)
    monkeypatch.setattr(engines, "_SECONDS_BETWEEN_CHECKS", 0.2)


@pytest.mark.usefixtures("short_limit")
@pytest.mark.parametrize(
    "learner", [lw.FDA(), lw.LMNN(max_iter=10_000, tol=1e-12), lw.NCA(max_iter=10_000, tol=1e-12)]
)
def test_workers_that_are_gone_for_good(cluster, labelled, learner):
    X, y = labelled
    learner.fit(X[:100], y[:100])
    before = learner.components_
    with distributed.Client(cluster, set_as_default=False) as client:
        slow = da.from_array(X, chunks=300).map_blocks(_slow, dtype=X.dtype)
        rows = client.persist(slow)
        timer = threading.Timer(0.5, cluster.scale, [0])
        timer.start()
        with pytest.raises(RuntimeError, match="had no workers for 1 seconds; start workers"):
            learner.fit(rows, y)
        timer.join()
    assert learner.components_ is before


def _slow(block):
    threading.Event().wait(0.5)
    return block


def test_workers_that_come_in_time(cluster, labelled):
    X, y = labelled
    expected = lw.FDA().fit(X, y).components_
    cluster.scale(0)
    with distributed.Client(cluster, set_as_default=False) as client:
        rows = client.persist(da.from_array(X, chunks=300))
        timer = threading.Timer(0.5, cluster.scale, [1])
        timer.start()
        np.testing.assert_allclose(lw.FDA().fit(rows, y).components_, expected, rtol=1e-8)
        timer.join()


def test_the_limit_is_the_setting_of_dask():
    assert engines._max_seconds_without_workers() == 300
    with dask.config.set({"distributed.scheduler.no-workers-timeout": "90s"}):
        assert engines._max_seconds_without_workers() == 90


def test_the_limit_of_the_scheduler(labelled):
    X, y = labelled
    with (
        dask.config.set({"distributed.scheduler.no-workers-timeout": "500ms"}),
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=None) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
        dask.config.set({"distributed.scheduler.no-workers-timeout": None}),
    ):
        rows = client.persist(da.from_array(X, chunks=300))
        with pytest.raises(RuntimeError, match="had no workers for its no-workers-timeout"):
            lw.FDA().fit(rows, y)
