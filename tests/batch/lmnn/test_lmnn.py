"""LMNN against its formula in loops, against CVXPY, and between its variants."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
from lmnn_oracles import by_cvxpy, by_the_formula, overlapping, targets_of
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

import likewise as lw
from likewise.batch.lmnn.early_stopping import ErrorRate, split_validation
from likewise.batch.lmnn.impostors import LabelledImpostorSearch
from likewise.batch.lmnn.problem import best_multiple
from likewise.objectives import GroupedPairs, LargeMargin


@pytest.fixture(scope="module")
def small():
    """Forty rows at scale 1, their targets, and the minimum of the objective."""
    X, y = overlapping()
    targets = targets_of(X, y, 3)
    return X, y, targets, by_cvxpy(X, y, targets)


def test_objective_is_that_of_the_paper(small):
    X, y, targets, _ = small
    model = lw.LMNN(scale=1.0, push=0.3, margin=2.0).fit(X, y)
    expected = by_the_formula(X, y, targets, model.mahalanobis_matrix(), 0.3, 2.0)
    assert model.objective_ == pytest.approx(expected, rel=1e-10)


def test_objective_counts_all_impostors_at_the_scaled_data():
    X, y = overlapping(90, 4, seed=1)
    model = lw.LMNN(n_neighbors=2).fit(X + 100, y)
    targets = targets_of(X, y, 2)
    scaled = X * model.scale_
    sqdist = [np.sum((scaled[i] - scaled[j]) ** 2) for i in range(90) for j in targets[i]]
    assert np.median(sqdist) == pytest.approx(1)
    M = model.mahalanobis_matrix() / model.scale_**2
    assert model.objective_ == pytest.approx(by_the_formula(scaled, y, targets, M), rel=1e-8)


def test_lbfgs_finds_the_optimum(small):
    X, y, _, optimum = small
    model = lw.LMNN(scale=1.0, tol=1e-4).fit(X, y)
    assert model.converged_
    assert model.objective_ == pytest.approx(optimum, rel=1e-3)
    assert model.objective_ >= optimum * (1 - 1e-7)


def test_projected_finds_the_optimum(small):
    X, y, _, optimum = small
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = lw.LMNN(scale=1.0, solver="projected", max_iter=2000, tol=1e-3).fit(X, y)
    assert model.objective_ == pytest.approx(optimum, rel=1e-2)
    assert model.objective_ >= optimum * (1 - 1e-7)


@pytest.mark.parametrize("solver", ["lbfgs", "projected"])
@pytest.mark.parametrize("seed", range(3))
def test_the_lower_bound_is_never_above_the_optimum(solver, seed):
    X, y = overlapping(30, 3, seed)
    targets = targets_of(X, y, 2)
    optimum = by_cvxpy(X, y, targets, push=0.7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = lw.LMNN(2, push=0.7, scale=1.0, solver=solver, tol=1e-4, max_iter=300).fit(X, y)
    bounds = model.history_["lower_bound"]
    assert (bounds <= optimum * (1 + 1e-6)).all()
    assert bounds[-1] > (0.99 if solver == "lbfgs" else 0.1) * optimum
    assert model.duality_gap_ == pytest.approx(1 - bounds[-1] / model.objective_)


def test_regularization_finds_its_optimum_and_shrinks_to_the_initial_metric(small):
    X, y, targets, _ = small
    start = (
        lw.LMNN(scale=1.0, max_iter=1, regularization=1e9, tol=1e3).fit(X, y).mahalanobis_matrix()
    )
    np.testing.assert_allclose(start, start[0, 0] * np.eye(3), atol=1e-6 * start[0, 0])
    strength = 2 * 0.3 * len(X) / np.square(start).sum()
    optimum = by_cvxpy(X, y, targets, regularization=(start, strength))
    model = lw.LMNN(scale=1.0, regularization=0.3, tol=1e-4).fit(X, y)
    assert model.objective_ == pytest.approx(optimum, rel=1e-3)
    assert (model.history_["lower_bound"] <= optimum * (1 + 1e-6)).all()
    free = lw.LMNN(scale=1.0).fit(X, y).mahalanobis_matrix()
    nearer = np.linalg.norm(model.mahalanobis_matrix() - start) < np.linalg.norm(free - start)
    assert nearer


def test_every_pass_is_regularised_towards_the_initial_metric():
    X, y = overlapping(90, 4, seed=2)
    settings = {"scale": 1.0, "regularization": 0.3}
    start = (
        lw.LMNN(scale=1.0, max_iter=1, regularization=1e9, tol=1e3).fit(X, y).mahalanobis_matrix()
    )
    first = lw.LMNN(**settings).fit(X, y)
    both = lw.LMNN(**settings, n_passes=2).fit(X, y)
    M = both.mahalanobis_matrix()
    targets = targets_of(first.transform(X), y, 3)
    penalty = 0.3 * len(X) * np.square(M - start).sum() / np.square(start).sum()
    assert both.objective_ == pytest.approx(by_the_formula(X, y, targets, M) + penalty, rel=1e-5)


@pytest.mark.parametrize("n_components", [4, 2], ids=["square", "rectangular"])
def test_gradient_against_finite_differences(n_components):
    X, y = overlapping(60, 4)
    index = targets_of(X, y, 2)
    targets = GroupedPairs(np.repeat(np.arange(60), 2), np.ravel(index), np.arange(0, 121, 2))
    rows, cols = (index.copy() for index in np.nonzero(y[:, None] != y))
    impostors = GroupedPairs.from_sorted(rows, 60, rows, cols)
    weights = np.random.default_rng(1).random(60)
    objective = LargeMargin(X, targets, impostors, weights, 0.3, 1.5, smoothing=0.2)
    random = np.random.default_rng(2)
    L, step = random.normal(size=(2, n_components, 4)) / 3
    _, gradient = objective.value_and_gradient(L)
    up, down = (objective.value_and_gradient(L + t * step)[0] for t in (1e-6, -1e-6))
    assert np.vdot(gradient, step) == pytest.approx((up - down) / 2e-6, rel=1e-6)
    unsmoothed = LargeMargin(X, targets, impostors, weights, 0.3, 1.5)
    expected = by_the_formula(X, y, index, L.T @ L, 0.3, 1.5, weights)
    assert unsmoothed.value_and_gradient(L)[0] == pytest.approx(expected, rel=1e-12)


def test_the_working_set_does_not_change_the_optimum(small):
    X, y, targets, _ = small
    every = [
        (i, j, other)
        for i in range(len(X))
        for j in targets[i]
        for other in np.flatnonzero(y != y[i])
    ]
    full = lw.LMNN(scale=1.0, tol=1e-4).fit_triplets(X, every)
    working = lw.LMNN(scale=1.0, tol=1e-4).fit(X, y)
    assert working.objective_ == pytest.approx(full.objective_, rel=2e-4)
    np.testing.assert_allclose(
        working.mahalanobis_matrix(), full.mahalanobis_matrix(), atol=0.02 * full.components_.max()
    )


def test_triplets_against_loops():
    X, _ = overlapping(12)
    triplets = [(0, 1, 2), (0, 1, 5), (3, 4, 7), (0, 6, 2), (3, 4, 7), (9, 8, 0)]
    model = lw.LMNN(scale=1.0, push=0.6).fit_triplets(X, triplets)
    Z = model.transform(X)

    def distance(a, b):
        return np.sum((Z[a] - Z[b]) ** 2)

    pull = sum(distance(a, p) for a, p in {(a, p) for a, p, _ in triplets})
    push = sum(max(0.0, 1 + distance(a, p) - distance(a, n)) for a, p, n in triplets)
    assert model.objective_ == pytest.approx(0.4 * pull + 0.6 * push, rel=1e-9)


def test_triplets_have_one_pass():
    X, _ = overlapping(12)
    triplets = [(0, 1, 2), (0, 1, 5), (3, 4, 7), (9, 8, 0)]
    once, thrice = (lw.LMNN(n_passes=n).fit_triplets(X, triplets) for n in (1, 3))
    assert thrice.n_iter_ == once.n_iter_
    np.testing.assert_array_equal(thrice.components_, once.components_)


def test_weights_of_anchors_against_the_formula(small):
    X, y, targets, _ = small
    weights = np.random.default_rng(3).integers(0, 3, len(X))
    model = lw.LMNN(scale=1.0).fit(X, y, anchor_weight=weights)
    expected = by_the_formula(X, y, targets, model.mahalanobis_matrix(), weights=weights)
    assert model.objective_ == pytest.approx(expected, rel=1e-10)


def test_a_second_pass_selects_targets_by_the_first_metric():
    X, y = overlapping(90, 4, seed=2)
    first = lw.LMNN(scale=1.0).fit(X, y)
    both = lw.LMNN(scale=1.0, n_passes=2).fit(X, y)
    targets = targets_of(first.transform(X), y, 3)
    expected = by_the_formula(X, y, targets, both.mahalanobis_matrix())
    assert both.objective_ == pytest.approx(expected, rel=1e-8)
    assert both.n_iter_ > first.n_iter_


@pytest.mark.parametrize("options", [{}, {"n_components": 2}, {"solver": "projected"}], ids=str)
def test_invariance_to_order_scale_and_translation(options):
    X, y = overlapping(60, 3, seed=4)
    order = np.random.default_rng(0).permutation(60)

    def learned(X, y):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return lw.LMNN(max_iter=25, tol=1e-3, **options).fit(X, y)

    model = learned(X, y)
    M = model.mahalanobis_matrix()
    for X_other, y_other, factor in [
        (X[order], y[order], 1.0),
        (X * 1e5, y, 1e5),
        (X * 1e-5, y, 1e-5),
        (X + 1e4, y, 1.0),
    ]:
        other = learned(X_other, y_other)
        assert other.objective_ == pytest.approx(model.objective_, rel=1e-5)
        np.testing.assert_allclose(
            other.mahalanobis_matrix() * factor**2, M, atol=1e-3 * np.abs(M).max()
        )


def test_fewer_components_than_features():
    X, y = overlapping(90, 5, seed=5)
    model = lw.LMNN(scale=1.0, n_components=2).fit(X, y)
    assert model.components_.shape == (2, 5)
    # Targets are selected by the distances on the initial components.
    axes = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2][:2]
    targets = targets_of(X @ axes.T, y, 3)
    expected = by_the_formula(X, y, targets, model.mahalanobis_matrix())
    assert model.objective_ == pytest.approx(expected, rel=1e-8)
    assert model.objective_ < by_the_formula(X, y, targets, axes.T @ axes)


@pytest.mark.parametrize("init", ["identity", "fda", np.diag([1.0, 2.0, 0.5])], ids=str)
def test_the_initial_metric_affects_only_the_targets(init):
    X, y = overlapping(60, 3, seed=6)
    model = lw.LMNN(scale=1.0, init=init, tol=1e-3).fit(X, y)
    if isinstance(init, str):
        L = np.eye(3) if init == "identity" else lw.RCA().fit(X, y).components_
    else:
        L = init
    targets = targets_of(X @ L.T, y, 3)
    optimum = by_cvxpy(X, y, targets)
    assert model.objective_ == pytest.approx(optimum, rel=2e-3)


def test_init_with_fewer_rows_sets_the_number_of_components():
    X, y = overlapping(60, 3, seed=6)
    init = np.array([[1.0, 0.0, 0.5], [0.0, 2.0, 0.0]])
    model = lw.LMNN(init=init).fit(X, y)
    assert model.components_.shape == (2, 3)
    explicit = lw.LMNN(init=init.tolist(), n_components=2).fit(X, y)
    np.testing.assert_array_equal(model.components_, explicit.components_)


def test_best_multiple_minimises_the_objective():
    X, y = overlapping(30, 3, seed=7)
    targets = targets_of(X, y, 3)
    for factor in (0.01, 1.0, 30.0):
        rows = X * factor
        pairs = GroupedPairs(np.repeat(np.arange(30), 3), np.ravel(targets), np.arange(0, 91, 3))
        objective = LargeMargin(rows, pairs, GroupedPairs.empty(30), np.ones(30))
        search = LabelledImpostorSearch(y, pairs, np.ones(30, dtype=bool), 1.0, None)
        alpha = best_multiple(objective, search, rows)
        grid = np.geomspace(0.2, 5, 41) * alpha
        lowest = min(by_the_formula(rows, y, targets, a**2 * np.eye(3)) for a in grid)
        assert by_the_formula(rows, y, targets, alpha**2 * np.eye(3)) <= 1.01 * lowest


def test_early_stopping(monkeypatch):
    random = np.random.default_rng(0)
    y = np.arange(120) % 2
    X = random.normal(size=(120, 40))  # enough features for the optimum to overfit
    X[:, 0] += 2 * y
    evaluated = []
    validation_error = ErrorRate.__call__

    def recorded(self, x):
        error = validation_error(self, x)
        evaluated.append((error, x @ self.to_original))
        return error

    monkeypatch.setattr(ErrorRate, "__call__", recorded)
    model = lw.LMNN(validation_fraction=0.3, random_state=0).fit(X, y)
    assert model.converged_
    errors = [error for error, _ in evaluated]
    best = errors.index(min(errors))
    assert best < len(errors) - 1, "the fit was not stopped early"
    last_best = max(i for i, error in enumerate(errors) if error == min(errors))
    L = evaluated[last_best][1] * model.scale_
    np.testing.assert_allclose(
        model.mahalanobis_matrix(), L.T @ L, atol=1e-9 * np.abs(L).max() ** 2
    )
    train, held_out = split_validation(y, np.ones(120), 0.3, 0)
    assert len(held_out) == 36
    assert not set(train) & set(held_out)
    rows = model.transform(X)
    score = lw.MetricKNN(3).fit(rows[train], y[train]).score(rows[held_out], y[held_out])
    assert 1 - score == pytest.approx(min(errors))
    again = lw.LMNN(validation_fraction=0.3, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.components_, again.components_)


def test_the_convergence_warning_has_the_gap(small):
    X, y, *_ = small
    with pytest.warns(ConvergenceWarning, match=r"max_iter=2 .*relative duality gap 0\.\d+"):
        model = lw.LMNN(max_iter=2, tol=1e-6).fit(X, y)
    assert not model.converged_
    assert model.n_iter_ == 2


def test_float32():
    X, y = overlapping(150, 4, seed=10)
    double = lw.LMNN(tol=1e-3).fit(X, y)
    single = lw.LMNN(tol=1e-3).fit(X.astype(np.float32), y)
    assert single.components_.dtype == np.float32
    assert single.objective_ == pytest.approx(double.objective_, rel=2e-3)


def test_more_features_than_samples():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(30, 50)), np.arange(30) % 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = lw.LMNN().fit(X, y)
    assert model.objective_ < 0.1 * model.history_["objective"][0]
    assert np.isfinite(model.components_).all()
    assert (model.history_["lower_bound"] <= model.objective_).all()


def zebra(n_samples, random):
    """Return two classes in stripes along one feature; the other is uninformative but larger."""
    stripe = random.integers(0, 10, n_samples)
    along = random.uniform(-10, 10, n_samples)
    return np.column_stack([stripe + random.uniform(-0.3, 0.3, n_samples), along]), stripe % 2


def test_zebra_stripes():
    """Figure 2: multimodal classes with uninformative means."""
    random = np.random.default_rng(1)
    X, y = zebra(400, random)
    new, new_y = zebra(400, random)

    def score(metric):
        return lw.MetricKNN(3, metric=metric).fit(X, y).score(new, new_y)

    assert score(lw.FDA()) < 0.65
    assert score(lw.Euclidean()) < 0.9
    assert score(lw.LMNN()) > 0.95
    assert score(lw.LMNN(n_passes=3)) > 0.99


@pytest.mark.parametrize("d", [2, 5])
def test_tree_and_brute_force_give_the_same_bits(d):
    X, y = load_iris(return_X_y=True)
    X = X[:, :d] if d < 4 else np.column_stack([X, X[:, 0] * X[:, 1]])
    brute, tree = (lw.LMNN(3, neighbors=how).fit(X, y) for how in ("brute", "tree"))
    assert brute.components_.tobytes() == tree.components_.tobytes()
    assert brute.objective_ == tree.objective_


MEMORY = """
import resource
import numpy as np
import likewise as lw

random = np.random.default_rng(0)
y = np.arange({n}) % 10
centres = random.normal(size=(10, 60))
X = (centres[y] + 0.9 * random.normal(size=({n}, 60))).astype(np.float32)
lw.LMNN(tol=0.05).fit(X, y)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


@pytest.mark.parametrize("n", [2000, pytest.param(20_000, marks=pytest.mark.slow)])
def test_peak_memory_stays_below_800_mb(n):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", MEMORY.format(n=n)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert float(done.stdout) < 800


@pytest.mark.parametrize("n_rows", [150, 180, 240])
def test_columns_of_categories_have_bounded_weights(n_rows):
    """Target neighbours have the same category, so that the pull does not limit its weight."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    numbers = rng.standard_normal((300, 4))
    numbers[:, 0] += 0.8 * y
    X = StandardScaler().fit_transform(np.hstack([numbers, np.eye(3)[rng.integers(0, 3, 300)]]))
    model = lw.LMNN().fit(X[:n_rows], y[:n_rows])
    weights = np.linalg.svd(model.components_, compute_uv=False)
    assert weights[0] < 5 * np.median(weights)
    assert model.duality_gap_ < model.tol


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_features_that_vary_by_nothing_next_to_the_others_get_no_weight(dtype):
    """As in embeddings of texts, some of whose features are constant but for 1e-33."""
    X, y = overlapping(150, 4, seed=3)
    dead = 1e-33 * np.random.default_rng(0).normal(size=(150, 2))
    model = lw.LMNN().fit(np.hstack([X, dead]).astype(dtype), y)
    assert not model.components_[:, 4:].any()
    expected = lw.LMNN().fit(X.astype(dtype), y).mahalanobis_matrix()
    np.testing.assert_allclose(model.mahalanobis_matrix()[:4, :4], expected, rtol=1e-3, atol=1e-3)


FEW_ROWS = " learned 210 weights of 20 features from 37 independent samples, fewer than two per"


def overfit_warnings(fit):
    """Return the texts of the warnings of overfitting that a fit raises, and where they point."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit()
    found = [one for one in caught if one.category is lw.OverfitWarning]
    assert {one.filename for one in found} <= {__file__}
    return [str(one.message) for one in found]


@pytest.mark.parametrize("learner", [lw.LMNN, lw.MultiMetricLMNN])
def test_few_rows_per_feature_raise_a_warning(learner):
    X, y = overlapping(40, 20, seed=3)
    (text,) = overfit_warnings(lambda: learner().fit(X, y))
    assert text.startswith(learner.__name__ + FEW_ROWS)
    assert overfit_warnings(lambda: learner(regularization=1).fit(X, y)) == []
    early = learner(validation_fraction=0.3, random_state=0)
    assert overfit_warnings(lambda: early.fit(X, y)) == []
    assert overfit_warnings(lambda: learner().fit(X[:, :9], y)) == []
    assert overfit_warnings(lambda: learner().fit(*overlapping(43, 20, seed=3))) == []


def test_few_rows_per_component_raise_no_warning():
    X, y = overlapping(40, 20, seed=3)
    assert overfit_warnings(lambda: lw.LMNN(n_components=2).fit(X, y)) == []


@pytest.mark.parametrize("learner", [lw.LMNN, lw.MultiMetricLMNN])
def test_features_that_do_not_vary_need_no_rows(learner):
    X, y = overlapping(43, 20, seed=3)
    noise = 1e-33 * np.random.default_rng(0).normal(size=(43, 5))
    wide = np.hstack([X, np.full((43, 25), 0.1), noise])
    assert overfit_warnings(lambda: learner().fit(wide, y)) == []
    (text,) = overfit_warnings(lambda: learner().fit(wide[:40], y[:40]))
    assert text.startswith(learner.__name__ + FEW_ROWS)


def test_few_rows_in_a_file_raise_a_warning(tmp_path):
    X, y = overlapping(40, 20, seed=3)
    np.save(tmp_path / "rows.npy", np.hstack([X, np.ones((40, 3))]))
    rows = np.load(tmp_path / "rows.npy", mmap_mode="r")
    with lw.config_context(max_memory="100MB"):
        (text,) = overfit_warnings(lambda: lw.LMNN().fit(rows, y))
        assert text.startswith("LMNN" + FEW_ROWS)
        assert overfit_warnings(lambda: lw.LMNN(regularization=1).fit(rows, y)) == []
