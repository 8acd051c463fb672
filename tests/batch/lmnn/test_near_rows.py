"""Rows put into blocks by a kd tree of a sample: each row once, near rows together."""

import numpy as np
import pytest
from blocked_rows import blocked, contents

from likewise.batch.lmnn.near_rows import kd_cells, near_rows_together

pytestmark = pytest.mark.filterwarnings("error")


def normal(n, d, scale=1.0):
    return np.random.default_rng(d).normal(size=(n, d)) * scale


def with_outlier(place):
    X = normal(2000, 3)
    X[place] = 1e200
    return X


TABLES = {
    "many features": normal(900, 40),
    "one feature": normal(2000, 1),
    "float32": normal(2000, 3).astype(np.float32),
    "large float32": (normal(2000, 3).clip(-3, 3) * 1e38).astype(np.float32),
    "constant": np.full((2000, 3), 7.0),
    "constant but for one": np.eye(2000, 1),
    "zero": np.zeros((2000, 2)),
    "large": normal(2000, 3, 1e300),
    "small": normal(2000, 3, 1e-300),
    "subnormal": normal(2000, 3, 1e-320),
    "outlier in the sample": with_outlier(0),
    "outlier": with_outlier(7),
    "few rows": normal(10, 3),
    "integers": np.random.default_rng(1).integers(0, 3, (2000, 2)).astype(float),
}


@pytest.mark.parametrize("n_blocks", [1, 2, 5])
@pytest.mark.parametrize("table", TABLES)
def test_every_row_once_with_its_class_and_number(table, n_blocks):
    X = TABLES[table]
    classes = np.random.default_rng(0).integers(0, 4, len(X))
    counts = [len(part) for part in np.array_split(X, n_blocks)]
    rows, numbers = near_rows_together(blocked(X, classes, counts))
    assert rows.counts.tolist() == counts
    found = contents(rows, numbers)
    for X_of, classes_of, numbers_of in found:
        assert (np.diff(numbers_of) > 0).all()
        np.testing.assert_array_equal(X_of, X[numbers_of])
        np.testing.assert_array_equal(classes_of, classes[numbers_of])
    assert [len(numbers_of) for *_, numbers_of in found] == counts
    np.testing.assert_array_equal(
        np.sort(np.concatenate([part[2] for part in found])), range(len(X))
    )


def test_empty_blocks_stay_empty():
    X = normal(2000, 3)
    counts = [0, 900, 0, 1100, 0]
    rows, numbers = near_rows_together(blocked(X, np.zeros(2000, np.int64), counts))
    assert [len(part[0]) for part in contents(rows, numbers)] == counts


def test_clusters_are_put_together():
    random = np.random.default_rng(0)
    cluster = random.permutation(np.repeat(range(4), 500))
    X = 100 * np.eye(4)[cluster] + random.normal(size=(2000, 4))
    rows, numbers = near_rows_together(blocked(X, cluster, [500] * 4))
    for _, clusters_of, _ in contents(rows, numbers):
        # Medians of a sample do not cut the table into exact quarters.
        assert np.bincount(clusters_of).max() >= 300


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("depth", [0, 1, 3, 6])
def test_cells_are_those_of_a_tree_walked_by_hand(table, depth):
    X = TABLES[table]
    sample = X[::16]
    cells = kd_cells(sample, depth)
    points = cells.points(X)
    found = cells.cell_of(X, np.zeros(len(X), np.int64))
    for point, cell in zip(points[:200], found[:200], strict=True):
        node = 1
        for _ in range(depth):
            node = 2 * node + int(point[cells.axis[node]] > cells.threshold[node])
        assert cell == node - 2**depth
    assert found.min() >= 0
    assert found.max() < 2**depth
    assert cells.cell_of(X[:0], found[:0]).shape == (0,)


def test_cells_divide_the_sample_at_medians():
    sample = normal(512, 5)
    for depth in range(6):
        cells = kd_cells(sample, depth)
        found = cells.cell_of(sample, np.zeros(512, np.int64))
        assert (np.bincount(found, minlength=2**depth) == 512 >> depth).all()
    # The first axis is that of the largest variance.
    wide = sample * [1, 1, 9, 1, 1]
    cells = kd_cells(wide, 1)
    above = cells.cell_of(wide, np.zeros(512, np.int64)) == 1
    assert abs(np.corrcoef(above, wide[:, 2])[0, 1]) > 0.7
