"""Multi-metric LMNN on tensors: the joint objective against that of arrays, and whole fits."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine

import likewise as lw
from likewise._runtime import tensors
from likewise.batch.lmnn.multi_metric_problem import objective_and_search
from likewise.batch.lmnn.targets import LabelSupervision
from likewise.neighbors import TooManyPairs

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from on_device import DEVICE, DEVICE_TO_SET, host, there  # noqa: E402

from likewise.batch.lmnn.torch_multi_metric import TorchMultiMetricLargeMargin  # noqa: E402

WINE, y_wine = load_wine(return_X_y=True)
WINE = (WINE - WINE.mean(axis=0)) / WINE.std(axis=0)


def labelled(n=150, d=5, n_classes=3, seed=0, dtype=np.float64):
    random = np.random.default_rng(seed)
    y = random.integers(0, n_classes, size=n)
    return (random.normal(size=(n, d)) + y[:, None]).astype(dtype), y


def joint(X, y, clusters, *, smoothing=0.0, weights=None, L=None):
    """Return the objective with all impostors at L, the transformed rows, and the search."""
    weights = np.ones(len(X)) if weights is None else weights
    supervision = LabelSupervision(y, weights, None, 3, 1.0, 1)
    selection = supervision.select_targets(X)
    objective, search = objective_and_search(X, supervision, selection, clusters, 5, 0.4)
    Z = objective.transform(L)
    pairs, sqdist = search(Z, objective.sqdist(Z, objective.targets), 0.1)
    return replace(objective, impostors=pairs, smoothing=smoothing), Z, sqdist, search


def clusters_of(name, y):
    """Return the class, or clusters of which one has no row."""
    return y if name == "class" else np.random.default_rng(5).integers(0, 4, size=len(y))


@pytest.mark.parametrize("name", ["class", "clusters"])
@pytest.mark.parametrize("smoothing", [0.0, 0.3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_objective_and_its_parts_are_those_of_arrays(name, smoothing, dtype):
    X, y = labelled(dtype=dtype)
    if dtype == np.float64:  # whether so little a pull has rank 1 depends on the rounding
        y[:2] = 3  # a class of two rows
    clusters = clusters_of(name, y)
    random = np.random.default_rng(2)
    weights, L = random.choice([0.0, 0.5, 2.0], size=len(X)), random.normal(size=(5, 4, 5)) / 3
    options = {"smoothing": smoothing, "weights": weights, "L": L}
    ours, Z, sqdist, _ = joint(X, y, clusters, **options)
    theirs, there_Z, there_sqdist, _ = joint(there(X), y, clusters, **options)
    assert isinstance(theirs, TorchMultiMetricLargeMargin)
    assert len(ours.impostors) > 1000
    for part in ("rows", "cols", "indptr", "groups"):
        expected = getattr(ours.impostors, part)
        np.testing.assert_array_equal(host(getattr(theirs.impostors, part)), expected)
    rtol = 1e-10 if dtype == np.float64 else 1e-4
    np.testing.assert_allclose(host(there_sqdist), sqdist, rtol=rtol)
    np.testing.assert_allclose(
        host(theirs.sqdist(there_Z, theirs.impostors)), host(there_sqdist), rtol=rtol
    )
    value, gradient = ours.value_and_gradient(L)
    there_value, there_gradient = theirs.value_and_gradient(L)
    assert there_value == pytest.approx(value, rel=rtol)
    size = np.abs(gradient).max()
    np.testing.assert_allclose(there_gradient, gradient, rtol=rtol, atol=rtol * size)
    assert not there_gradient[np.setdiff1d(np.arange(5), clusters)].any()
    np.testing.assert_allclose(
        theirs.pull_gradients(), ours.pull_gradients(), rtol=rtol, atol=rtol * size
    )
    targets = ours.sqdist(Z, ours.targets), theirs.sqdist(there_Z, theirs.targets)
    bound, there_bound = ours.lower_bound(), theirs.lower_bound()
    assert there_bound(theirs, targets[1], there_sqdist) == pytest.approx(
        bound(ours, targets[0], sqdist), rel=max(1e-8, rtol)
    )
    rows, pull = bound.descent_rows(ours, targets[0], sqdist, L)
    there_rows, there_pull = there_bound.descent_rows(theirs, targets[1], there_sqdist, L)
    assert there_pull == pytest.approx(pull, rel=max(1e-6, 10 * rtol))
    for R, there_R in zip(rows, there_rows, strict=True):
        np.testing.assert_allclose(there_R.T @ there_R, R.T @ R, rtol=1e-3, atol=1e-3)


def test_gradient_matches_finite_differences():
    X, y = labelled(n=40, d=3)
    clusters = clusters_of("clusters", y)
    L = np.random.default_rng(3).normal(size=(5, 2, 3)) / 2
    objective, *_ = joint(there(X), y, clusters, smoothing=0.2, L=L)
    _, gradient = objective.value_and_gradient(L)
    for place in np.ndindex(L.shape):
        step = np.zeros_like(L)
        step[place] = 1e-6
        values = [objective.value_and_gradient(L + sign * step)[0] for sign in (1, -1)]
        assert (values[0] - values[1]) / 2e-6 == pytest.approx(gradient[place], rel=1e-5, abs=1e-5)


def test_the_bound_leaves_out_impostors_where_there_is_no_pull():
    X, y = labelled()
    X[:, 0] = y  # targets do not differ in it
    clusters = clusters_of("clusters", y)
    L = np.random.default_rng(4).normal(size=(5, 5, 5)) / 3
    found = []
    for rows in (X, there(X)):
        objective, Z, sqdist, _ = joint(rows, y, clusters, smoothing=0.3, L=L)
        bound = objective.lower_bound()
        assert all(one.has_null_space for one in bound._bounds)
        found.append(bound(objective, objective.sqdist(Z, objective.targets), sqdist))
    assert found[1] == pytest.approx(found[0], rel=1e-8)


def test_rows_are_numbered_once_for_the_same_pairs():
    X, y = labelled()
    objective, *_ = joint(there(X), y, y, L=np.stack([np.eye(5)] * 5))
    measured = replace(objective, smoothing=0.5, X=2 * objective.X)._measured
    assert measured is objective._measured
    assert sum(measured.sizes) == len(measured.rows) < 5 * len(X)
    fewer = replace(objective, impostors=objective.impostors.without_pairs())
    assert fewer._measured is not measured
    assert len(fewer._measured.rows) < len(measured.rows)


def test_too_many_impostors_raise():
    X, y = labelled()
    L = np.stack([np.eye(5)] * 5)
    objective, Z, sqdist, search = joint(there(X), y, y, L=L)
    targets = objective.sqdist(Z, objective.targets)
    search.max_pairs = len(sqdist)
    assert len(search(Z, targets, 0.1)[1]) == len(sqdist)
    search.max_pairs = len(sqdist) - 1
    with pytest.raises(TooManyPairs):
        search(Z, targets, 0.1)


def fits():
    wine, narrow = (WINE, y_wine), (WINE.astype(np.float32), y_wine)
    digits, y_digits = load_digits(return_X_y=True)
    # Distances of integers are often equal, and which is the least depends on the rounding.
    noise = np.random.default_rng(8).normal(size=(300, 64))
    many = digits[:300] + noise + 1e4, y_digits[:300]
    yield "class", wine, {"tol": 1e-4, "max_iter": 4000}
    yield "clusters", wine, {"clusters": 4, "random_state": 0, "tol": 1e-4, "max_iter": 4000}
    yield "penalty", wine, {"regularization": 0.1, "tol": 1e-4}
    yield "penalty, float32", narrow, {"regularization": 0.1, "tol": 1e-4}
    yield "early stopping", wine, {"validation_fraction": 0.3, "random_state": 0}
    yield "early stopping, far from zero", many, {"validation_fraction": 0.3, "random_state": 0}


@pytest.mark.parametrize(
    ("data", "parameters"),
    [pytest.param(data, parameters, id=name) for name, data, parameters in fits()],
)
def test_a_fit_is_that_of_arrays(data, parameters):
    X, y = data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = lw.MultiMetricLMNN(n_jobs=1, **parameters).fit(X, y)
        theirs = lw.MultiMetricLMNN(**parameters).fit(there(X), there(y))
    assert theirs.objective_ == pytest.approx(ours.objective_, rel=1e-4)
    assert theirs.converged_ == ours.converged_
    for name in ("components_", "clusters_", "classes_", "_rows", "_codes"):
        assert type(getattr(theirs, name)) is np.ndarray
        assert getattr(theirs, name).dtype == getattr(ours, name).dtype
    np.testing.assert_array_equal(theirs.clusters_, ours.clusters_)
    assert np.mean(theirs.predict(there(X)) != ours.predict(X)) <= 0.01
    copy = pickle.loads(pickle.dumps(theirs))
    assert copy.components_.tobytes() == theirs.components_.tobytes()


def test_weights_and_clusters_may_be_tensors():
    weights = np.random.default_rng(6).choice([0.0, 1.0, 2.0], size=len(y_wine))
    groups = np.arange(len(y_wine)) % 2
    # A strong penalty: the single metric that it is towards is only known to `tol`, too.
    options = {"regularization": 10.0, "tol": 1e-4}
    ours = lw.MultiMetricLMNN(clusters=groups, **options)
    ours.fit(WINE, y_wine, anchor_weight=weights)
    theirs = lw.MultiMetricLMNN(clusters=there(groups), **options)
    theirs.fit(there(WINE), y_wine, anchor_weight=there(weights))
    assert theirs.objective_ == pytest.approx(ours.objective_, rel=1e-4)
    unweighted = lw.MultiMetricLMNN(clusters=groups, **options).fit(WINE, y_wine)
    assert unweighted.objective_ != pytest.approx(ours.objective_, rel=1e-3)
    np.testing.assert_array_equal(theirs.clusters_, groups)


@pytest.fixture(scope="module")
def model():
    return lw.MultiMetricLMNN(clusters=4, regularization=0.1, random_state=0).fit(WINE, y_wine)


@pytest.mark.parametrize("k", [1, 5, 100])
def test_neighbours_are_those_of_arrays(model, k):
    queries = np.vstack([WINE[::3], WINE[1::3] + 1e3])
    expected = model.kneighbors(queries, k)
    found = model.kneighbors(there(queries), k)
    assert all(isinstance(part, torch.Tensor) for part in found)
    np.testing.assert_allclose(host(found[0]), expected[0], rtol=1e-7, atol=1e-12)
    np.testing.assert_array_equal(host(found[1]), expected[1])
    np.testing.assert_array_equal(model.predict(there(queries)), model.predict(queries))


def test_equal_distances_are_ordered_by_row():
    X = np.repeat(np.random.default_rng(7).normal(size=(20, 2)), 3, axis=0)
    y, groups = np.arange(60) // 3 % 2, np.arange(60) % 3
    model = lw.MultiMetricLMNN(2, clusters=groups, regularization=1.0, max_iter=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    model.components_[:] = np.eye(2)
    expected = model.kneighbors(X, 7)
    found = model.kneighbors(there(X), 7)
    np.testing.assert_array_equal(host(found[1]), expected[1])
    np.testing.assert_array_equal(host(found[0]), expected[0])


def test_queries_far_from_zero_keep_the_wider_precision(model):
    far = lw.MultiMetricLMNN(regularization=0.1).fit(WINE + 1e6, y_wine)
    queries = (WINE[:40] + 1e6).astype(np.float32)
    distances, index = far.kneighbors(there(queries))
    assert distances.dtype == torch.float32
    expected = far.kneighbors(queries)
    np.testing.assert_array_equal(host(index), expected[1])
    np.testing.assert_allclose(host(distances), expected[0], rtol=1e-5)


def test_the_same_tensor_gives_the_same_bits():
    rows = there(WINE)
    options = {"regularization": 0.01}
    first, second = (lw.MultiMetricLMNN(**options).fit(rows, y_wine) for _ in range(2))
    assert first.components_.tobytes() == second.components_.tobytes()
    assert first.objective_ == second.objective_


def test_rows_are_copied_to_the_host_once_for_the_model(monkeypatch):
    """Distances, gradients and sums stay where the tensors are."""
    copied, to_host = [], torch.Tensor.cpu

    def recorded(self):
        if self.is_floating_point() and self.ndim == 2 and len(self) > 200:
            copied.append(tuple(self.shape))
        return to_host(self)

    def refused(self, *args, **kwargs):
        raise TypeError("can't convert cuda:0 device type tensor to numpy")

    X, y = load_digits(return_X_y=True)
    rows = there(X)
    monkeypatch.setattr(torch.Tensor, "cpu", recorded)
    monkeypatch.setattr(torch.Tensor, "__array__", refused)
    model = lw.MultiMetricLMNN(max_iter=10, validation_fraction=0.2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(rows, y)
    assert model.n_iter_ > 1
    assert copied == [X.shape]
    distances, _ = model.kneighbors(rows)
    assert copied == [X.shape, (len(X), 3)]
    assert distances.shape == (len(X), 3)


def test_arrays_go_to_the_device_that_is_set_and_come_back(monkeypatch):
    """Without a GPU, a device that is set and is the CPU stands in for one."""
    monkeypatch.setattr(tensors, "configured_device", lambda: DEVICE_TO_SET)
    monkeypatch.setattr(tensors, "_require_cuda", lambda torch, device: None)
    model = lw.MultiMetricLMNN(regularization=0.1).fit(WINE, y_wine)
    found = model.kneighbors(WINE)
    monkeypatch.undo()
    expected = lw.MultiMetricLMNN(regularization=0.1).fit(there(WINE), y_wine)
    assert model.components_.tobytes() == expected.components_.tobytes()
    assert all(type(part) is np.ndarray for part in found)
    np.testing.assert_array_equal(found[1], host(expected.kneighbors(there(WINE))[1]))


def test_gradients_are_not_followed_and_that_is_said(model):
    rows = there(WINE).requires_grad_()
    with pytest.warns(UserWarning, match="X requires a gradient, which is not followed"):
        fitted = lw.MultiMetricLMNN(regularization=1.0).fit(rows, y_wine)
    assert type(fitted.components_) is np.ndarray
    with pytest.warns(UserWarning, match="X requires a gradient"):
        assert not model.kneighbors(rows)[0].requires_grad


@pytest.mark.parametrize("place", ["torch_clustered_search", "torch_multi_metric"])
def test_memory_that_does_not_suffice_leaves_the_model_as_it_was(monkeypatch, place):
    rows = there(WINE)
    model = lw.MultiMetricLMNN(regularization=0.1).fit(rows, y_wine)
    before = dict(vars(model))

    def no_memory(*args, **kwargs):
        raise torch.OutOfMemoryError(
            "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 8 GiB."
        )

    owner, method = {
        "torch_clustered_search": ("TensorClusteredImpostorSearch", "_search"),
        "torch_multi_metric": ("TorchMultiMetricLargeMargin", "value_and_gradient"),
    }[place]
    monkeypatch.setattr(f"likewise.batch.lmnn.{place}.{owner}.{method}", no_memory)
    with pytest.raises(MemoryError) as caught:
        model.fit(rows * 2, y_wine)
    assert str(caught.value) == (
        "MultiMetricLMNN ran out of the memory of the GPU (tried to allocate 2.00 GiB); take fewer "
        "rows or float32, set a lower max_memory for smaller tiles, or use device='cpu'."
    )
    after = vars(model)
    assert after.keys() == before.keys()
    assert all(after[name] is before[name] for name in before)


def test_neighbours_that_do_not_fit_say_so(model, monkeypatch):
    def no_memory(*args, **kwargs):
        raise torch.OutOfMemoryError("CUDA out of memory.")

    monkeypatch.setattr("likewise.batch.lmnn.torch_local_metrics.map_tensor", no_memory)
    with pytest.raises(MemoryError, match="MultiMetricLMNN ran out of the memory of the GPU"):
        model.kneighbors(there(WINE))


@pytest.mark.parametrize(
    ("rows", "labels", "message"),
    [
        (torch.zeros(10, 2, device=DEVICE), np.arange(9), "X has 10 rows but y has 9 labels"),
        (torch.zeros(10, 2, device=DEVICE), np.zeros(10), "y has one class"),
        (torch.full((4, 2), torch.nan, device=DEVICE), [0, 0, 1, 1], "Input X contains NaN"),
        (
            torch.zeros(4, 2, dtype=torch.complex64, device=DEVICE),
            [0, 0, 1, 1],
            "only real ones are allowed",
        ),
        (torch.zeros(4, device=DEVICE), [0, 0, 1, 1], "X has 1 dimension"),
    ],
)
def test_training_data_that_are_refused(rows, labels, message):
    with pytest.raises(ValueError, match=message):
        lw.MultiMetricLMNN(1).fit(rows, labels)


def test_a_fit_that_needs_too_much_says_so_before_it_begins():
    many = torch.zeros(1, device=DEVICE).expand(50_000, 200)
    with (
        lw.config_context(max_memory="16MiB"),
        pytest.raises(MemoryError, match="MultiMetricLMNN with 2 metrics of 50000 rows of 200"),
    ):
        lw.MultiMetricLMNN().fit(many, np.arange(50_000) % 2)
