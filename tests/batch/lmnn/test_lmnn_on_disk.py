"""LMNN of rows in a memory map: those of an array, without being in memory as a whole."""

import importlib
import tracemalloc

import numpy as np
import pytest
from sklearn.datasets import load_digits

import likewise as lw
from likewise import _loops
from likewise._loops.distances import types
from likewise._runtime import blocks
from likewise._runtime.blocks import stored_results
from likewise.batch.lmnn import estimator
from likewise.batch.lmnn.blocked_search import BlockedImpostorSearch


@pytest.fixture
def always_blocks(monkeypatch):
    """Read small files in blocks, too, and hold hardly any result in memory."""
    monkeypatch.setattr(blocks, "free_memory", lambda: 0)
    monkeypatch.setattr(stored_results, "_MAX_HELD", 0)


def on_disk(folder, X):
    np.save(folder / "rows.npy", X)
    return np.load(folder / "rows.npy", mmap_mode="r")


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:1000, 20:36].astype(np.float32), np.array(list("abcdefghij"))[y[:1000]]


@pytest.mark.usefixtures("always_blocks")
@pytest.mark.parametrize(
    "options", [{}, {"regularization": 0.2}, {"n_passes": 2}, {"init": "fda"}], ids=str
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16])
def test_the_minimum_of_the_rows_in_memory(tmp_path, digits, options, dtype):
    X, y = digits
    # Pixels of 16 shades have targets at equal distances, of which blocks may take others.
    X = np.rint(100 * X + np.random.default_rng(0).uniform(-50, 50, X.shape))
    learner = lw.LMNN(tol=0.002, **options)
    expected = learner.fit(X.astype(dtype), y).objective_
    found = learner.fit(on_disk(tmp_path, X.astype(dtype)), y)
    assert found.duality_gap_ <= learner.tol
    assert found.objective_ == pytest.approx(expected, rel=0.004)
    assert found.components_.dtype == (np.float32 if dtype == np.float32 else np.float64)
    assert found.n_features_in_ == 16


@pytest.mark.usefixtures("always_blocks")
def test_same_bits_as_a_dask_array_of_the_rows(tmp_path, digits):
    da = pytest.importorskip("dask.array", reason="needs likewise[dask]")
    X, y = digits
    learner = lw.LMNN(tol=0.05)
    blocked = learner.fit(da.from_array(X, chunks=300), y).components_
    np.testing.assert_array_equal(learner.fit(on_disk(tmp_path, X), y).components_, blocked)


@pytest.mark.usefixtures("always_blocks")
def test_n_jobs_is_respected_and_changes_no_bit(tmp_path, digits, monkeypatch):
    X, y = digits
    rows, seen = on_disk(tmp_path, X), set()
    scan = _loops.scan_packed

    def recorded(*args, n_jobs, **options):
        seen.add(n_jobs)
        return scan(*args, n_jobs=n_jobs, **options)

    monkeypatch.setattr(_loops, "scan_packed", recorded)
    one, two = (lw.LMNN(tol=0.2, n_jobs=n).fit(rows, y).components_ for n in (1, 2))
    np.testing.assert_array_equal(one, two)
    assert seen == {1, 2}


def test_files_are_read_as_a_whole_unless_memory_is_scarce_or_limited(
    tmp_path, digits, monkeypatch
):
    X, y = digits
    rows = on_disk(tmp_path, X)
    learner = lw.LMNN(tol=0.05)
    whole = learner.fit(X, y).components_
    np.testing.assert_array_equal(learner.fit(rows, y).components_, whole)
    assert not blocks.is_read_in_blocks(rows)
    with lw.config_context(max_memory="1GB"):
        assert blocks.is_read_in_blocks(rows)
        assert not blocks.is_read_in_blocks(X)
    monkeypatch.setattr(blocks, "free_memory", lambda: 7 * rows.nbytes)
    assert blocks.is_read_in_blocks(rows)
    assert not blocks.is_read_in_blocks(X)
    # Bytes are computed with as doubles.
    assert blocks.is_read_in_blocks(on_disk(tmp_path, X.astype(np.uint8)))


@pytest.mark.usefixtures("always_blocks")
def test_options_that_need_all_rows_read_them(tmp_path, digits):
    X, y = digits
    weights = np.arange(len(X)) % 3
    learner = lw.LMNN(tol=0.05)
    expected = learner.fit(X, y, anchor_weight=weights).components_
    found = learner.fit(on_disk(tmp_path, X), y, anchor_weight=weights).components_
    np.testing.assert_array_equal(found, expected)


@pytest.mark.usefixtures("always_blocks")
@pytest.mark.parametrize(
    ("change", "labels", "message"),
    [
        (lambda X: X, lambda y: y[:-1], "X has 1000 rows but y has 999 labels"),
        (lambda X: X, lambda y: np.zeros(1000), "y has one class"),
        (lambda X: np.where(X > 15, np.nan, X), lambda y: y, "Input X contains NaN in row"),
        (lambda X: X + 1j, lambda y: y, "X holds complex numbers"),
    ],
)
def test_files_that_are_refused(tmp_path, digits, change, labels, message):
    X, y = digits
    with pytest.raises(ValueError, match=message):
        lw.LMNN().fit(on_disk(tmp_path, change(X)), labels(y))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_less_memory_than_the_rows_in_memory(tmp_path):
    importlib.import_module("sklearn.neighbors")  # used by small blocks: its modules would count
    random = np.random.default_rng(0)
    y = random.integers(0, 10, 20_000)
    X = (random.normal(size=(20_000, 40)) + random.normal(size=(10, 40))[y]).astype(np.float32)
    rows, learner = on_disk(tmp_path, X), lw.LMNN(max_iter=2)
    peaks = []
    for given, allowed in ((X, "auto"), (rows, "64MB")):
        with lw.config_context(max_memory=allowed):
            tracemalloc.start()
            learner.fit(given, y)
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    assert peaks[1] < peaks[0] / 2


@pytest.fixture
def overlapping():
    """Return rows with thousands of rows of other classes within the first margin."""
    random = np.random.default_rng(0)
    return random.normal(size=(20_000, 20)).astype(np.float32), random.integers(0, 5, 20_000)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_search_of_too_many_pairs_ends_before_it_has_them_all(tmp_path, overlapping, monkeypatch):
    X, y = overlapping
    searches, scan, search = [], _loops.scan_packed, BlockedImpostorSearch._found

    def counted(*args, **options):
        found = scan(*args, **options)
        if searches:  # targets are searched before
            searches[-1] += sum(len(side.rows) for side in found)
        return found

    monkeypatch.setattr(_loops, "scan_packed", counted)
    monkeypatch.setattr(
        BlockedImpostorSearch, "_found", lambda *args: searches.append(0) or search(*args)
    )
    learner = lw.LMNN(max_iter=1)
    with lw.config_context(max_memory="64MB"):
        learner.fit(on_disk(tmp_path, X), y)
    assert searches[0] == pytest.approx(100 * len(X), rel=0.2)  # as many as are allowed
    assert max(searches[1:]) < searches[0]
    # The start is the multiple of the metric that rows in memory begin with.
    assert learner.objective_ == pytest.approx(lw.LMNN(max_iter=1).fit(X, y).objective_, rel=0.02)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_pairs_that_do_not_fit_are_left_for_a_larger_multiple(tmp_path, overlapping):
    X, y = overlapping
    rows, learner = on_disk(tmp_path, X), lw.LMNN(max_iter=2)
    with lw.config_context(max_memory="16MiB"):
        tracemalloc.start()
        learner.fit(rows, y)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 3 * 2**24
    assert np.isfinite(learner.objective_)


@pytest.mark.usefixtures("always_blocks")
def test_scans_of_which_no_pairs_fit_are_said_in_the_words_of_lmnn(tmp_path, digits, monkeypatch):
    supervise, learner = estimator.supervise_blocks, lw.LMNN()

    def no_memory_from_here(*args):  # targets are selected by scans as well
        found = supervise(*args)
        select = found[1].select_targets

        def selected(Z):
            selection = select(Z)
            monkeypatch.setattr(types, "UNCHECKED_BYTES", 0)
            monkeypatch.setattr(types, "allowed_memory", lambda: 0)
            return selection

        found[1].select_targets = selected
        return found

    monkeypatch.setattr(estimator, "supervise_blocks", no_memory_from_here)
    sentence = "more pairs of rows of different classes within the margin than fit in .*max_memory"
    with pytest.raises(MemoryError, match=sentence):
        learner.fit(on_disk(tmp_path, digits[0]), digits[1])
    assert not hasattr(learner, "components_")


@pytest.mark.usefixtures("always_blocks")
def test_pairs_of_a_block_that_never_fit_are_said_in_the_words_of_lmnn(
    tmp_path, digits, monkeypatch
):
    monkeypatch.setattr("likewise.batch.lmnn.blocked_search._JOINED_BYTES", 1e12)
    learner = lw.LMNN()
    sentence = r"LMNN, for \d+ pairs of a block with rows of other classes within the margin, needs"
    with pytest.raises(MemoryError, match=sentence):
        learner.fit(on_disk(tmp_path, digits[0]), digits[1])
    assert not hasattr(learner, "components_")
