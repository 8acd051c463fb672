"""Rows of a Parquet file are learned from in blocks, without a cluster."""

import json
import subprocess
import sys

import numpy as np
import pytest

import likewise as lw

pytest.importorskip("distributed", reason="needs likewise[dask]")

import dask.array as da
import dask.dataframe as dd
import pandas as pd


@pytest.fixture
def path(tmp_path, labelled):
    X, y = labelled
    table = pd.DataFrame(X, columns=list("abcdef")).assign(label=np.array(list("xyz"))[y])
    table.to_parquet(tmp_path / "rows.parquet", row_group_size=300)
    return tmp_path / "rows.parquet"


@pytest.mark.usefixtures("no_client")
@pytest.mark.filterwarnings("error:Dask currently has limited support:UserWarning")
@pytest.mark.parametrize("options", [{}, {"split_row_groups": 1}], ids=str)
@pytest.mark.parametrize(
    "learner", [lw.RCA(), lw.FDA(), lw.NCA(max_iter=3, tol=0.0), lw.LMNN(tol=0.1)], ids=repr
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_same_bits_as_the_rows_in_memory(path, labelled, learner, options):
    X, y = labelled
    table = dd.read_parquet(path, **options)
    assert table.npartitions == (7 if options else 1)
    found = learner.fit(table[list("abcdef")], table["label"])
    assert found.feature_names_in_.tolist() == list("abcdef")
    components = found.components_
    expected = learner.fit(da.from_array(X, chunks=X.shape), np.array(list("xyz"))[y]).components_
    np.testing.assert_array_equal(components, expected)


MEMORY = """
import json, sys
import dask, dask.dataframe as dd, numpy as np
import likewise as lw

def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if "VmHWM" in line)

def fit(path):
    table = dd.read_parquet(path, split_row_groups=1)
    with dask.config.set(scheduler="synchronous"):
        lw.RCA().fit(table.drop(columns="label"), table["label"])

fit(sys.argv[1])
before = peak()
fit(sys.argv[2])
print(json.dumps(1024 * (peak() - before)))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads the tables of Linux")
def test_a_file_is_never_in_memory_as_a_whole(tmp_path):
    random = np.random.default_rng(0)
    for name, n in (("few", 20_000), ("many", 1_000_000)):
        table = pd.DataFrame(random.normal(size=(n, 40)).astype(np.float32))
        table.columns = [f"x{column}" for column in table.columns]
        table["label"] = random.integers(0, 10, n)
        table.to_parquet(tmp_path / f"{name}.parquet", row_group_size=20_000)
    command = [sys.executable, "-c", MEMORY, *(tmp_path / f"{n}.parquet" for n in ("few", "many"))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) < 120e6  # of 160 MB of rows
