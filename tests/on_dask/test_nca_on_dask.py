"""NCA of Dask collections: the objective of the gathered rows, and the same bits everywhere."""

import numpy as np
import pytest

import likewise as lw
from likewise.objectives.blocked import softmax_neighbours as blocked

pytest.importorskip("distributed", reason="needs likewise[dask]")

import dask.array as da


@pytest.fixture(scope="module")
def few(labelled):
    X, y = labelled
    return (X[:700] - 100) / [1, 2, 3, 1, 0.1, 5], y[:700]


def objective(L, X, y):
    """The paper's: the expected number of samples that choose one of their class."""
    Z = X @ L.T
    exponents = -np.square(Z[:, None] - Z).sum(axis=2)
    np.fill_diagonal(exponents, -np.inf)
    weights = np.exp(exponents - exponents.max(axis=1, keepdims=True))
    return float((weights * (y[:, None] == y)).sum(axis=1) @ (1 / weights.sum(axis=1)))


def parts_of(X, y):
    """The samples in blocks, as the estimator makes them."""
    from likewise._runtime.validation import check_labelled

    rows = check_labelled(lw.NCA(), da.from_array(X, chunks=300), y, blocked=True)[0]
    return blocked.BlockedSoftmaxNeighbours.of(rows)


@pytest.mark.parametrize("size", [1, 2, 6, 40.0])
@pytest.mark.usefixtures("no_client")
def test_value_and_gradient_are_the_papers(few, size, monkeypatch):
    monkeypatch.setattr(blocked, "_TILE", 10_000)
    X, y = few
    neighbours = parts_of(X, y)
    assert len(neighbours.X.blocks) == 3
    # Far apart, most probabilities vanish within a block.
    L = size * np.random.default_rng(0).normal(size=(2, 6)) / 6
    probability, gradient = neighbours.same_class_probability(L)
    assert probability.sum() == pytest.approx(objective(L, X, y), rel=1e-9)
    direction = np.random.default_rng(1).normal(size=L.shape)
    step = 1e-5 * direction
    slope = (objective(L - step, X, y) - objective(L + step, X, y)) / 2e-5
    assert np.vdot(gradient, direction) == pytest.approx(slope, rel=1e-4, abs=1e-6)
    np.testing.assert_allclose(
        neighbours.scatter(), (X - X.mean(axis=0)).T @ (X - X.mean(axis=0)), rtol=1e-10, atol=1e-9
    )


@pytest.mark.usefixtures("no_client")
def test_some_anchors(few):
    X, y = few
    neighbours = parts_of(X, y)
    L = np.eye(6)
    anchors = np.array([699, 3, 256, 255, 17])
    some, gradient = neighbours.same_class_probability(L, anchors)
    everyone = neighbours.same_class_probability(L)
    np.testing.assert_allclose(some, everyone[0][np.sort(anchors)], rtol=1e-12)
    one_by_one = sum(neighbours.same_class_probability(L, anchors[[k]])[1] for k in range(5))
    np.testing.assert_allclose(gradient, one_by_one, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "options", [{}, {"n_components": 2, "regularization": 1e-3}, {"init": "fda"}], ids=str
)
@pytest.mark.usefixtures("no_client")
def test_the_maximum_of_the_gathered_rows(few, options):
    X, y = few
    learner = lw.NCA(tol=1e-5, **options)
    gathered = learner.fit(X, y).objective_
    found = learner.fit(da.from_array(X, chunks=(200, 4)), da.from_array(y, chunks=300))
    assert found.objective_ == pytest.approx(gathered, rel=1e-3)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("solver", ["lbfgs", "adam"])
def test_same_bits_on_a_cluster_and_in_this_process(client, few, solver, request):
    X, y = few
    learner = lw.NCA(solver=solver, max_iter=2, batch_size=300, random_state=0)
    on_cluster = learner.fit(da.from_array(X, chunks=200), y).components_
    request.getfixturevalue("no_client")
    here = learner.fit(da.from_array(X, chunks=500), y).components_
    np.testing.assert_array_equal(on_cluster, here)


def test_euclidean_computes_no_row():
    nothing = da.map_blocks(lambda: 1 / 0, chunks=((5, 5), (3,)), dtype=np.float32)
    metric = lw.Euclidean().fit(nothing)
    np.testing.assert_array_equal(metric.components_, np.eye(3))
    assert metric.components_.dtype == np.float32
    assert metric.n_features_in_ == 3


def test_no_rows_are_gathered(client, labelled, gathered_sizes):
    X, y = labelled
    X = np.tile(X, (1, 10))
    lw.NCA(max_iter=2, n_components=3).fit(da.from_array(X, chunks=300), y)
    assert len(gathered_sizes) > 10
    assert max(gathered_sizes) <= 128 * 60  # the rows of the centre; X has 126 000 values
