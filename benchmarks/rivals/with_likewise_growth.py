"""Fits of likewise whose time is taken inside: without reading data, or starting workers."""

import statistics
import time

REPEAT_S = 0.5
ROWS_OF_BLOCK = 1 << 15
FEWEST_ROWS = 1000  # tests have fewer, for which processes would take too long to start


def fit(threads, name):
    learner = _learner(threads, name)

    def fit_rows(data):
        return _timed(lambda: learner.fit(data["X"], data["y"]))

    return fit_rows


def fit_pairs(threads, name):
    learner = _learner(threads, name)

    def fit_to_pairs(data):
        return _timed(lambda: learner.fit_pairs(data["X"], data["pairs"], data["same"]))

    return fit_to_pairs


def fit_on_dask(threads, name):
    import dask.array as da
    from distributed import Client, LocalCluster

    learner = _learner(threads, name)

    def fit_on_workers(data):
        in_processes = len(data["X"]) >= FEWEST_ROWS
        options = {"n_workers": threads, "threads_per_worker": 1, "dashboard_address": None}
        with LocalCluster(processes=in_processes, **options) as cluster, Client(cluster) as client:
            rows = da.from_array(data["X"], chunks=(ROWS_OF_BLOCK, -1))
            rows = client.persist(rows)  # on the workers, as blocks that they have read would be
            return _timed(lambda: learner.fit(rows, data["y"]))

    return fit_on_workers


def _learner(threads, name):
    import likewise

    learner = getattr(likewise, name)()
    return learner.set_params(n_jobs=threads) if "n_jobs" in learner.get_params() else learner


def _timed(learn):
    """Fit, repeat short fits, and return the metric and the median of the seconds."""
    seconds = []
    while sum(seconds) < REPEAT_S:
        started = time.perf_counter()
        model = learn()
        seconds.append(time.perf_counter() - started)
    if len(seconds) > 1:
        del seconds[0]  # the first call starts threads
    return {"L": model.components_, "fit_s": statistics.median(seconds)}
