"""Multi-metric LMNN: objective, gradient, search, bound and decisions against plain loops."""

import cvxpy as cp
import numpy as np
import pytest
from lmnn_oracles import loop_objective, targets_of
from sklearn.datasets import make_moons

import likewise as lw
from likewise.batch.lmnn.early_stopping import ValidationSet, split_validation
from likewise.batch.lmnn.impostors import ClusteredImpostorSearch
from likewise.batch.lmnn.multi_metric_objective import (
    MultiMetricLargeMargin,
    MultiMetricLargeMarginBound,
)
from likewise.neighbors import TooManyPairs
from likewise.objectives import GroupedPairs


def data(n=24, d=3, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    return rng.normal(size=(n, d)) + rng.normal(size=(n_classes, d))[y], y


def objective_of(X, y, clusters, k, push=0.4, margin=1.5, smoothing=0.0):
    """Return the objective with all rows of other classes as impostor pairs."""
    targets = np.array(targets_of(X, y, k))
    rows, cols = np.nonzero(y[:, None] != y)
    return MultiMetricLargeMargin(
        X,
        GroupedPairs(np.repeat(np.arange(len(X)), k), targets.ravel(), np.arange(len(X) + 1) * k),
        GroupedPairs.from_sorted(rows, len(X), rows, cols),
        np.ones(len(X)),
        push,
        margin,
        smoothing,
        clusters=clusters,
        n_clusters=int(clusters.max()) + 1,
    )


@pytest.mark.parametrize("n_clusters", [1, 3])
def test_value_and_gradient(n_clusters):
    X, y = data()
    rng = np.random.default_rng(1)
    clusters = rng.permutation(np.arange(len(X)) % n_clusters)
    Ls = rng.normal(size=(n_clusters, 2, 3))
    value, _ = objective_of(X, y, clusters, 2).value_and_gradient(Ls)
    assert value == pytest.approx(loop_objective(X, y, clusters, Ls, 2, 0.4, 1.5), rel=1e-12)
    smooth = objective_of(X, y, clusters, 2, smoothing=0.5)
    _, gradient = smooth.value_and_gradient(Ls)
    for index in np.ndindex(Ls.shape):
        step = np.zeros_like(Ls)
        step[index] = 1e-6
        change = smooth.value_and_gradient(Ls + step)[0] - smooth.value_and_gradient(Ls - step)[0]
        assert gradient[index] == pytest.approx(change / 2e-6, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("by", ["class", "k-means like"])
def test_the_search_finds_every_impostor(by):
    X, y = data(60, n_classes=3)
    rng = np.random.default_rng(2)
    clusters = y if by == "class" else rng.integers(0, 4, len(X))
    Ls = rng.normal(size=(clusters.max() + 1, 3, 3))
    objective = objective_of(X, y, clusters, 2)
    Z = objective.transform(Ls)
    to_targets = objective.sqdist(Z, objective.targets)
    active = rng.random(len(X)) < 0.8
    search = ClusteredImpostorSearch(clusters, y, objective.targets, active, 1.5, None)
    pairs, sqdist = search(Z, to_targets, 0.1)
    expected = [
        (i, row)
        for i in range(len(X))
        for row in range(len(X))
        if active[i]
        and y[i] != y[row]
        and np.square(Ls[clusters[row]] @ (X[i] - X[row])).sum()
        < 1.1 * (1.5 + to_targets[2 * i : 2 * i + 2].max())
    ]
    assert list(zip(pairs.rows.tolist(), pairs.cols.tolist(), strict=True)) == expected
    np.testing.assert_allclose(sqdist, objective.sqdist(Z, pairs), rtol=1e-10)
    search.max_pairs = len(expected) - 1
    with pytest.raises(TooManyPairs):
        search(Z, to_targets, 0.1)


def optimum(X, y, clusters, k, push, margin, penalty=None):
    """Return the optimum of the semidefinite programme, by CVXPY.

    `penalty` has M₀, and the strength for every cluster.
    """
    n_clusters = int(clusters.max()) + 1
    Ms = [cp.Variable((X.shape[1],) * 2, PSD=True) for _ in range(n_clusters)]

    def D(i, j):  # noqa: N802
        return cp.sum(cp.multiply(Ms[clusters[j]], np.outer(X[i] - X[j], X[i] - X[j])))

    terms = []
    for i, targets in enumerate(targets_of(X, y, k)):
        for j in targets:
            terms.append((1 - push) * D(i, j))
            terms += [
                push * cp.pos(margin + D(i, j) - D(i, row))
                for row in range(len(X))
                if y[row] != y[i]
            ]
    if penalty is not None:
        centre, strengths = penalty
        terms += [s * cp.sum_squares(M - centre) for M, s in zip(Ms, strengths, strict=True)]
    problem = cp.Problem(cp.Minimize(cp.sum(cp.hstack(terms))))
    return problem.solve(solver=cp.CLARABEL)


@pytest.mark.parametrize("clusters", ["class", 2])
def test_the_optimum_of_the_semidefinite_programme(clusters):
    X, y = data(24, 2)
    model = lw.MultiMetricLMNN(
        1, clusters=clusters, scale=1.0, tol=1e-3, max_iter=3000, random_state=0
    ).fit(X, y)
    best = optimum(X, y, model.clusters_, 1, 0.5, 1.0)
    assert model.converged_
    assert best * (1 - 1e-6) <= model.objective_ <= best * (1 + 1e-3)
    assert model.objective_ * (1 - model.duality_gap_) <= best * (1 + 1e-6)
    assert model.objective_ == pytest.approx(
        loop_objective(X, y, model.clusters_, model.components_, 1, 0.5, 1.0), rel=1e-9
    )
    assert model.objective_ < lw.LMNN(1, scale=1.0, tol=1e-3).fit(X, y).objective_


@pytest.mark.parametrize("clusters", ["class", "uneven"])
def test_regularization_finds_its_optimum(clusters):
    X, y = data(24, 2)
    given = "class" if clusters == "class" else (np.arange(len(X)) < 5).astype(int)
    options = {"scale": 1.0, "tol": 1e-4, "max_iter": 3000, "regularization": 0.3}
    model = lw.MultiMetricLMNN(1, clusters=given, **options).fit(X, y)
    centre = lw.LMNN(1, **options).fit(X, y).mahalanobis_matrix()
    strengths = 0.3 * np.bincount(model.clusters_) / np.square(centre).sum()
    best = optimum(X, y, model.clusters_, 1, 0.5, 1.0, (centre, strengths))
    assert best * (1 - 1e-6) <= model.objective_ <= best * (1 + 1e-4)
    assert model.objective_ * (1 - model.duality_gap_) <= best * (1 + 1e-6)
    assert model.duality_gap_ <= 1e-4


def test_a_strong_penalty_keeps_the_single_metric():
    X, y = data(60)
    model = lw.MultiMetricLMNN(2, regularization=1e6, tol=0.5).fit(X, y)
    single = lw.LMNN(2, regularization=1e6, tol=0.5).fit(X, y)
    for L in model.components_:
        np.testing.assert_allclose(L.T @ L, single.mahalanobis_matrix(), rtol=1e-3, atol=1e-6)


def test_a_cluster_without_training_rows_keeps_the_single_metric():
    X, y = data(60)
    _, held_out = split_validation(y, np.ones(60), 0.3, 0)
    clusters = np.zeros(60, int)
    clusters[held_out] = 1
    options = {"validation_fraction": 0.3, "random_state": 0, "regularization": 0.1}
    model = lw.MultiMetricLMNN(2, clusters=clusters, **options).fit(X, y)
    train = np.setdiff1d(np.arange(60), held_out)
    single = lw.LMNN(2, regularization=0.1).fit(X[train], y[train]).mahalanobis_matrix()
    L = model.components_[1]
    np.testing.assert_allclose(L.T @ L, single, rtol=1e-9, atol=1e-12)


def test_weights_of_anchors_against_the_formula():
    X, y = data(40)
    weights = np.random.default_rng(3).integers(0, 3, len(X))
    model = lw.MultiMetricLMNN(2, scale=1.0).fit(X, y, anchor_weight=weights)
    expected = loop_objective(X, y, y, model.components_, 2, 0.5, 1.0, weights)
    assert model.objective_ == pytest.approx(expected, rel=1e-9)
    unweighted = lw.MultiMetricLMNN(2, scale=1.0).fit(X, y)
    reference = loop_objective(X, y, y, unweighted.components_, 2, 0.5, 1.0, weights)
    assert model.objective_ < 1.01 * reference


def test_the_bound_is_never_above_the_optimum():
    X, y = data(24, 2)
    best = optimum(X, y, y, 1, 0.4, 1.5)
    rng = np.random.default_rng(3)
    for smoothing in (0.01, 0.3, 3.0):
        objective = objective_of(X, y, y, 1, smoothing=smoothing)
        bound = MultiMetricLargeMarginBound(objective)
        for _ in range(10):
            Z = objective.transform(rng.normal(size=(2, 2, 2)))
            targets = objective.sqdist(Z, objective.targets)
            impostors = objective.sqdist(Z, objective.impostors)
            assert bound(objective, targets, impostors).lower_bound <= best * (1 + 1e-6)


def test_one_cluster_is_lmnn():
    X, y = data(40)
    one = lw.MultiMetricLMNN(2, clusters=np.zeros(len(X), int), tol=1e-4, max_iter=3000).fit(X, y)
    single = lw.LMNN(2, tol=1e-4, max_iter=3000).fit(X, y)
    assert one.objective_ == pytest.approx(single.objective_, rel=2e-4)


def test_kneighbors_against_loops():
    X, y = data(50, n_classes=3)
    Q, _ = data(9, seed=5)
    model = lw.MultiMetricLMNN(2).fit(X, y)
    distance, index = model.kneighbors(Q, 5)
    for q, row, found in zip(Q, index, distance, strict=True):
        every = [
            np.linalg.norm(model.components_[model.clusters_[j]] @ (q - X[j]))
            for j in range(len(X))
        ]
        assert row.tolist() == np.argsort(every, kind="stable")[:5].tolist()
        np.testing.assert_allclose(found, np.sort(every)[:5], rtol=1e-9)
    assert set(model.predict(Q)) <= {0, 1, 2}


@pytest.mark.parametrize("clusters", ["class", 4])
def test_energies_against_loops(clusters):
    X, y = data(40, n_classes=3)
    Q, _ = data(7, seed=5)
    k, push, margin = 2, 0.3, 1.2
    model = lw.MultiMetricLMNN(k, clusters=clusters, push=push, margin=margin, random_state=0).fit(
        X, y
    )

    def D(a, b, cluster):  # noqa: N802
        return np.square(model.components_[cluster] @ (a - b)).sum()

    own, of = targets_of(X, y, k), model.clusters_
    expected = np.zeros((len(Q), 3))
    for t, q in enumerate(Q):
        for label in range(3):
            members = np.flatnonzero(y == label).tolist()
            targets = sorted(members, key=lambda j, q=q: (np.square(X[j] - q).sum(), j))[:k]
            energy = 0.0
            for j in targets:
                energy += (1 - push) * D(q, X[j], of[j])
                for row in np.flatnonzero(y != label):
                    energy += push * max(0, margin + D(q, X[j], of[j]) - D(q, X[row], of[row]))
            for i in np.flatnonzero(y != label):
                for j in own[i]:
                    sqradius = margin + D(X[i], X[j], of[j])
                    energy += push * max(0, sqradius - D(X[i], q, of[targets[0]]))
            expected[t, label] = energy
    np.testing.assert_allclose(model.energies(Q), expected, rtol=1e-9)
    assert model.predict_by_energy(Q).tolist() == expected.argmin(axis=1).tolist()


def test_moons():
    """Several metrics fit two half moons better than one."""
    X, y = make_moons(400, noise=0.15, random_state=0)
    single = lw.LMNN(3).fit(X[::2], y[::2])
    local = lw.MultiMetricLMNN(3, clusters=8, random_state=0).fit(X[::2], y[::2])
    assert local.objective_ < 0.85 * single.objective_
    assert local.score(X[1::2], y[1::2]) > 0.95


def test_circles_are_separated_by_more_metrics():
    """Figure 7: with one metric the leave-one-out error is 1."""
    angle = np.linspace(0, 2 * np.pi, 52, endpoint=False)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    X, y = np.vstack([circle, 1.12 * circle]), np.repeat([0, 1], len(angle))

    def learned(n_clusters):
        model = lw.MultiMetricLMNN(1, clusters=n_clusters, max_iter=2000, random_state=0).fit(X, y)
        itself, other = model.kneighbors(X, 2)[1].T
        assert itself.tolist() == list(range(len(X)))
        return model.objective_, np.mean(y[other] != y)

    (one, one_error), (two, _), (three, three_error), (six, six_error) = map(learned, (1, 2, 3, 6))
    # By symmetry the best metric of half a circle is isotropic, too.
    assert two == pytest.approx(one, rel=0.01)
    assert six < 0.6 * three < 0.6 * one
    assert one_error == 1
    assert three_error < 0.35
    # The target of a point is one of two neighbours at the same distance, chosen by rounding.
    assert six_error < 0.05


def test_early_stopping(monkeypatch):
    random = np.random.default_rng(1)
    y = np.arange(120) % 2
    X = random.normal(size=(120, 20))  # enough features for the optimum to overfit
    X[:, 0] += 2 * y
    errors = []
    error_rate = ValidationSet.error_rate

    def recorded(self, nearest):
        errors.append(error_rate(self, nearest))
        return errors[-1]

    monkeypatch.setattr(ValidationSet, "error_rate", recorded)
    settings = {"validation_fraction": 0.3, "random_state": 0}
    model = lw.MultiMetricLMNN(1, **settings).fit(X, y)
    assert model.converged_
    assert errors.index(min(errors)) < len(errors) - 1, "the fit was not stopped early"
    assert min(errors) < errors[-1]
    train, held_out = split_validation(y, np.ones(120), 0.3, 0)
    wrong = 0
    for row in held_out:
        distances = [np.linalg.norm(model.components_[y[j]] @ (X[row] - X[j])) for j in train]
        wrong += y[train[np.argmin(distances)]] != y[row]
    assert wrong / len(held_out) == pytest.approx(min(errors))
    again = lw.MultiMetricLMNN(1, **settings).fit(X, y)
    np.testing.assert_array_equal(model.components_, again.components_)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"clusters": 0}, "clusters"),
        ({"clusters": "classes"}, "clusters"),
        ({"clusters": 99}, "clusters=99 is not allowed: X has 24 rows"),
        ({"clusters": [0, 1]}, r"clusters has shape \(2,\), but X has 24 rows"),
        ({"n_neighbors": 24}, "n_neighbors=24 is not allowed: X has 24 rows"),
        ({"push": 1.0}, "push"),
        ({"validation_fraction": 0.95}, "validation_fraction=0.95 would leave 1 row of each class"),
    ],
)
def test_bad_input(wrong, sentence):
    X, y = data()
    with pytest.raises(ValueError, match=sentence):
        lw.MultiMetricLMNN(**wrong).fit(X, y)


def test_more_neighbours_than_rows():
    X, y = data()
    with pytest.raises(ValueError, match="n_neighbors=25 is not allowed: there are n_samples = 24"):
        lw.MultiMetricLMNN(2).fit(X, y).kneighbors(X, 25)
