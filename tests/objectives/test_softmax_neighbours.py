"""NCA's objective against a double loop over the paper's formula, and against scikit-learn's."""

import tracemalloc

import numpy as np
import pytest
from sklearn.neighbors import NeighborhoodComponentsAnalysis

import likewise as lw
from likewise.objectives import NCAObjective, SoftmaxNeighbours, softmax_neighbours


def labelled(n_samples=41, n_features=5, seed=0):
    random = np.random.default_rng(seed)
    codes = np.concatenate([[0, 0, 1, 1, 2], random.integers(0, 3, n_samples - 5)])
    codes[-1] = 3  # a class of one sample
    return random.normal(size=(n_samples, n_features)) + codes[:, None] / 2, codes


def by_loops(X, codes, L):
    """The probabilities of the paper's eq. 1, one by one."""
    n = len(X)
    p = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            p[i, j] = 0 if i == j else np.exp(-np.sum((L @ (X[i] - X[j])) ** 2))
        p[i] /= p[i].sum()
    return p


def gradient_by_loops(X, codes, L, p):
    """The paper's eq. 5, with the sign of a minimisation."""
    same = codes[:, None] == codes
    middle = np.zeros((X.shape[1], X.shape[1]))
    for i in range(len(X)):
        own = p[i] @ same[i]
        for j in range(len(X)):
            v = X[i] - X[j]
            middle += p[i, j] * (same[i, j] - own) * np.outer(v, v)
    return 2 * L @ middle


@pytest.fixture(params=[1, 2, 3, 5], ids="{} components".format)
def components(request):
    return np.random.default_rng(1).normal(size=(request.param, 5)) / 2


@pytest.fixture(params=[0.0, 1.1], ids=["all compared", "screened"])
def screening(request, monkeypatch):
    """Both code paths, whichever is faster."""
    monkeypatch.setattr(softmax_neighbours, "_SCREENING_SHARE", request.param)


@pytest.mark.usefixtures("screening")
def test_value_and_gradient_are_the_papers(components):
    X, codes = labelled()
    p = by_loops(X, codes, components)
    value, gradient = NCAObjective(SoftmaxNeighbours.of(X, codes)).value_and_gradient(components)
    assert value == pytest.approx(-p[codes[:, None] == codes].sum(), rel=1e-12)
    np.testing.assert_allclose(
        gradient, gradient_by_loops(X, codes, components, p), rtol=1e-10, atol=1e-12
    )


def test_value_and_gradient_match_scikit_learn(components):
    X, codes = labelled()
    theirs = NeighborhoodComponentsAnalysis()
    theirs.n_iter_ = 1
    same = codes[:, None] == codes
    loss, gradient = theirs._loss_grad_lbfgs(components.ravel(), X, same, -1.0)
    ours = NCAObjective(SoftmaxNeighbours.of(X, codes)).value_and_gradient(components)
    assert ours[0] == pytest.approx(loss, rel=1e-12)
    np.testing.assert_allclose(ours[1].ravel(), gradient, rtol=1e-10, atol=1e-12)


@pytest.mark.usefixtures("screening")
def test_log_partition_matches_loops_and_its_gradient_finite_differences(components):
    X, codes = labelled()
    neighbours = SoftmaxNeighbours.of(X, codes)
    log_partition, scatter = neighbours.log_partition(components)
    order = np.argsort(codes, kind="stable")
    for i, log_sum in zip(order, log_partition, strict=True):
        others = np.delete(X, i, axis=0)
        expected = np.log(np.exp(-np.square((others - X[i]) @ components.T).sum(axis=1)).sum())
        assert log_sum == pytest.approx(expected, rel=1e-12)
    step = 1e-6 * np.random.default_rng(2).normal(size=components.shape)
    above, below = (neighbours.log_partition(components + sign * step)[0].sum() for sign in (1, -1))
    change = step.T @ components + components.T @ step  # of LᵀL
    assert below - above == pytest.approx(2 * np.vdot(scatter, change), rel=1e-6)


@pytest.mark.parametrize("regularization", [0.0, 0.3])
@pytest.mark.parametrize("scale", [0.5, 5.0], ids=["dense", "mostly negligible"])
def test_the_gradient_matches_finite_differences(scale, regularization):
    X, codes = labelled(n_samples=150)
    objective = NCAObjective(SoftmaxNeighbours.of(X, codes), regularization)
    random = np.random.default_rng(0)
    L, step = scale * random.normal(size=(4, 5)), 1e-6 * random.normal(size=(4, 5))
    above, below = (objective.value_and_gradient(L + sign * step)[0] for sign in (1, -1))
    gradient = objective.value_and_gradient(L)[1]
    assert above - below == pytest.approx(2 * np.vdot(gradient, step), rel=1e-5)


@pytest.mark.usefixtures("screening")
def test_batches_add_up_to_all_samples(components):
    X, codes = labelled(n_samples=60)
    objective = NCAObjective(SoftmaxNeighbours.of(X, codes), regularization=0.1)
    value, gradient = objective.value_and_gradient(components)
    parts = [
        objective.batch_value_and_gradient(components, batch)
        for batch in np.random.default_rng(0).permutation(60).reshape(4, 15)
    ]
    assert np.mean([part[0] for part in parts]) == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(
        np.mean([part[1] for part in parts], axis=0), gradient, rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("method", ["same_class_probability", "log_partition"])
@pytest.mark.parametrize("n_components", [3, 6])
@pytest.mark.parametrize("scale", [0.3, 1.0, 30.0, 1e5])
def test_screening_changes_no_result(scale, n_components, method, monkeypatch):
    X, codes = labelled(n_samples=300, n_features=9)
    X += 100  # samples are centred before they are compared
    neighbours = SoftmaxNeighbours.of(X, codes)
    L = scale * np.random.default_rng(0).normal(size=(n_components, 9))
    answers = []
    for share in (0.0, 1.1):
        monkeypatch.setattr(softmax_neighbours, "_SCREENING_SHARE", share)
        answers.append(getattr(neighbours, method)(L))
    for found, expected in zip(*answers, strict=True):
        largest = np.abs(expected).max()
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12 * largest)


def test_single_precision_is_not_used_for_large_norms():
    Z = np.random.default_rng(0).normal(size=(50, 3))
    assert softmax_neighbours._Screen.of(Z, np.square(Z).sum(axis=1)).error < 1e-4
    for length in (1e4, 1e30, np.inf):
        assert softmax_neighbours._Screen.of(Z * length, np.full(50, length**2)) is None


@pytest.mark.usefixtures("screening")
def test_blocks_and_threads_change_no_result(components, monkeypatch):
    X, codes = labelled(n_samples=150)
    expected = SoftmaxNeighbours.of(X, codes).same_class_probability(components)
    monkeypatch.setattr(softmax_neighbours, "_BLOCK_BYTES", 8 * 150 * 9)
    one, *others = (
        SoftmaxNeighbours.of(X, codes, n).same_class_probability(components) for n in (1, 2, 5)
    )
    np.testing.assert_allclose(one[1], expected[1], rtol=1e-9, atol=1e-13)
    for other in others:
        for found, same in zip(other, one, strict=True):
            np.testing.assert_array_equal(found, same)


def test_memory_is_checked_first(monkeypatch):
    monkeypatch.setattr("likewise._runtime.memory.free_memory", lambda: 10)
    monkeypatch.setattr("likewise._runtime.memory.UNCHECKED_BYTES", 0)
    with pytest.raises(
        MemoryError, match="Comparing 41 samples of 5 features with each other needs"
    ):
        SoftmaxNeighbours.of(*labelled())


@pytest.mark.usefixtures("screening")
def test_tiles_shrink_to_max_memory(components):
    random = np.random.default_rng(0)
    X, codes = random.normal(size=(1500, 5)), np.arange(1500) % 3
    expected = SoftmaxNeighbours.of(X, codes, 2).same_class_probability(components)
    with lw.config_context(max_memory="16MiB"):
        limited = SoftmaxNeighbours.of(X, codes, 2)
    assert limited.tile_bytes < 8 * 1500**2
    for found, whole in zip(limited.same_class_probability(components), expected, strict=True):
        np.testing.assert_allclose(found, whole, rtol=1e-10, atol=1e-12)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_nca_learns_within_max_memory():
    random = np.random.default_rng(0)
    codes = np.arange(3000) % 3
    X = random.normal(size=(3000, 20)) + codes[:, None]
    lw.NCA(max_iter=2, n_jobs=2).fit(X, codes)  # imports take memory of their own
    tracemalloc.start()
    try:
        with lw.config_context(max_memory="16MiB"):
            lw.NCA(max_iter=2, n_jobs=2).fit(X, codes)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 16 * 2**20
    with (
        lw.config_context(max_memory="16MiB"),
        pytest.raises(MemoryError, match=r"fewer rows, fewer threads by n_jobs, or allow more"),
    ):
        SoftmaxNeighbours.of(np.zeros((50_000, 20)), np.arange(50_000) % 2, 2)
