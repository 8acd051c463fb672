"""Tensors in, tensors out; the device that is set; and what is wrong with a tensor."""

import builtins
import sys

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA

import likewise as lw
from likewise._runtime import tensors

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from on_device import DEVICE, host, there  # noqa: E402

X, y = load_wine(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)
T = there(X)


@pytest.fixture(scope="module")
def model():
    return lw.LMNN().fit(X, y)


def test_transform_and_pair_distance_return_tensors(model):
    mapped, distances = model.transform(T), model.pair_distance(T[:50], T[50:100])
    for found, expected in (
        (mapped, model.transform(X)),
        (distances, model.pair_distance(X[:50], X[50:100])),
    ):
        assert isinstance(found, torch.Tensor)
        assert found.dtype == torch.float64
        np.testing.assert_allclose(host(found), expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (torch.float32, torch.float32),
        (torch.float64, torch.float64),
        (torch.float16, torch.float32),
        (torch.bfloat16, torch.float32),
        (torch.int64, torch.float64),
        (torch.uint8, torch.float64),
    ],
)
def test_types_of_tensors(model, given, kept):
    rows = (T * 10).abs().to(given)
    assert model.transform(rows).dtype == kept
    np.testing.assert_allclose(
        host(model.transform(rows)),
        model.transform(host(rows.to(kept))),
        rtol=1e-5,
        atol=1e-5,
    )


def test_gradients_are_not_followed_and_that_is_said(model):
    rows = T.clone().requires_grad_()
    with pytest.warns(UserWarning, match="X requires a gradient, which is not followed"):
        assert not model.transform(rows).requires_grad
    with pytest.warns(UserWarning, match="B requires a gradient"):
        assert not model.pair_distance(T, rows).requires_grad
    with pytest.warns(UserWarning, match="X requires a gradient, which is not followed"):
        fitted = lw.LMNN().fit(rows, y)
    assert fitted.components_.tobytes() == lw.LMNN().fit(T, y).components_.tobytes()


def test_rows_that_are_not_contiguous(model):
    np.testing.assert_allclose(
        host(model.transform(T.T.contiguous().T)), model.transform(X), rtol=1e-12, atol=1e-13
    )


@pytest.mark.parametrize("metric", [None, "lmnn", lw.FDA(), PCA(3), lw.LMNN(kernel="rbf")], ids=str)
def test_neighbours_are_those_of_arrays(metric):
    ours = lw.MetricKNN(metric=metric).fit(X, y)
    theirs = lw.MetricKNN(metric=metric).fit(T, there(y))
    assert type(theirs._rows) is np.ndarray
    expected, found = ours.kneighbors(X[::3]), theirs.kneighbors(T[::3])
    assert all(isinstance(part, torch.Tensor) for part in found)
    np.testing.assert_allclose(host(found[0]), expected[0], rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(host(found[1]), expected[1])
    np.testing.assert_array_equal(theirs.predict(T), ours.predict(X))
    np.testing.assert_allclose(theirs.predict_proba(T), ours.predict_proba(X))


@pytest.mark.parametrize(
    ("learner", "method", "n_arguments"),
    [
        (lw.EmbeddingAdapter(normalize=True), "transform", 1),
        (lw.EmbeddingAdapter(normalize=True), "pair_distance", 2),
        (lw.PairClassifier(), "pair_distance", 2),
        (lw.PAMetric(random_state=0), "predict_pairs", 2),
        (lw.MultiMetricLMNN(max_iter=5), "kneighbors", 1),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_results_of_all_models_are_tensors(learner, method, n_arguments):
    fitted = learner.fit(X, y)
    expected = getattr(fitted, method)(*[X, X[::-1].copy()][:n_arguments])
    found = getattr(fitted, method)(*[T, T.flip(0)][:n_arguments])
    both = zip(found, expected, strict=True) if method == "kneighbors" else [(found, expected)]
    for tensor, array in both:
        assert isinstance(tensor, torch.Tensor)
        np.testing.assert_allclose(host(tensor), array, rtol=1e-10, atol=1e-7)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_votes_for_tensors_are_arrays_of_labels():
    fitted = lw.MultiMetricLMNN(max_iter=5).fit(X, y)
    np.testing.assert_array_equal(fitted.predict(T), fitted.predict(X))


@pytest.mark.parametrize("learner", [lw.MetricKNN(), lw.MultiMetricLMNN(max_iter=5)], ids=str)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scores_are_those_of_arrays(monkeypatch, learner):
    def on_a_gpu(self, *args, **kwargs):
        raise TypeError("can't convert cuda:0 device type tensor to numpy")

    fitted, weights = learner.fit(X, y), 1 + y
    expected = fitted.score(X, y), fitted.score(X, y, weights)
    monkeypatch.setattr(torch.Tensor, "__array__", on_a_gpu)
    labels = there(y)
    assert (fitted.score(T, labels), fitted.score(T, labels, there(weights))) == expected


def test_queries_of_single_precision_do_not_round_the_rows():
    random = np.random.default_rng(0)
    rows = 100 + 1e-3 * random.normal(size=(500, 3))
    knn = lw.MetricKNN().fit(rows, random.integers(0, 3, size=500))
    queries = rows[::5].astype(np.float32)
    expected, found = knn.kneighbors(queries), knn.kneighbors(there(queries))
    np.testing.assert_array_equal(host(found[1]), expected[1])
    np.testing.assert_allclose(host(found[0]), expected[0], rtol=1e-4)


def test_euclidean_is_a_copy():
    metric = lw.Euclidean().fit(T)
    mapped = metric.transform(T)
    assert torch.equal(mapped, T)
    assert mapped.data_ptr() != T.data_ptr()


def test_a_kernel_model_gets_arrays_and_returns_tensors():
    kernel = lw.LMNN(kernel="rbf", max_iter=20).fit(X, y)
    by_tensor = lw.LMNN(kernel="rbf", max_iter=20).fit(T, y)
    assert by_tensor.components_.tobytes() == kernel.components_.tobytes()
    mapped = by_tensor.transform(T)
    assert isinstance(mapped, torch.Tensor)
    np.testing.assert_array_equal(host(mapped), kernel.transform(X))


@pytest.mark.parametrize(
    "learner",
    [lw.ITML(random_state=0), lw.MMC(random_state=0), lw.POLA(random_state=0), lw.PCML()],
    ids=str,
)
def test_other_learners_get_arrays(learner):
    expected = learner.fit(X[:60:2], y[:60:2] % 2 + (np.arange(30) % 2)).components_.copy()
    rows, labels = T[:60:2], there(y[:60:2] % 2 + (np.arange(30) % 2))
    np.testing.assert_array_equal(learner.fit(rows, labels).components_, expected)


def test_device_cpu_uses_the_loops_for_tensors():
    with lw.config_context(device="cpu"):
        model = lw.LMNN().fit(T, y)
        assert isinstance(model.transform(T), torch.Tensor)
    assert model.components_.tobytes() == lw.LMNN().fit(X, y).components_.tobytes()


@pytest.mark.usefixtures("device_is_set")
def test_arrays_go_to_the_device_that_is_set_and_come_back(monkeypatch):
    seen = []
    monkeypatch.setattr(
        "likewise.batch.lmnn.torch_data.TensorData.from_rows",
        classmethod(lambda cls, rows: seen.append(rows) or 1 / 0),
    )
    with pytest.raises(ZeroDivisionError):
        lw.LMNN().fit(X, y)
    assert isinstance(seen[0], torch.Tensor)
    knn = lw.MetricKNN().fit(X, y)
    assert type(knn.kneighbors(X)[0]) is np.ndarray
    metric = lw.Whitening().fit(X)
    assert type(metric.transform(X)) is np.ndarray
    assert type(metric.pair_distance(X, X)) is np.ndarray


@pytest.mark.usefixtures("device_is_set")
def test_feature_names_of_a_frame_are_kept():
    pandas = pytest.importorskip("pandas")
    names = [f"f{k}" for k in range(X.shape[1])]
    model = lw.LMNN().fit(pandas.DataFrame(X, columns=names), y)
    assert list(model.feature_names_in_) == names


def test_a_device_without_cuda_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    model = lw.LMNN()
    with (
        lw.config_context(device="cuda"),
        pytest.raises(RuntimeError, match="device='cuda' is set, but PyTorch finds no CUDA device"),
    ):
        model.fit(X, y)
    assert not hasattr(model, "components_")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with (
        lw.config_context(device="cuda:2"),
        pytest.raises(RuntimeError, match="device='cuda:2' is set, but PyTorch finds 2 CUDA dev"),
    ):
        model.fit(X, y)


@pytest.mark.parametrize(
    "learner", [lw.ITML(), lw.EmbeddingAdapter(), lw.MultiMetricLMNN(), lw.Whitening(), lw.PA()]
)
def test_every_fit_checks_the_device(monkeypatch, learner):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with (
        lw.config_context(device="cuda"),
        pytest.raises(RuntimeError, match="device='cuda' is set, but PyTorch finds no CUDA device"),
    ):
        learner.fit(X, y)


def test_a_device_without_torch_is_refused(monkeypatch):
    real = builtins.__import__

    def without_torch(name, *args, **kwargs):
        if name == "torch":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_torch)
    monkeypatch.delitem(sys.modules, "torch")
    with (
        lw.config_context(device="cuda"),
        pytest.raises(
            ImportError, match=r"PyTorch is not installed: pip install 'likewise\[gpu\]'"
        ),
    ):
        lw.LMNN().fit(X, y)
    assert not tensors.is_tensor(X)


def test_memory_that_does_not_suffice_leaves_the_model_as_it_was(monkeypatch):
    model = lw.LMNN().fit(T, y)
    before = model.components_.copy()

    def no_memory(*args, **kwargs):
        raise torch.OutOfMemoryError(
            "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 8 GiB."
        )

    monkeypatch.setattr("likewise.objectives.torch_large_margin.tensor_pair_sqdist", no_memory)
    with pytest.raises(MemoryError) as caught:
        model.fit(T * 2, y)
    assert str(caught.value) == (
        "LMNN ran out of the memory of the GPU (tried to allocate 2.00 GiB); take fewer rows or "
        "float32, set a lower max_memory for smaller tiles, or use device='cpu'."
    )
    np.testing.assert_array_equal(model.components_, before)


@pytest.mark.parametrize(
    "said",
    [
        "CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported.",
        "Triton Error [CUDA]: out of memory",
        "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        "cusolver error: CUSOLVER_STATUS_ALLOC_FAILED, when calling `cusolverDnCreate(handle)`",
    ],
)
def test_the_driver_and_libraries_run_out_of_memory_too(said):
    with (
        pytest.raises(MemoryError, match="LMNN ran out of the memory of the GPU; take fewer rows"),
        tensors.device_memory_errors("LMNN"),
    ):
        raise RuntimeError(said)


@pytest.mark.parametrize(
    "error", [RuntimeError("CUDA error: an illegal memory access"), ValueError("out of memory")]
)
def test_other_errors_stay_what_they_are(error):
    with pytest.raises(type(error)) as caught, tensors.device_memory_errors("LMNN"):
        raise error
    assert caught.value is error


def test_the_memory_of_the_gpu_is_checked_first(monkeypatch):
    class Gpu:
        type = "cuda"

        def __str__(self):
            return "cuda:0"

    monkeypatch.setattr(tensors, "free_device_memory", lambda device: 2**30)
    tensors.require_memory_on(Gpu(), 2**29, "LMNN", "take less")
    with pytest.raises(
        MemoryError, match=r"LMNN needs about 2.0 GiB, but 1.0 GiB are free on cuda:0; take less\."
    ):
        tensors.require_memory_on(Gpu(), 2**31, "LMNN", "take less")
    with (
        lw.config_context(max_memory="500MiB"),
        pytest.raises(MemoryError, match=r"but 0.5 GiB are allowed by max_memory; take less"),
    ):
        tensors.require_memory_on(Gpu(), 2**29 + 2**26, "LMNN", "take less")


def test_a_fit_that_needs_too_much_says_so_before_it_begins():
    many = torch.zeros(1, device=DEVICE).expand(50_000, 200)
    with (
        lw.config_context(max_memory="16MiB"),
        pytest.raises(MemoryError, match="LMNN of 50000 rows of 200 features needs about"),
    ):
        lw.LMNN().fit(many, np.arange(50_000) % 2)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (T[:, :5], "X has 5 features, but LMNN is expecting 13 features"),
        (torch.full((2, 13), torch.nan, device=DEVICE), "Input X contains NaN in 2 rows"),
        (T[:0], "Found array with 0 sample"),
        (T[0], "X has 1 dimension, but a table of rows is needed"),
        (T.to(torch.complex64), "X holds complex numbers, but only real ones"),
        (T.to_sparse(), "X is a tensor of layout torch.sparse_coo, but only dense tensors"),
    ],
)
def test_tensors_that_are_refused(model, rows, message):
    with pytest.raises(ValueError, match=message):
        model.transform(rows)


@pytest.mark.parametrize(
    ("rows", "labels", "message"),
    [
        (T[:10], y[:9], "X has 10 rows but y has 9 labels"),
        (T[:10], np.zeros(10), "y has one class"),
        (T[:10], torch.full((10,), torch.nan, device=DEVICE), "contains NaN"),
        (T * 1e160, y, "only values within ±1e"),
        (torch.where(T > 2, torch.inf, T), y, "Input X contains infinity"),
    ],
)
def test_training_data_that_are_refused(rows, labels, message):
    with pytest.raises(ValueError, match=message):
        lw.LMNN().fit(rows, labels)


def test_pairs_on_two_devices_are_refused(model):
    elsewhere = torch.empty_like(T, device="meta")
    with pytest.raises(
        ValueError,
        match=f"A is a tensor on {DEVICE} and B is a tensor on meta, but both must be arrays",
    ):
        model.pair_distance(T, elsewhere)
    with pytest.raises(ValueError, match=f"A is no tensor and B is a tensor on {DEVICE}, but both"):
        model.pair_distance(X, T)
