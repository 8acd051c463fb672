"""EmbeddingAdapter of tensors: the map of arrays, without a copy of the rows on the host."""

import pickle

import numpy as np
import pytest
from sklearn.decomposition import PCA

import likewise as lw
from likewise._runtime import tensors
from likewise.adapter import _bilinear_ridge
from likewise.adapter._items import equal_rows
from likewise.constraints import random_pairs

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from on_device import DEVICE, DEVICE_TO_SET, host, there  # noqa: E402

N_LABELLED = 300


def embeddings(n=1200, seed=5):
    """Return unit rows whose classes differ in 4 of 24 directions, and vary in the others."""
    rng = np.random.default_rng(seed)
    y = rng.integers(8, size=n)
    X = 2 * rng.normal(size=(n, 24))
    X[:, :4] = rng.normal(size=(8, 4))[y] + 0.4 * rng.normal(size=(n, 4))
    X[1:30:7], y[1:30:7] = X[0:29:7], y[0:29:7]  # equal rows
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


X, y = embeddings()
T = there(X)


def pairs_of(labels, n):
    return random_pairs(labels, n, distinct=True, random_state=0)


def triplets():
    index, same = pairs_of(y[:400], 1600)
    n = min(same.sum(), (~same).sum())
    anchors = index[same][:n]
    other = [np.flatnonzero(y[:400] != y[a])[k % 200] for k, (a, _) in enumerate(anchors)]
    return np.column_stack([anchors, other])


def fit(kind, rows, **parameters):
    adapter = lw.EmbeddingAdapter(**parameters)
    if kind == "labels":
        return adapter.fit(rows, y)
    if kind == "unlabelled":
        return adapter.fit(rows[:N_LABELLED], y[:N_LABELLED], unlabelled=rows[N_LABELLED:])
    if kind == "pairs":
        return adapter.fit_pairs(rows[:900], *pairs_of(y[:400], 800), unlabelled=rows[900:])
    if kind == "triplets":
        return adapter.fit_triplets(rows, triplets())
    queries = np.arange(150)
    relevant = [np.setdiff1d(np.flatnonzero(y == y[q])[:6], [q]) for q in queries]
    return adapter.fit_relevance(rows, queries, relevant)


KINDS = ["labels", "unlabelled", "pairs", "triplets", "relevance"]


def assert_same_choice(found, expected, tol):
    assert found.chosen_ == expected.chosen_
    assert found.weight_ == expected.weight_
    assert found.gain_ == pytest.approx(expected.gain_, abs=tol)
    np.testing.assert_allclose(found.gain_interval_, expected.gain_interval_, atol=tol)
    assert type(found.components_) is type(found.mean_) is np.ndarray
    assert found.components_.dtype == expected.components_.dtype
    size = np.abs(expected.components_).max()
    np.testing.assert_allclose(found.components_, expected.components_, atol=tol * size)
    np.testing.assert_allclose(found.mean_, expected.mean_, atol=tol)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("kind", KINDS)
def test_the_map_is_that_of_arrays(kind, dtype):
    rows = X.astype(dtype)
    expected, found = fit(kind, rows), fit(kind, there(rows))
    assert expected.chosen_ != "identity"
    assert_same_choice(found, expected, 1e-5 if dtype == np.float64 else 3e-5)
    assert found.normalize_ is expected.normalize_ is True


@pytest.mark.parametrize("parameters", [{"side": "query"}, {"normalize": False}], ids=str)
@pytest.mark.parametrize("kind", ["unlabelled", "pairs", "triplets"])
def test_queries_only_and_euclidean_distances(kind, parameters):
    expected, found = fit(kind, X, **parameters), fit(kind, T, **parameters)
    assert_same_choice(found, expected, 1e-7)
    for method, arguments in (("transform", 1), ("pair_distance", 2)):
        given = [T, T.flip(0)][:arguments]
        mapped = getattr(found, method)(*given)
        assert isinstance(mapped, torch.Tensor)
        np.testing.assert_allclose(
            host(mapped),
            getattr(expected, method)(*(host(part) for part in given)),
            atol=1e-6 * float(mapped.abs().max()),
        )


@pytest.mark.parametrize("kind", ["pairs", "triplets"])
def test_many_judgements_are_solved_in_steps(kind, monkeypatch):
    monkeypatch.setattr(_bilinear_ridge, "_DENSE_PRODUCTS", 50)
    assert_same_choice(fit(kind, T), fit(kind, X), 1e-6)


@pytest.mark.parametrize("kind", ["unlabelled", "pairs"])
def test_a_learner_takes_part(kind):
    metric = lw.RCA() if kind == "pairs" else lw.FDA()
    expected, found = fit(kind, X, metric=metric), fit(kind, T, metric=metric)
    assert "metric" in found.cv_results_["family"]
    for name, column in expected.cv_results_.items():
        if column.dtype.kind == "f":
            np.testing.assert_allclose(found.cv_results_[name], column, atol=1e-7)


@pytest.fixture
def few_to_the_host(monkeypatch):
    """Let no tensor with as many elements as X become an array, or go to another device."""

    def guarded(method):
        def call(self, *args, **kwargs):
            assert self.numel() < T.numel() // 2
            return method(self, *args, **kwargs)

        return call

    for name in ("numpy", "cpu", "__array__", "tolist"):
        monkeypatch.setattr(torch.Tensor, name, guarded(getattr(torch.Tensor, name)))


@pytest.mark.usefixtures("few_to_the_host")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("kind", KINDS)
def test_rows_stay_on_the_device(kind, dtype):
    with pytest.raises(AssertionError):
        T.cpu()
    rows = T.to(dtype)
    adapter = fit(kind, rows)
    assert isinstance(adapter.transform(rows), torch.Tensor)
    assert isinstance(adapter.pair_distance(rows, rows), torch.Tensor)


def test_a_fit_repeated_has_the_same_bits():
    first, second = fit("unlabelled", T), fit("unlabelled", T)
    assert first.components_.tobytes() == second.components_.tobytes()


def test_files_and_pickles_hold_no_tensors(tmp_path):
    adapter = fit("unlabelled", T)
    path = tmp_path / "adapter.safetensors"
    adapter.save(path)
    for again in (lw.load(path), pickle.loads(pickle.dumps(adapter))):
        assert not any(isinstance(value, torch.Tensor) for value in vars(again).values())
        np.testing.assert_array_equal(again.transform(X), adapter.transform(X))


@pytest.mark.parametrize("kind", ["unlabelled", "pairs"])
def test_the_learning_curve_is_that_of_arrays(kind):
    expected, found = fit(kind, X).learning_curve(), fit(kind, T).learning_curve()
    np.testing.assert_array_equal(found.chosen, expected.chosen)
    np.testing.assert_allclose(found.gains, expected.gains, atol=1e-7)
    adapter = fit(kind, T)
    with lw.config_context(device="cpu"):
        np.testing.assert_array_equal(adapter.learning_curve().gains, expected.gains)


def test_arrays_go_to_the_device_that_is_set(monkeypatch):
    expected = fit("unlabelled", X)
    monkeypatch.setattr(tensors, "configured_device", lambda: DEVICE_TO_SET)
    monkeypatch.setattr(tensors, "_require_cuda", lambda torch, device: None)
    seen = []
    monkeypatch.setattr(
        "likewise.adapter._torch_grouped_rows.RowsOnDevice.class_means",
        lambda self, *args: seen.append(self.rows) or 1 / 0,
    )
    with pytest.raises(ZeroDivisionError):
        fit("unlabelled", X)
    assert isinstance(seen[0], torch.Tensor)
    monkeypatch.undo()
    monkeypatch.setattr(tensors, "configured_device", lambda: DEVICE_TO_SET)
    monkeypatch.setattr(tensors, "_require_cuda", lambda torch, device: None)
    found = fit("unlabelled", X)
    assert_same_choice(found, expected, 1e-7)
    assert type(found.transform(X)) is type(found.pair_distance(X, X)) is np.ndarray
    given, _, others = found._fitted_to
    assert type(given) is type(others) is np.ndarray  # not the copies on the device
    assert found.explain_pair(X[0], X[1]).distance == pytest.approx(
        expected.explain_pair(X[0], X[1]).distance
    )


def test_device_cpu_computes_with_arrays():
    with lw.config_context(device="cpu"):
        found = fit("unlabelled", T)
    assert found.components_.tobytes() == fit("unlabelled", X).components_.tobytes()


@pytest.mark.filterwarnings("ignore:unlabelled requires a gradient")
def test_gradients_are_not_followed_and_that_is_said():
    for dtype in (torch.float32, torch.float16):
        with pytest.warns(UserWarning, match="X requires a gradient, which is not followed"):
            fit("pairs", T.to(dtype).requires_grad_())


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (torch.where(T > 0.6, torch.nan, T), "Input X contains NaN"),
        (torch.where(T > 0.6, torch.inf, T), "Input X contains infinity"),
        (T.float() * 1e16, r"only values within ±1e\+15 can be learned from in float32: scale X"),
        (T.to(torch.complex64), "X holds complex numbers"),
        (T.to_sparse(), "only dense tensors"),
        (T[:, 0], "X has 1 dimension"),
        (T[:-1], f"X has {len(X) - 1} rows but y has {len(X)} labels"),
    ],
)
@pytest.mark.filterwarnings("ignore:.* equal to another row with a different label")
def test_tensors_that_are_refused(rows, message):
    with pytest.raises(ValueError, match=message):
        lw.EmbeddingAdapter().fit(rows, y)


@pytest.mark.parametrize(
    ("others", "message"),
    [
        (X, f"X is a tensor on {DEVICE} and unlabelled is no tensor, but both must be"),
        (T[:, :5], "X has 5 features|unlabelled has 5 features"),
        (torch.full((2, 24), torch.nan, device=DEVICE), "Input unlabelled contains NaN"),
    ],
)
def test_other_rows_that_are_refused(others, message):
    with pytest.raises(ValueError, match=message):
        lw.EmbeddingAdapter().fit(T, y, unlabelled=others)


@pytest.mark.parametrize(
    ("method", "judgements"),
    [
        ("fit", (y,)),
        ("fit_pairs", pairs_of(y, 200)),
        ("fit_triplets", (triplets(),)),
        ("fit_relevance", ([0, 1], [[2], [3]])),
    ],
)
def test_rows_on_two_devices_are_refused_before_anything_is_computed(method, judgements):
    nothing = torch.empty_like(T, device="meta")  # no value of it can be read
    for rows, others in ((T, nothing), (nothing, T)):
        message = f"X is a tensor on {rows.device} and unlabelled is a tensor on {others.device}, "
        with pytest.raises(ValueError, match=message + "but both must be"):
            getattr(lw.EmbeddingAdapter(), method)(rows, *judgements, unlabelled=others)


def test_other_rows_may_be_of_another_precision_or_go_to_the_device_too(monkeypatch):
    expected = lw.EmbeddingAdapter().fit(X, y, unlabelled=X.astype(np.float32))
    assert_same_choice(lw.EmbeddingAdapter().fit(T, y, unlabelled=T.float()), expected, 1e-7)
    monkeypatch.setattr(tensors, "configured_device", lambda: DEVICE_TO_SET)
    monkeypatch.setattr(tensors, "_require_cuda", lambda torch, device: None)
    found = lw.EmbeddingAdapter().fit(X, y, unlabelled=T.float())
    assert_same_choice(found, expected, 1e-7)


def test_dask_collections_are_not_mixed_with_tensors():
    da = pytest.importorskip("dask.array", reason="needs likewise[dask]")
    with pytest.raises(ValueError, match=f"X is a tensor on {DEVICE} and unlabelled is no tensor"):
        lw.EmbeddingAdapter().fit(T, y, unlabelled=da.from_array(X, chunks=(400, -1)))
    blocked = da.from_array(X[:N_LABELLED], chunks=(200, -1))
    found = lw.EmbeddingAdapter().fit(blocked, y[:N_LABELLED], unlabelled=T[N_LABELLED:])
    assert found.components_.tobytes() == fit("unlabelled", X).components_.tobytes()


def test_no_other_rows():
    expected = fit("labels", T)
    found = lw.EmbeddingAdapter().fit(T, there(y), unlabelled=T[:0])
    assert found.components_.tobytes() == expected.components_.tobytes()


def test_memory_that_does_not_suffice_leaves_the_adapter_as_it_was(monkeypatch):
    adapter = fit("unlabelled", T)
    before = dict(vars(adapter))

    def no_memory(*args, **kwargs):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0.")

    monkeypatch.setattr("likewise.adapter._torch_grouped_rows.map_tensor", no_memory)
    with pytest.raises(MemoryError, match=r"EmbeddingAdapter ran out of the memory of the GPU \("):
        adapter.fit(T, y, unlabelled=T)
    assert vars(adapter) == before


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_equal_rows_have_the_numbers_of_arrays(dtype):
    rng = np.random.default_rng(0)
    for n, d, n_values in ((1, 1, 2), (7, 3, 2), (500, 2, 3), (400, 6, 4), (200, 5, 10**6)):
        rows = (rng.integers(n_values, size=(n, d)) - 1).astype(dtype)
        rows[::3] *= -1  # -0.0 equals 0.0
        found = equal_rows(there(rows))
        assert type(found) is np.ndarray
        np.testing.assert_array_equal(found, equal_rows(rows))


def test_a_search_under_the_map_runs_on_the_device():
    expected = lw.MetricKNN(metric=lw.EmbeddingAdapter()).fit(X, y)
    found = lw.MetricKNN(metric=lw.EmbeddingAdapter()).fit(T, y)
    distances, index = found.kneighbors(T[:50])
    assert isinstance(distances, torch.Tensor)
    np.testing.assert_array_equal(host(index), expected.kneighbors(X[:50])[1])


class OnlyArrays(PCA):
    """A transformer that refuses tensors, as scikit-learn does those on a GPU."""

    def fit(self, X, y=None):
        assert type(X) is np.ndarray
        return super().fit(X)


def test_other_transformers_get_arrays():
    knn = lw.MetricKNN(metric=OnlyArrays(3)).fit(T, y)
    assert isinstance(knn.kneighbors(T[:5])[0], torch.Tensor)
    with pytest.raises(ValueError, match="metric=OnlyArrays is not a linear metric"):
        fit("labels", T, metric=OnlyArrays(3))


def test_products_keep_their_precision_where_tf32_is_allowed():
    before = torch.get_float32_matmul_precision()
    expected = fit("unlabelled", X.astype(np.float32))
    torch.set_float32_matmul_precision("medium")
    try:
        found = fit("unlabelled", T.float(), verbose=1)
    finally:
        torch.set_float32_matmul_precision(before)
    assert_same_choice(found, expected, 1e-5)
