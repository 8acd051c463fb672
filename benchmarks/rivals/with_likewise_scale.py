"""likewise on many rows: in memory, from disk, and on a cluster of two workers."""


def lmnn(threads, max_iter=500):
    import time
    import warnings

    from likewise import LMNN

    def fit(data):
        started = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a fit that is stopped early on purpose warns
            model = LMNN(3, max_iter=max_iter, n_jobs=threads).fit(data["X"], data["y"])
        return {
            "fit_s": time.perf_counter() - started,
            "L": model.components_,
            "converged": model.converged_,
            "objective": model.objective_,
        }

    return fit


def lmnn_from_disk(threads, max_iter=500):
    import tempfile
    from pathlib import Path

    import numpy as np

    import likewise as lw

    fit = lmnn(threads, max_iter)

    def fit_file(data):
        with tempfile.TemporaryDirectory() as folder, lw.config_context(max_memory="400MB"):
            path = Path(folder, "rows.npy")
            np.save(path, data["X"])
            return fit({"X": np.load(path, mmap_mode="r"), "y": data["y"]})

    return fit_file


def lmnn_from_parquet(threads, max_iter=500):
    import tempfile
    from pathlib import Path

    import dask.dataframe
    import numpy as np
    import pyarrow
    import pyarrow.parquet

    import likewise as lw

    fit = lmnn(threads, max_iter)
    rows_of_group = 1 << 14

    def stored(X, folder):
        path = Path(folder, "rows.parquet")
        names = [f"x{column}" for column in range(X.shape[1])]
        schema = pyarrow.schema([(name, pyarrow.float32()) for name in names])
        with pyarrow.parquet.ParquetWriter(path, schema) as file:
            for start in range(0, len(X), rows_of_group):
                columns = list(X[start : start + rows_of_group].T.copy())
                file.write_table(pyarrow.table(columns, schema=schema))
        return dask.dataframe.read_parquet(path, split_row_groups=1)

    def fit_file(data):
        with tempfile.TemporaryDirectory() as folder, lw.config_context(max_memory="300MB"):
            return fit({"X": stored(data["X"], folder), "y": data["y"]})

    with tempfile.TemporaryDirectory() as folder:
        stored(np.zeros((1, 1), dtype=np.float32), folder).compute()  # what reading imports
    return fit_file


def lmnn_on_dask(threads, max_iter=500):
    import tempfile
    from pathlib import Path

    import dask
    import dask.array as da
    import numpy as np
    from distributed import Client, LocalCluster

    fit = lmnn(threads, max_iter)
    rows_of_block = 1 << 15

    def read(path, start):
        return np.array(np.load(path, mmap_mode="r")[start : start + rows_of_block])

    def fit_on_cluster(data):
        n, d = data["X"].shape
        options = {"n_workers": threads, "threads_per_worker": 1, "dashboard_address": None}
        with (
            tempfile.TemporaryDirectory() as folder,
            LocalCluster(processes=n > rows_of_block, **options) as cluster,
            Client(cluster) as client,
        ):
            client.wait_for_workers(threads)
            path = Path(folder, "rows.npy")
            np.save(path, data["X"])
            blocks = [
                da.from_delayed(
                    dask.delayed(read)(path, start),
                    shape=(min(rows_of_block, n - start), d),
                    dtype=data["X"].dtype,
                )
                for start in range(0, n, rows_of_block)
            ]
            return fit({"X": da.concatenate(blocks), "y": data["y"]})

    return fit_on_cluster
