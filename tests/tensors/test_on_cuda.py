"""What only a GPU can show: its memory runs out, arrays travel, kernels are compiled."""

import warnings

import numpy as np
import pytest

import likewise as lw
from likewise._runtime.kernel_check import has_kernels

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

if not torch.cuda.is_available():
    pytest.skip("PyTorch finds no CUDA device", allow_module_level=True)

GIB = 2**30


def clusters(n=3000, d=20, seed=0):
    random = np.random.default_rng(seed)
    y = random.integers(0, 5, size=n)
    X = random.normal(size=(5, d))[y] + 1.5 * random.normal(size=(n, d))
    return X.astype(np.float32), y


@pytest.fixture
def little_memory():
    """Leave half a GiB of the GPU free."""
    torch.cuda.empty_cache()
    free, _ = torch.cuda.mem_get_info()
    taken = torch.empty(free - GIB // 2, dtype=torch.uint8, device="cuda")
    yield
    del taken
    torch.cuda.empty_cache()


@pytest.mark.parametrize("learner", [lw.LMNN(), lw.NCA(), lw.MultiMetricLMNN()], ids=str)
def test_kernels_are_compiled_and_agree_with_plain_torch(learner):
    X, y = clusters()
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)  # raised where a kernel is not used
        rows = torch.as_tensor(X, device="cuda")
        learner.fit(rows, y)
    assert has_kernels(rows.device)
    assert np.isfinite(learner.components_).all()


@pytest.mark.parametrize("learner", [lw.LMNN(), lw.NCA(), lw.RCA(), lw.EmbeddingAdapter()], ids=str)
def test_arrays_travel_and_come_back(learner):
    X, y = clusters()
    tensor = torch.as_tensor(X, device="cuda")
    expected = learner.fit(tensor, y)
    components, mapped = expected.components_.copy(), expected.transform(tensor[:50])
    assert mapped.is_cuda
    with lw.config_context(device="cuda"):
        found = learner.fit(X, y)
        rows = found.transform(X[:50])
    assert found.components_.tobytes() == components.tobytes()
    assert type(rows) is np.ndarray
    np.testing.assert_array_equal(rows, mapped.cpu().numpy())


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("learner", [lw.LMNN(), lw.NCA(), lw.MultiMetricLMNN()], ids=str)
def test_too_little_memory_is_said_and_the_model_is_as_it_was(learner):
    X, y = clusters()
    learner.fit(X, y)
    before = dict(vars(learner))
    many = torch.zeros(2, 20, device="cuda").repeat(2_000_000, 1)
    many[1::2] = 1
    with pytest.raises(MemoryError, match=f"{type(learner).__name__}|Comparing 4000000 samples"):
        learner.fit(many, np.arange(4_000_000) % 2)
    assert vars(learner) == before


def test_a_device_that_does_not_exist_is_refused():
    X, y = clusters(100)
    with (
        lw.config_context(device="cuda:7"),
        pytest.raises(RuntimeError, match="device='cuda:7' is set, but PyTorch finds"),
    ):
        lw.LMNN().fit(X, y)


def test_rows_on_the_host_and_on_the_gpu_are_not_mixed():
    X, y = clusters(300)
    model, there = lw.RCA().fit(X, y), torch.as_tensor(X, device="cuda")
    with pytest.raises(ValueError, match="A is a tensor on cpu and B is a tensor on cuda:0"):
        model.pair_distance(torch.as_tensor(X), there)
    with pytest.raises(ValueError, match="A is a tensor on cuda:0 and B is no tensor"):
        model.pair_distance(there, X)


def test_fits_in_threads_have_the_bits_of_one():
    from concurrent.futures import ThreadPoolExecutor

    X, y = clusters()
    rows = torch.as_tensor(X, device="cuda")
    expected = lw.LMNN().fit(rows, y).components_.tobytes()
    with lw.config_context(max_memory="1GiB"), ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda _: lw.LMNN().fit(rows, y).components_.tobytes(), range(3)))
    assert found == [expected] * 3
