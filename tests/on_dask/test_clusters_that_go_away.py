"""Clusters that are gone before a call, and errors of tasks that only look like it."""

import asyncio
from functools import partial

import numpy as np
import pytest

import likewise as lw

pytest.importorskip("distributed", reason="needs likewise[dask]")

import dask.array as da
import distributed
from distributed.comm import CommClosedError


@pytest.fixture
def cluster():
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        yield cluster


@pytest.mark.parametrize("gone", ["cluster", "client"])
def test_a_cluster_or_client_that_is_gone(cluster, labelled, gone):
    X, y = labelled
    with distributed.Client(cluster, set_as_default=False) as client:
        rows = client.persist(da.from_array(X, chunks=300))
        queries = client.persist(da.from_array(X[:9], chunks=4))
        knn = lw.MetricKNN(metric=lw.FDA()).fit(rows, y)
        (cluster if gone == "cluster" else client).close()
        for call in (
            lambda: lw.RCA().fit(rows, y),
            lambda: knn.predict(X[:5]),
            lambda: knn.kneighbors(X[:5]),
            lambda: knn.score(queries, y[:9]),
        ):
            with pytest.raises(RuntimeError, match=r"The Dask cluster went away, its client was"):
                call()


def _fail(error, block):
    raise error


@pytest.mark.parametrize(
    "error",
    [
        FileNotFoundError(2, "No such file or directory"),
        PermissionError("not yours"),
        OSError(28, "No space left on device"),
        TimeoutError("the disk does not answer"),
        ConnectionRefusedError("the database does not answer"),
        CommClosedError("to a database"),
        RuntimeError("I/O operation on a closed file"),
    ],
    ids=repr,
)
def test_errors_of_tasks_are_raised_as_they_are(cluster, labelled, error):
    X, y = labelled
    rows = da.from_array(X, chunks=300).map_blocks(partial(_fail, error), dtype=X.dtype)
    with distributed.Client(cluster, set_as_default=True), pytest.raises(type(error)) as found:
        lw.RCA().fit(rows, y)
    assert str(found.value) == str(error)


def test_a_call_in_the_event_loop_of_the_client(labelled):
    X, y = labelled

    async def fits():
        async with (
            distributed.LocalCluster(
                n_workers=1, processes=False, dashboard_address=None, asynchronous=True
            ) as cluster,
            distributed.Client(cluster, asynchronous=True) as client,
        ):
            rows = client.persist(da.from_array(X, chunks=300))
            with pytest.raises(ValueError, match="The Dask client is asynchronous here, but a fit"):
                lw.FDA().fit(rows, y)
            return await asyncio.to_thread(lw.FDA().fit, rows, y)

    expected = lw.FDA().fit(X, y).components_
    np.testing.assert_allclose(asyncio.run(fits()).components_, expected, rtol=1e-8)
