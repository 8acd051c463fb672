"""All combinations of constraints, loss and cone against a generic solver; NCML, LDML, kernels."""

import itertools

import numpy as np
import pytest
from margin_oracles import blobs, pair_matrices, primal_value, solve_generic, triplet_matrices
from sklearn.linear_model import LogisticRegression

import likewise as lw
from likewise.constraints import doublets, nearest_and_farthest_pairs, triplets
from likewise.solvers.margin import _conic_interior_point
from likewise.testing import parametrize_with_contract

KERNEL_MODELS_DIFFER = {
    "check_distance_forms_agree": "a kernel model has no matrix over the features",
    "check_components_shape": "the components of a kernel model are over feature space",
    "check_scale_equivariance": "the width of an rbf kernel fixes a scale",
}
BUILDERS = {
    "pairs": lambda X, y: nearest_and_farthest_pairs(X, y, 2),
    "doublets": doublets,
    "triplets": triplets,
}
LOSSES = ["hinge", "squared_hinge", "logistic"]
LEGAL = [
    case
    for case in itertools.product(BUILDERS, LOSSES, ["psd", "symmetric", "conic"])
    if case[0] != "triplets" or case[2] != "conic"
]


@parametrize_with_contract(
    [lw.DoubletSVM(kernel="rbf"), lw.NCML(kernel="rbf")],
    {lw.DoubletSVM: KERNEL_MODELS_DIFFER, lw.NCML: KERNEL_MODELS_DIFFER},
)
def test_contract_with_a_kernel(estimator, check):
    check(estimator)


@pytest.mark.parametrize(("constraints", "loss", "cone"), LEGAL)
def test_every_legal_combination_finds_the_minimum(constraints, loss, cone):
    X, y = blobs()
    chosen = BUILDERS[constraints](X, y)
    is_pairs = constraints != "triplets"
    matrices, h = (pair_matrices if is_pairs else triplet_matrices)(X, chosen)
    model = lw.ComposedMetric(constraints, loss, cone, C=0.1, scale=1.0, tol=1e-5).fit(X, y)
    expected, M, _ = solve_generic(matrices, h, 0.1, loss, cone, is_pairs)
    assert model.converged_
    assert model.duality_gap_ <= 1e-5
    primal, dual = model.history_["primal"], model.history_["dual"]
    assert dual.max() <= expected * (1 + 1e-6)
    assert primal.min() >= expected * (1 - 1e-6)
    assert model.objective_ == pytest.approx(expected, rel=2e-5)
    if cone != "symmetric":
        b = model.intercept_ if is_pairs else 0.0
        found = primal_value(model.matrix_, b, matrices, h, 0.1, loss)
        assert found == pytest.approx(expected, rel=2e-5)
        np.testing.assert_allclose(model.matrix_, M, atol=2e-2 * np.abs(M).max())
        assert np.linalg.eigvalsh(model.matrix_)[0] >= -1e-9


@pytest.mark.parametrize(
    ("named", "composed"),
    [
        (lw.DoubletSVM(), lw.ComposedMetric("doublets", "hinge", "symmetric")),
        (lw.TripletSVM(2, 2), lw.ComposedMetric("triplets", "hinge", "symmetric")),
        (lw.PCML(2), lw.ComposedMetric("pairs", "hinge", "psd")),
        (lw.NCML(2), lw.ComposedMetric("pairs", "hinge", "conic")),
        (lw.LDML(), lw.ComposedMetric("doublets", "logistic", "symmetric")),
    ],
    ids=lambda model: type(model).__name__,
)
def test_named_methods_equal_their_combination(named, composed):
    X, y = blobs(40)
    np.testing.assert_array_equal(named.fit(X, y).components_, composed.fit(X, y).components_)


def test_illegal_combinations_raise():
    X, y = blobs()
    with pytest.raises(ValueError, match="cone='conic' is not allowed with constraints='triplets'"):
        lw.ComposedMetric("triplets", cone="conic").fit(X, y)
    with pytest.raises(ValueError, match="learns from triplets: use fit_triplets"):
        lw.ComposedMetric("triplets").fit_pairs(X, [[0, 1]], [True])
    with pytest.raises(ValueError, match="learns from pairs: use fit_pairs"):
        lw.ComposedMetric("doublets").fit_triplets(X, [[0, 2, 1]])
    for name in ("constraints", "loss", "cone"):
        with pytest.raises(ValueError, match=f"{name}='other' is not allowed"):
            lw.ComposedMetric(**{name: "other"}).fit(X, y)


def test_the_metric_of_ncml_is_a_sum_of_pair_matrices():
    """Non-negative least squares recovers weights of the pairs' matrices."""
    X, y = blobs(30)
    model = lw.NCML(2, C=0.01, scale=1.0, tol=1e-6).fit(X, y)
    matrices, _ = pair_matrices(X, nearest_and_farthest_pairs(X, y, 2))
    from scipy.optimize import nnls

    _, distance = nnls(matrices.reshape(len(matrices), -1).T, model.matrix_.ravel())
    assert distance <= 1e-10 * np.linalg.norm(model.matrix_)


def test_ldml_is_logistic_regression_on_products_of_differences():
    X, y = blobs(60)
    model = lw.LDML(2.0, psd=False, scale=1.0, tol=1e-12).fit(X, y)
    chosen = doublets(X, y)
    V = X[chosen.index[:, 0]] - X[chosen.index[:, 1]]
    rows, columns = np.triu_indices(3)
    features = V[:, rows] * V[:, columns] * np.where(rows == columns, 1, np.sqrt(2))
    regression = LogisticRegression(C=2.0, tol=1e-10, max_iter=10_000)
    regression.fit(features, ~chosen.same)
    ours = np.einsum("li,ij,lj->l", V, model.matrix_, V) + model.intercept_
    np.testing.assert_allclose(ours, regression.decision_function(features), atol=1e-4)


@pytest.mark.parametrize("estimator", [lw.DoubletSVM(), lw.TripletSVM(), lw.NCML()], ids=repr)
def test_the_linear_kernel_learns_what_the_features_learn(estimator):
    X, y = blobs(30, 4)
    plain = estimator.set_params(tol=1e-5, C=0.5).fit(X, y)
    first, second = X[:10], X[10:20]
    expected = plain.pair_distance(first, second)
    kernel = estimator.set_params(kernel="linear").fit(X, y)
    np.testing.assert_allclose(kernel.pair_distance(first, second), expected, rtol=2e-2)
    with pytest.raises(AttributeError, match="no matrix over the features"):
        kernel.mahalanobis_matrix()
    estimator.set_params(kernel=None)


def rbf(A, B):
    return np.exp(-0.3 * ((A[:, None] - B[None]) ** 2).sum(axis=2))


def test_kernel_distances_of_new_points_follow_from_kernel_values():
    """⟨M, X⟩ of a pair is Σ dual_coef (k(i,m) - k(i,n) - k(j,m) + k(j,n))² over support pairs."""
    X, y = blobs(30)
    model = lw.DoubletSVM(1, psd=False, kernel=rbf, C=0.5, scale=1.0, tol=1e-7).fit(X, y)
    new = np.random.default_rng(1).normal(size=(8, 3))
    m, n = new[:4], new[4:]
    expected = np.zeros(4)
    chosen = doublets(X, y, 1, 2).index[model.support_pairs_]
    for (i, j), weight in zip(chosen, model.dual_coef_, strict=True):
        im, i_n, jm, jn = (rbf(X[[a]], b)[0] for a in (i, j) for b in (m, n))
        expected += weight * (im - i_n - jm + jn) ** 2
    Z = model._space.coordinates(new, rbf, {})
    found = np.einsum("li,ij,lj->l", Z[:4] - Z[4:], model.matrix_, Z[:4] - Z[4:])
    np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("cls", [lw.DoubletSVM, lw.TripletSVM, lw.NCML])
def test_all_forms_of_a_kernel_distance_agree(cls):
    X, y = blobs(30)
    model = cls(1, kernel=rbf, C=0.5).fit(X, y)
    by_pairs = model.pair_distance(X[:5], X[5:10])
    by_map = np.linalg.norm(model.transform(X[:5]) - model.transform(X[5:10]), axis=1)
    by_function = [model.get_metric()(a, b) for a, b in zip(X[:5], X[5:10], strict=True)]
    np.testing.assert_allclose(by_map, by_pairs, rtol=1e-9)
    np.testing.assert_allclose(by_function, by_pairs, rtol=1e-9)


def test_a_kernel_model_can_be_saved(tmp_path):
    X, y = blobs(30)
    model = lw.NCML(kernel="rbf", kernel_params={"gamma": 0.2}).fit(X, y)
    model.save(tmp_path / "model.safetensors")
    loaded = lw.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(loaded.transform(X), model.transform(X))


def test_invalid_kernels_raise():
    X, y = blobs()
    with pytest.raises(ValueError, match="kernel='cosine' is not allowed"):
        lw.NCML(kernel="cosine").fit(X, y)
    with pytest.raises(ValueError, match=r"returned an array of shape \(24,\) for 24 and 24 rows"):
        lw.NCML(kernel=lambda A, B: np.ones(len(A))).fit(X, y)
    with pytest.raises(ValueError, match="The kernel is not symmetric"):
        lw.DoubletSVM(kernel=lambda A, B: A[:, :1] + 2 * B[:, 0]).fit(X, y)
    with pytest.raises(ValueError, match="not positive semidefinite"):
        lw.TripletSVM(kernel=lambda A, B: -(A @ B.T)).fit(X, y)
    with pytest.raises(ValueError, match="maps all rows to one point"):
        lw.NCML(kernel=lambda A, B: np.ones((len(A), len(B)))).fit(X, y)


def test_a_warm_start_reaches_the_same_minimum_in_fewer_steps():
    X, y = blobs(900, 4)
    cold = lw.TripletSVM(C=2.0).fit(X, y)
    warm = lw.TripletSVM(C=1.0, warm_start=True).fit(X, y).set_params(C=2.0).fit(X, y)
    assert warm.n_iter_ < cold.n_iter_
    assert warm.objective_ == pytest.approx(cold.objective_, rel=2e-3)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("C", [10.0, 1000.0])
def test_optima_on_the_boundary_of_the_cone_are_found(seed, C):
    """Few positive eigenvalues and a large C block the steps of Mehrotra's method."""
    X, y = blobs(40, 4, seed=seed)
    model = lw.ComposedMetric("doublets", "hinge", "psd", C=C, scale=1.0, tol=1e-5).fit(X, y)
    assert model.converged_


def test_subsets_of_the_pairs_of_ncml(monkeypatch):
    """The certificate of a subset holds for all pairs: both runs bound the same minimum."""
    X, y = blobs(150, 3)
    whole = lw.NCML(2, C=1e-3).fit(X, y)
    monkeypatch.setattr(_conic_interior_point, "MIN_FOR_SUBSETS", 100)
    monkeypatch.setattr(_conic_interior_point, "FIRST_SUBSET", 60)
    parts = lw.NCML(2, C=1e-3).fit(X, y)
    assert parts.converged_
    assert len(parts.history_["gap"]) > 1
    assert parts.history_["dual"].max() <= whole.objective_
    assert whole.history_["dual"].max() <= parts.objective_
