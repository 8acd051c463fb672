"""LMNN of Dask collections: the minimum of the gathered rows, and the same bits on any cluster."""

import os
import pickle
import random
import signal
import threading
import time

import numpy as np
import pytest
from sklearn.datasets import load_digits

import likewise as lw
from likewise._runtime.blocks import engines
from likewise._runtime.blocks.engines import ClusterEngine, engine_of
from likewise.batch.lmnn import blocked_search
from likewise.neighbors import TooManyPairs

pytest.importorskip("distributed", reason="needs likewise[dask]")

import dask
import dask.array as da
import distributed


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:1000, 20:36].astype(np.float32), y[:1000]


def fitted_on(X, y, **options):
    return lw.LMNN(**options).fit(da.from_array(X, chunks=(400, 10)), da.from_array(y, chunks=500))


def objective(L, X, y, k=3, push=0.5):
    """The objective of the paper, with all distances, for targets under the identity metric."""
    X = X.astype(np.float64)
    between = ((X[:, None] - X) ** 2).sum(axis=2)
    between[y[:, None] != y] = np.inf
    np.fill_diagonal(between, np.inf)
    targets = np.argsort(between, axis=1, kind="stable")[:, :k]
    Z = X @ L.astype(np.float64).T
    D = (Z**2).sum(axis=1)[:, None] + (Z**2).sum(axis=1) - 2 * Z @ Z.T
    pull = np.take_along_axis(D, targets, axis=1)
    other = y[:, None] != y
    hinges = sum(np.maximum(0, 1 + pull[:, [j]] - D)[other].sum() for j in range(targets.shape[1]))
    return (1 - push) * pull.sum() + push * hinges


def test_the_objective_is_the_papers(no_client, digits):
    X, y = digits[0][:600], digits[1][:600]
    model = fitted_on(X, y, init="identity", tol=0.2)
    assert model.objective_ == pytest.approx(objective(model.components_, X, y), rel=1e-4)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"n_components": 5, "max_iter": 60},
        {"regularization": 0.2},
        # Without a rotation, whose rounding would decide which of equally near rows are targets.
        {"n_passes": 2, "init": "identity", "tol": 1e-3},
        {"init": "fda"},
        {"init": np.eye(16)[::-1]},
        {"scale": 0.1, "margin": 2.0, "push": 0.3, "n_neighbors": 1},
    ],
    ids=str,
)
def test_the_minimum_of_the_gathered_rows(no_client, digits, options):
    X, y = digits
    options = {"tol": 0.01, **options}
    blocked, gathered = fitted_on(X, y, **options), lw.LMNN(**options).fit(X, y)
    rel = 0.02 if "n_components" in options else 0.01
    assert blocked.objective_ == pytest.approx(gathered.objective_, rel=rel)
    assert blocked.scale_ == pytest.approx(gathered.scale_, rel=1e-6)
    assert blocked.converged_ or "n_components" in options
    assert blocked.components_.dtype == np.float32
    if "n_components" not in options:
        assert blocked.duality_gap_ <= 0.01


def test_few_and_small_classes(no_client):
    random_state = np.random.default_rng(0)
    X, y = random_state.normal(size=(600, 4)), random_state.integers(0, 100, 600)
    y[:3] = 1000, 1001, 1002  # of one row each
    with pytest.warns(UserWarning, match="needs 4 rows in every class"):
        blocked = fitted_on(X, y, tol=0.01)
    with pytest.warns(UserWarning, match="needs 4 rows in every class"):
        gathered = lw.LMNN(tol=0.01).fit(X, y)
    assert blocked.objective_ == pytest.approx(gathered.objective_, rel=0.01)


def test_few_rows_per_feature_raise_a_warning(client, digits):
    X, y = digits[0][:30], digits[1][:30]
    sentence = r"^LMNN learned \d+ weights of 1\d features from 20 independent samples"
    with pytest.warns(lw.OverfitWarning, match=sentence) as caught:
        fitted_on(X, y, max_iter=3)
    assert {one.filename for one in caught if one.category is lw.OverfitWarning} == {__file__}


def test_same_bits_on_a_cluster_and_in_this_process(client, digits, request):
    X, y = digits
    on_cluster = fitted_on(X, y, max_iter=12, tol=0.05)
    request.getfixturevalue("no_client")
    here = fitted_on(X, y, max_iter=12, tol=0.05)
    np.testing.assert_array_equal(on_cluster.components_, here.components_)
    assert on_cluster.objective_ == here.objective_


def test_the_rows_are_not_gathered(client, digits, monkeypatch):
    X, y = digits
    received = []
    gather = ClusterEngine.gather

    def recorded(self, handles):
        results = gather(self, handles)
        received.extend(len(pickle.dumps(result)) for result in results)
        return results

    monkeypatch.setattr(ClusterEngine, "gather", recorded)
    fitted_on(X, y, max_iter=5, tol=0.2)
    assert len(received) > 100
    # Rows are 64 bytes each; what comes back is L, 16 × 16, and samples of squared distances.
    assert max(received) < X.nbytes / 10


def test_what_belongs_to_a_block_is_at_its_place(client, digits, monkeypatch):
    """Otherwise one worker could have most blocks, and the others would wait for it."""
    places_of, submit_each = {}, ClusterEngine.submit_each

    def recorded(self, task, *columns, places=None):
        if places is not None:
            places_of.setdefault(engines._name_of(task), set()).add(tuple(places))
        return submit_each(self, task, *columns, places=places)

    monkeypatch.setattr(ClusterEngine, "submit_each", recorded)
    X, y = digits
    lw.LMNN(3, max_iter=1).fit(da.from_array(X, chunks=300), y)
    assert {"joined", "with_targets", "pack", "within", "with_impostors"} <= places_of.keys()
    between = places_of.pop("between")
    in_order = places_of["joined"]
    assert all(places == in_order for places in places_of.values())
    n_blocks = len(*in_order)
    assert in_order == {tuple(range(n_blocks))}
    assert n_blocks > 1
    for places in between:
        counts = np.bincount(places, minlength=n_blocks)
        assert counts.max() - counts.min() <= 1


@pytest.mark.parametrize("in_order", [False, True])
def test_too_many_impostors_are_no_failures_of_tasks(no_client, digits, monkeypatch, in_order):
    """A task that raises is an error in the log of its worker; the solver just halves its step.

    Without workers, where tasks run in order, it ends the search at once.
    """
    monkeypatch.setattr(engines.LocalEngine, "in_order", in_order)
    limits, raised = [], []
    search, run = blocked_search.BlockedImpostorSearch.__call__, engines._run

    def limited(self, *args):
        if self.max_pairs is not None and not limits:
            self.max_pairs = 10
        try:
            return search(self, *args)
        except TooManyPairs as error:
            limits.append(error.max_pairs)
            raise

    def watched(*args):
        try:
            return run(*args)
        except Exception as error:
            raised.append(error)
            raise

    monkeypatch.setattr(blocked_search.BlockedImpostorSearch, "__call__", limited)
    monkeypatch.setattr(engines, "_run", watched)
    assert fitted_on(*digits, tol=0.2).converged_
    assert set(limits) == {10}
    assert {type(error) for error in raised} == ({TooManyPairs} if in_order else set())


def joined_workers(cluster):
    """Return the processes of the workers that have finished starting and joined the scheduler."""
    processes = [nanny.process for nanny in cluster.workers.values()]
    joined = {
        address
        for address, worker in dict(cluster.scheduler.workers).items()
        if worker.status.name == "running"
    }
    return {
        process.pid
        for process in processes
        if process and process.status.name == "running" and process.worker_address in joined
    }


def kill_workers(cluster, wanted, ended, seed):
    """Kill a random worker of the cluster at random moments, as many as are wanted.

    Only when all have joined, and those in place of the killed ones, too: a nanny gives up a worker
    that dies while it starts, and notices late on a busy machine that one has died.
    """
    chosen, killed, n_workers = random.Random(seed), set(), len(cluster.workers)
    joined_last = time.monotonic()
    while wanted["left"] and not ended.wait(chosen.uniform(0.05, 1.5)):
        joined = joined_workers(cluster) - killed - {None}
        if len(joined) == n_workers:
            killed.add(pid := chosen.choice(sorted(joined)))
            os.kill(pid, signal.SIGKILL)
            wanted["left"] -= 1
            joined_last = time.monotonic()
        elif time.monotonic() - joined_last > 180:
            cluster.close()  # fits would wait for workers for ever
            return


@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_killed_workers_change_no_bit(digits, kills):
    X, y = digits
    patient = {
        "distributed.scheduler.allowed-failures": 100,
        "distributed.comm.timeouts.connect": "180s",  # a worker that is too late is given up
        # The cluster closes the nanny of a worker that is not there so long after it was lost, also
        # if it was replaced, and has been killed again just before.
        "distributed.deploy.lost-worker-timeout": "1 hour",
    }
    with (
        dask.config.set(patient),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster, set_as_default=True),
    ):
        undisturbed = fitted_on(X, y, max_iter=12, tol=0.05)
        wanted, ended = {"left": kills}, threading.Event()
        killer = threading.Thread(target=kill_workers, args=(cluster, wanted, ended, kills))
        killer.start()
        try:
            while killer.is_alive():
                model = fitted_on(X, y, max_iter=12, tol=0.05)
                np.testing.assert_array_equal(model.components_, undisturbed.components_)
        finally:
            ended.set()
            killer.join()
        assert not wanted["left"], f"a worker was not replaced: {cluster.workers}"


def test_a_cluster_that_goes_away(digits):
    X, y = digits
    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    )
    other = distributed.Client(cluster, set_as_default=False)
    model = lw.LMNN().fit(X[:300], y[:300])
    before = model.components_
    held = other.persist(da.from_array(X, chunks=400))
    assert isinstance(engine_of(held), ClusterEngine)
    threading.Timer(1.0, cluster.close).start()
    with pytest.raises(RuntimeError, match="The Dask cluster went away"):
        model.set_params(max_iter=10_000, tol=1e-12).fit(held, y)
    assert model.components_ is before
    other.close()


@pytest.mark.parametrize(
    ("options", "arguments", "message"),
    [
        ({"kernel": "rbf"}, {}, "kernel is given, but X is a Dask collection"),
        ({"validation_fraction": 0.2}, {}, "validation_fraction is given"),
        ({"solver": "projected"}, {}, "solver='projected' is given"),
        ({}, {"anchor_weight": np.ones(1000)}, "anchor_weight is given"),
        ({}, {"targets": [[0, 10]]}, "targets is given"),
        ({"n_neighbors": 1000}, {}, "n_neighbors=1000 is not allowed: X has 1000 rows"),
        ({"n_components": 17}, {}, "n_components=17 is too many"),
    ],
)
def test_what_needs_rows_in_memory_raises(no_client, digits, options, arguments, message):
    X, y = digits
    with pytest.raises(ValueError, match=message):
        lw.LMNN(**options).fit(da.from_array(X, chunks=500), y, **arguments)
