"""NCA on tensors: probabilities and gradients against arrays, and whole fits."""

import numpy as np
import pytest
from sklearn.datasets import load_wine

import likewise as lw
from likewise.objectives import NCAObjective, SoftmaxNeighbours

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from on_device import DEVICE, there  # noqa: E402

from likewise.objectives.torch_softmax_neighbours import TorchSoftmaxNeighbours  # noqa: E402

X, y = load_wine(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)


@pytest.fixture(params=["one tile", "small tiles"])
def tiles(request, monkeypatch):
    if request.param == "small tiles":
        monkeypatch.setattr(
            "likewise.objectives.torch_softmax_neighbours.tile_elements", lambda device: 4 * 178 * 7
        )


@pytest.mark.parametrize("n_components", [2, 13])
@pytest.mark.parametrize("batch", [None, np.array([3, 170, 44, 5])], ids=["all", "batch"])
@pytest.mark.parametrize("length", [0.1, 1.0, 30.0])
@pytest.mark.usefixtures("tiles")
def test_value_and_gradient_are_those_of_arrays(n_components, batch, length):
    L = np.random.default_rng(0).normal(size=(n_components, 13)) * length
    ours = NCAObjective(SoftmaxNeighbours.of(X, y, 1, scale=2.0), 0.01)
    theirs = NCAObjective(TorchSoftmaxNeighbours.of(there(X), y, scale=2.0), 0.01)
    assert theirs.n_samples == 178
    value, gradient = ours.batch_value_and_gradient(L, batch)
    found, found_gradient = theirs.batch_value_and_gradient(L, batch)
    assert found == pytest.approx(value, rel=1e-10)
    size = np.abs(gradient).max()
    np.testing.assert_allclose(found_gradient, gradient, rtol=1e-8, atol=1e-8 * size)


def test_probabilities_equal_the_double_loop():
    rows, labels = X[:20], y[::9][:20]
    L = np.random.default_rng(1).normal(size=(3, 13)) / 4
    neighbours = TorchSoftmaxNeighbours.of(there(rows), labels)
    probability, _ = neighbours.same_class_probability(L)
    expected = []
    for i in np.argsort(labels, kind="stable"):
        terms = [np.exp(-(((rows[i] - rows[j]) @ L.T) ** 2).sum()) * (i != j) for j in range(20)]
        expected.append(np.sum(terms, where=labels == labels[i]) / np.sum(terms))
    np.testing.assert_allclose(probability, expected, rtol=1e-10)


@pytest.mark.parametrize(
    ("learner", "rows"),
    [
        (lw.NCA(), X),
        (lw.NCA(2, regularization=1e-3), X.astype(np.float32)),
        (lw.NCA(2, init="fda"), X + 1e4),
        (lw.NCA(init="pca", n_components=3, max_iter=200), X),
        (lw.NCA(solver="adam", batch_size=30, max_iter=3, random_state=0), X),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore")
def test_a_fit_is_that_of_arrays(learner, rows):
    expected = learner.fit(rows, y).objective_
    found = learner.fit(there(rows), there(y))
    assert found.objective_ == pytest.approx(expected, rel=1e-4)
    assert type(found.components_) is np.ndarray
    assert found.components_.dtype == rows.dtype


def test_the_same_tensor_gives_the_same_bits():
    first, second = (lw.NCA(2).fit(there(X), y).components_ for _ in range(2))
    assert first.tobytes() == second.tobytes()


def test_memory_is_checked_first():
    many = torch.zeros(1, device=DEVICE).expand(100_000, 50)
    with (
        lw.config_context(max_memory="16MiB"),
        pytest.raises(MemoryError, match="Comparing 100000 samples of 50 features with each other"),
    ):
        lw.NCA(init="identity").fit(many, np.arange(100_000) % 2)
