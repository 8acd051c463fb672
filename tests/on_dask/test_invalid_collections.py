"""Dask collections that cannot be learned from: one sentence for each."""

import numpy as np
import pytest

import likewise as lw
from likewise import constraints, neighbors

pytest.importorskip("distributed", reason="needs likewise[dask]")

import dask.array as da

pytestmark = pytest.mark.usefixtures("no_client")

SUPERVISED = [
    lw.LMNN(),
    lw.NCA(),
    lw.RCA(),
    lw.FDA(),
    lw.MetricKNN(),
    lw.EmbeddingAdapter(),
    lw.PairClassifier(),
]


@pytest.mark.parametrize("learner", SUPERVISED, ids=repr)
def test_missing_labels_are_missed_in_the_words_of_scikit_learn(labelled, learner):
    X, _ = labelled
    sentence = f"{type(learner).__name__} estimator requires y to be passed, but the target y is"
    for rows in (X, da.from_array(X, chunks=500)):
        with pytest.raises(ValueError, match=sentence):
            learner.fit(rows, None)


def changed_chunk(X, which, change, chunks):
    """Return a Dask array, one chunk of which has not the shape that is declared."""

    def change_one(block, block_info):
        return change(block) if block_info[0]["chunk-location"][0] == which else block

    return da.from_array(X, chunks=chunks).map_blocks(change_one, dtype=X.dtype)


@pytest.mark.parametrize("which", [0, 3, 29])
@pytest.mark.parametrize(
    ("change", "shape"),
    [
        (lambda block: block[1:], "69, 6"),
        (lambda block: block[:0], "0, 6"),
        (lambda block: np.vstack([block, block[:2]]), "72, 6"),
        (lambda block: block[:, 1:], "70, 5"),
        (lambda block: block[:, 0], "70,"),
    ],
)
@pytest.mark.parametrize("learner", [lw.LMNN(), lw.Whitening(), lw.PairClassifier()], ids=repr)
def test_chunks_of_another_shape(labelled, learner, change, shape, which):
    X, y = labelled  # in blocks of 525 rows, which cut chunk 7 and others in two
    rows = changed_chunk(X, which, change, (70, -1))
    message = rf"Chunk \[{which}, 0\] of X has the shape \({shape}\), but it declares \(70, 6\)"
    with pytest.raises(ValueError, match=message):
        learner.fit(rows, y)


@pytest.mark.parametrize("which", [7, 15])
@pytest.mark.parametrize(("change", "n"), [(lambda b: b[1:], 69), (lambda b: np.tile(b, 2), 140)])
def test_chunks_that_two_blocks_share(labelled, change, n, which):
    X, y = labelled
    labels = changed_chunk(y, which, change, 70)
    message = rf"Chunk \[{which}\] of y has the shape \({n},\), but it declares \(70,\)"
    with pytest.raises(ValueError, match=message):
        lw.FDA().fit(da.from_array(X, chunks=70), labels)
    rows = changed_chunk(X, which, lambda block: np.resize(block, (n, 6)), (70, -1))
    with pytest.raises(ValueError, match=rf"Chunk \[{which}, 0\] of X has the shape \({n}, 6\)"):
        lw.FDA().fit(rows, y)


def test_columns_in_several_chunks(labelled):
    X, y = labelled
    rows = changed_chunk(X, 1, lambda block: block[1:], (70, (2, 4)))
    with pytest.raises(ValueError, match=r"Chunk \[1, 0\] of X has the shape \(69, 2\)"):
        lw.FDA().fit(rows, y)


def test_the_advice_is_right(labelled):
    X, y = labelled
    kept = X[:, 0] > 99
    rows = da.from_array(X, chunks=(70, -1)).map_blocks(lambda b: b[b[:, 0] > 99], dtype=X.dtype)
    with pytest.raises(ValueError, match=r"compute_chunk_sizes\(\) of the Dask array corrects"):
        lw.FDA().fit(rows, y)
    found = lw.FDA().fit(rows.compute_chunk_sizes(), y[kept])
    np.testing.assert_allclose(found.components_, lw.FDA().fit(X[kept], y[kept]).components_)


@pytest.mark.parametrize(
    "call",
    [
        lambda X, y: neighbors.nearest(X, X, 3),
        lambda X, y: neighbors.nearest(np.asarray(X), X, 3),
        lambda X, y: neighbors.farthest(np.asarray(X), X, 3),
        lambda X, y: neighbors.within_radius_of_other_class(X, y, 1.0),
        lambda X, y: constraints.target_neighbors(X, y, 3),
        lambda X, y: constraints.doublets(X, y),
        lambda X, y: constraints.triplets(X, y),
    ],
)
def test_functions_of_rows_in_memory_do_not_gather_them(labelled, call):
    X, y = labelled
    with pytest.raises(ValueError, match=r"is a Dask collection, but .* needs rows in memory: "):
        call(da.from_array(X, chunks=500), y)
