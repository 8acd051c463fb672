"""Online learners: batches of pairs of a tensor take the steps of those of an array."""

from copy import deepcopy

import numpy as np
import pytest

import likewise as lw
from likewise import metric
from likewise._loops.pairs.types import VARIANTS, StepRule
from likewise.constraints import random_pairs
from likewise.online import _device_batches
from likewise.online._pair_checks import chunk_size, scaled_differences, squared_lengths
from likewise.online._pair_state import PairState, learn_differences

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from on_device import DEVICE, host, there  # noqa: E402

PSD = ["end", 40, "auto"]


@pytest.fixture
def any_width(monkeypatch):
    """Take batches of any number of features on the device."""
    monkeypatch.setattr(_device_batches, "MIN_DEVICE_FEATURES", 1)


@pytest.fixture
def on_device(monkeypatch):
    """Record the pairs of each call that were taken on the device."""
    from likewise.online import _torch_steps

    taken, steps = [], _torch_steps.tensor_block_steps

    def recorded(M, b, V, *args):
        taken.append(len(V))
        assert M.dtype == V.dtype == torch.float64
        return steps(M, b, V, *args)

    monkeypatch.setattr(_torch_steps, "tensor_block_steps", recorded)
    return taken


def data(d, n_pairs=1400, n=150, dtype=np.float64, seed=0):
    """Return rows of overlapping classes, their labels, and pairs.

    Three more rows without labels are equal, and some pairs are of them. No other pair is there
    twice: its loss would be 0 up to rounding, and rounding would decide whether it is an update.
    """
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, n)
    X = rng.normal(size=(4, d))[y] + rng.normal(size=(n, d))
    X = np.vstack([X, np.ones((3, d))]) / d**0.5
    pairs, same = random_pairs(y, n_pairs, distinct=True, random_state=seed)
    equal = [5, n_pairs // 2, n_pairs // 2 + 1]
    pairs[equal], same[equal] = [[n, n + 1], [n + 1, n + 2], [n, n + 2]], [False, False, True]
    return X.astype(dtype), y, pairs, same


def assert_same_model(found, expected, rtol=1e-10):
    assert type(found._state.matrix) is np.ndarray
    assert found._state.matrix.flags.c_contiguous
    M, wanted = found._state.matrix, expected._state.matrix
    np.testing.assert_array_equal(M, M.T)
    np.testing.assert_allclose(M, wanted, rtol=rtol, atol=rtol * np.abs(wanted).max())
    assert found.b_ == pytest.approx(expected.b_, rel=rtol)
    assert found.threshold_ == pytest.approx(expected.threshold_, rel=rtol)
    assert found.cumulative_loss_ == pytest.approx(expected.cumulative_loss_, rel=rtol)
    assert found.scale_ == expected.scale_
    for name in ("n_events_", "n_updates_", "mistakes_", "_dtype"):
        assert getattr(found, name) == getattr(expected, name), name
    assert found._state.since_projection == expected._state.since_projection


def test_assert_same_model_can_fail():
    X, _, pairs, same = data(4)
    one, other = (lw.PAMetric().partial_fit_pairs(X, pairs, same) for _ in range(2))
    assert_same_model(one, other)
    other._state.matrix[1, 0] *= 1 + 1e-6
    other._state.matrix[0, 1] *= 1 + 1e-6
    with pytest.raises(AssertionError):
        assert_same_model(one, other)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("psd", PSD)
@pytest.mark.usefixtures("any_width")
def test_a_batch_takes_the_steps_of_an_array(variant, psd, on_device):
    X, _, pairs, same = data(30)
    learner = lw.PAMetric(variant=variant, C=0.3, psd=psd)
    expected = deepcopy(learner).partial_fit_pairs(X, pairs, same)
    found = learner.partial_fit_pairs(there(X), pairs, same)
    assert sum(on_device) >= len(pairs)
    assert expected.n_updates_ > 100
    assert_same_model(found, expected)
    np.testing.assert_allclose(found.components_, expected.components_, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("variant", VARIANTS)
def test_wide_rows_are_learned_on_the_device(variant, dtype, on_device):
    X, _, pairs, same = data(512, n_pairs=800, dtype=dtype)
    learner = lw.PAMetric(variant=variant, psd=100, scale=1.3)
    expected = deepcopy(learner).partial_fit_pairs(X, pairs, same)
    found = learner.partial_fit_pairs(there(X), pairs, same)
    assert on_device
    assert_same_model(found, expected)
    assert found.components_.dtype == dtype


def test_narrow_rows_are_learned_on_the_host(on_device):
    X, _, pairs, same = data(511, n_pairs=200)
    expected = lw.PAMetric(psd="end").partial_fit_pairs(X, pairs, same)
    found = lw.PAMetric(psd="end").partial_fit_pairs(there(X), pairs, same)
    assert not on_device
    assert found._state.matrix.tobytes() == expected._state.matrix.tobytes()


@pytest.mark.parametrize(
    "learner",
    [
        lw.PAMetric(psd="each", max_iter=1, random_state=0),
        lw.POLA(max_iter=2, random_state=0),
        lw.POLA(kernel="rbf", max_iter=2, random_state=0),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.usefixtures("any_width")
def test_projection_after_every_update_is_on_the_host(learner, on_device):
    X, _, pairs, same = data(20, n_pairs=60)
    expected = deepcopy(learner).fit_pairs(X, pairs, same)
    found = learner.fit_pairs(there(X), pairs, same)
    assert not on_device
    assert found._state.dense().tobytes() == expected._state.dense().tobytes()


@pytest.mark.usefixtures("any_width")
def test_a_change_of_psd_keeps_what_was_learned(on_device):
    """A metric in its eigenbasis stays on the host; one that is a matrix may change sides."""
    X, _, pairs, same = data(50, n_pairs=200)
    T = there(X)
    found, expected = lw.PAMetric(psd="each", scale=1.0), lw.PAMetric(psd="each", scale=1.0)
    found.partial_fit_pairs(T, pairs, same).set_params(psd="end").partial_fit_pairs(T, pairs, same)
    expected.partial_fit_pairs(X, pairs, same).set_params(psd="end")
    expected.partial_fit_pairs(X, pairs, same)
    assert not on_device
    np.testing.assert_allclose(found._state.dense(), expected._state.dense(), rtol=1e-10)
    found.set_params(random_state=0, max_iter=2).fit_pairs(T, pairs, same)
    assert_same_model(
        found, expected.set_params(random_state=0, max_iter=2).fit_pairs(X, pairs, same)
    )
    assert on_device


@pytest.mark.parametrize("psd", PSD)
@pytest.mark.usefixtures("any_width")
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_fits_and_labelled_batches(psd, on_device):
    X, y, pairs, same = data(20)
    T, labels = there(X), there(y)
    learner = lw.PAMetric(psd=psd, max_iter=2, random_state=0)
    expected = deepcopy(learner).fit_pairs(X, pairs, same)
    assert_same_model(deepcopy(learner).fit_pairs(T, there(pairs), same), expected)
    X, T = X[: len(y)], T[: len(y)]
    assert_same_model(deepcopy(learner).fit(T, labels), deepcopy(learner).fit(X, y))
    assert_same_model(
        deepcopy(learner).partial_fit(T[:90], labels[:90]).partial_fit(T[90:], labels[90:]),
        deepcopy(learner).partial_fit(X[:90], y[:90]).partial_fit(X[90:], y[90:]),
    )
    assert len(on_device) > 4


@pytest.mark.parametrize("psd", PSD)
@pytest.mark.usefixtures("any_width")
def test_resumed_batches(psd, tmp_path):
    """Arrays, tensors, single pairs and files may alternate in one stream."""
    X, _, pairs, same = data(20)
    T = there(X)
    expected = lw.PAMetric(psd=psd).partial_fit_pairs(X, pairs, same)
    found = lw.PAMetric(psd=psd).partial_fit_pairs(T, pairs[:40], same[:40])
    found.partial_fit_pairs(X, pairs[40:90], same[40:90])
    found.partial_fit_pairs(T, pairs[90:1000], same[90:1000])
    found.save(tmp_path / "model.safetensors")
    loaded = lw.load(tmp_path / "model.safetensors")
    for model in (found, loaded):
        (i, j), similar = pairs[1000], same[1000]
        model.learn_pair(X[i], X[j], bool(similar))
        model.partial_fit_pairs(T, pairs[1001:], same[1001:])
    assert_same_model(found, expected)
    assert found._state.matrix.tobytes() == loaded._state.matrix.tobytes()


@pytest.mark.usefixtures("any_width")
def test_losses_and_history():
    X, _, pairs, same = data(20)
    T = there(X)
    one, other = (lw.PAMetric(psd=50, record_every=130) for _ in range(2))
    one.partial_fit_pairs(X, pairs, same)
    other.partial_fit_pairs(T, pairs, same)
    for name, column in one.history_.items():
        np.testing.assert_allclose(other.history_[name], column, rtol=1e-12)
    V, sign = scaled_differences(X, pairs, 1.5), np.where(same, 1.0, -1.0)
    differences = scaled_differences(T, pairs, 1.5)
    assert host(differences).tobytes() == V.tobytes()
    assert squared_lengths(T, pairs).tobytes() == squared_lengths(X, pairs).tobytes()
    states = [PairState.start(np.eye(20), 1.0, "end") for _ in range(2)]
    expected = learn_differences(states[0], V, sign, StepRule("PA"), 60)
    states[1].matrix = there(states[1].matrix)
    found = learn_differences(states[1], differences, sign, StepRule("PA"), 60)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.usefixtures("any_width")
def test_pairs_of_equal_rows_marked_different_change_nothing():
    X = np.vstack([np.ones((3, 20)), np.zeros((1, 20))])
    pairs, different = np.array([[0, 1], [1, 2]] * 5), np.zeros(10, dtype=bool)
    model = lw.PAMetric("PA", scale=1.0, init="identity")
    model.partial_fit_pairs(there(X), pairs, different)
    assert model.n_updates_ == 0
    assert model.cumulative_loss_ == 20
    np.testing.assert_array_equal(model._state.matrix, np.eye(20))


@pytest.mark.usefixtures("any_width")
def test_more_pairs_than_a_chunk(monkeypatch, on_device):
    monkeypatch.setattr("likewise.online._pair_checks._DEVICE_CHUNK_VALUES", 300 * 20)
    X, _, pairs, same = data(20)
    T = there(X)
    assert chunk_size(T) == 300
    found = lw.PAMetric(psd="end", scale=1.0).partial_fit_pairs(T, pairs, same)
    assert on_device == [300, 300, 300, 300, 200]
    assert_same_model(found, lw.PAMetric(psd="end", scale=1.0).partial_fit_pairs(X, pairs, same))


@pytest.mark.usefixtures("any_width", "device_is_set")
def test_arrays_go_to_the_device_that_is_set(on_device):
    X, y, pairs, same = data(20)
    found = lw.PAMetric().partial_fit_pairs(X, pairs, same)
    assert on_device
    fitted = lw.PAMetric(max_iter=2, random_state=0).fit(X[: len(y)].astype(np.float32), y)
    assert type(found._state.matrix) is np.ndarray
    assert fitted.components_.dtype == np.float32


@pytest.mark.usefixtures("any_width")
def test_device_cpu_uses_the_loops_for_tensors(on_device):
    X, _, pairs, same = data(20)
    with lw.config_context(device="cpu"):
        found = lw.PAMetric().partial_fit_pairs(there(X), pairs, same)
    assert not on_device
    expected = lw.PAMetric().partial_fit_pairs(X, pairs, same)
    assert found._state.matrix.tobytes() == expected._state.matrix.tobytes()


@pytest.mark.usefixtures("any_width")
def test_half_precision_integers_and_gradients():
    X, _, pairs, same = data(20)
    T = there(X)
    for given, kept in ((T.half(), T.half().float()), ((9 * T).int(), (9 * T).int().double())):
        expected = lw.PAMetric().partial_fit_pairs(host(kept), pairs, same)
        assert_same_model(lw.PAMetric().partial_fit_pairs(given, pairs, same), expected)
    with pytest.warns(UserWarning, match="X requires a gradient, which is not followed"):
        found = lw.PAMetric().partial_fit_pairs(T.clone().requires_grad_(), pairs, same)
    assert_same_model(found, lw.PAMetric().partial_fit_pairs(X, pairs, same))
    np.testing.assert_array_equal(
        lw.PAMetric().partial_fit_pairs(T.T.contiguous().T, pairs, same)._state.matrix,
        found._state.matrix,
    )


@pytest.mark.usefixtures("any_width")
def test_samples_that_are_refused_leave_the_model_as_it_was():
    X, _, pairs, same = data(20)
    model = lw.PAMetric().partial_fit_pairs(there(X), pairs, same)
    before = model._state.matrix.copy()
    for value, message in ((np.nan, "Input X contains NaN in 1 row"), (1e80, "A pair differs by")):
        wrong = X.copy()
        wrong[pairs[300, 0], 1] = value
        for method in (model.partial_fit_pairs, deepcopy(model).partial_fit_pairs):
            with pytest.raises(ValueError, match=message):
                method(there(wrong), pairs, same)
    with pytest.raises(ValueError, match="X has 19 features, but PAMetric is expecting 20"):
        model.partial_fit_pairs(there(X[:, 1:].copy()), pairs, same)
    np.testing.assert_array_equal(model._state.matrix, before)


@pytest.mark.usefixtures("any_width")
def test_samples_in_no_pair_are_ignored():
    X, _, pairs, same = data(20)
    wrong = np.vstack([X, np.full((1, 20), np.nan)])
    found = lw.PAMetric().partial_fit_pairs(there(wrong), pairs, same)
    assert_same_model(found, lw.PAMetric().partial_fit_pairs(X, pairs, same))


@pytest.mark.usefixtures("any_width")
def test_memory_that_does_not_suffice_leaves_the_model_as_it_was(monkeypatch):
    X, _, pairs, same = data(20)
    model = lw.PAMetric().partial_fit_pairs(X, pairs, same)
    before = model._state.matrix.copy()

    def no_memory(*args):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")

    monkeypatch.setattr("likewise.online._torch_steps.tensor_differences", no_memory)
    with pytest.raises(MemoryError, match="PAMetric ran out of the memory of the GPU"):
        model.partial_fit_pairs(there(X), pairs, same)
    assert type(model._state.matrix) is np.ndarray
    np.testing.assert_array_equal(model._state.matrix, before)


@pytest.mark.parametrize("lowest", [-1.0, 0.0, 0.5])
def test_projection_and_components_of_tensors(lowest):
    rng = np.random.default_rng(0)
    rotation = np.linalg.qr(rng.normal(size=(30, 30)))[0]
    M = (rotation * np.linspace(lowest, 3, 30)) @ rotation.T
    M = (M + M.T) / 2
    found = metric.nearest_psd(there(M))
    assert isinstance(found, torch.Tensor)
    np.testing.assert_allclose(host(found), metric.nearest_psd(M), atol=1e-13)
    components = metric.canonical_components(there(M))
    assert type(components) is np.ndarray
    np.testing.assert_allclose(components.T @ components, metric.nearest_psd(M), atol=1e-13)
    assert not metric.nearest_psd(torch.zeros(3, 3, device=DEVICE)).any()


def test_flags_of_pairs_may_be_a_tensor_that_numpy_cannot_read():
    """As those on a GPU, which tests do without, are."""
    X, _, pairs, same = data(4)
    flags = torch.where(there(same), 1, -1).bfloat16()
    found = lw.PAMetric().partial_fit_pairs(X, there(pairs), flags)
    assert_same_model(found, lw.PAMetric().partial_fit_pairs(X, pairs, same))
