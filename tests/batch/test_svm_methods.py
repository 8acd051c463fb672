"""DoubletSVM, TripletSVM and PCML against LIBSVM, CVXPY and the formulas in plain loops."""

import numpy as np
import pytest
from margin_oracles import blobs, pair_matrices, primal_value, solve_generic, triplet_matrices
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

import likewise as lw
from likewise.constraints import doublets, nearest_and_farthest_pairs, triplets

CASES = {
    "DoubletSVM": (lw.DoubletSVM(psd=False), doublets, "symmetric"),
    "TripletSVM": (lw.TripletSVM(2, 2, psd=False), triplets, "symmetric"),
    "PCML": (lw.PCML(2), lambda X, y: nearest_and_farthest_pairs(X, y, 2), "psd"),
}


@pytest.fixture(params=CASES)
def case(request):
    estimator, build, cone = CASES[request.param]
    X, y = blobs()
    chosen = build(X, y)
    is_pairs = hasattr(chosen, "same")
    matrices, h = (pair_matrices if is_pairs else triplet_matrices)(X, chosen)
    return estimator, (X, y), matrices, h, cone, is_pairs


@pytest.mark.parametrize("C", [1e-3, 0.1, 10.0])
def test_the_minimum_is_that_of_a_generic_solver(case, C):
    estimator, data, matrices, h, cone, is_pairs = case
    model = estimator.set_params(C=C, scale=1.0, tol=1e-6).fit(*data)
    expected, M, _ = solve_generic(matrices, h, C, "hinge", cone, is_pairs)
    b = model.intercept_ if is_pairs else 0.0
    assert model.objective_ == pytest.approx(expected, rel=1e-5)
    assert primal_value(model.matrix_, b, matrices, h, C, "hinge") == pytest.approx(
        expected, rel=1e-5
    )
    np.testing.assert_allclose(model.matrix_, M, atol=3e-3 * np.abs(M).max())


def test_the_multipliers_make_the_matrix(case):
    estimator, data, matrices, h, cone, is_pairs = case
    model = estimator.set_params(C=0.1, scale=1.0, tol=1e-5).fit(*data)
    assert model.support_pairs_.shape == model.dual_coef_.shape
    assert len(model.support_pairs_) < len(h)
    assert (model.dual_coef_ * h[model.support_pairs_] > 0).all()
    assert np.abs(model.dual_coef_).max() <= 0.1
    if is_pairs:
        assert abs(model.dual_coef_.sum()) < 1e-10
    A = np.einsum("l,lij->ij", model.dual_coef_, matrices[model.support_pairs_])
    if cone == "psd":
        values, vectors = np.linalg.eigh(A)
        A = (vectors * np.maximum(values, 0)) @ vectors.T
    np.testing.assert_allclose(model.matrix_, A, atol=1e-9)


def test_weak_duality_holds_at_every_step_and_the_gap_is_reached(case):
    estimator, data, *_ = case
    model = estimator.set_params(C=1.0, scale="auto", tol=1e-4).fit(*data)
    primal, dual, gap = (model.history_[name] for name in ("primal", "dual", "gap"))
    assert len(primal) == len(dual) == len(gap) >= model.n_iter_
    assert (dual.max() <= primal.min() + 1e-9 * primal.min()).all()
    np.testing.assert_allclose(gap, (primal - dual) / primal)
    assert model.converged_
    assert 0 <= model.duality_gap_ <= 1e-4


@pytest.mark.parametrize("C", [0.05, 2.0])
def test_doublet_svm_is_the_svm_of_libsvm(C):
    X, y = blobs(40)
    model = lw.DoubletSVM(2, 1, C, psd=False, scale=1.0, tol=1e-8).fit(X, y)
    chosen = doublets(X, y, 2, 1)
    V = X[chosen.index[:, 0]] - X[chosen.index[:, 1]]
    h = np.where(chosen.same, -1, 1)
    svc = SVC(kernel="poly", degree=2, gamma=1, coef0=0, C=C, tol=1e-8).fit(V, h)
    M = np.einsum("l,li,lj->ij", svc.dual_coef_[0], V[svc.support_], V[svc.support_])
    np.testing.assert_allclose(model.matrix_, M, atol=1e-4 * np.abs(M).max())
    assert model.intercept_ == pytest.approx(svc.intercept_[0], abs=1e-4)
    ours = np.einsum("li,ij,lj->l", V, model.matrix_, V) + model.intercept_
    np.testing.assert_allclose(ours, svc.decision_function(V), atol=1e-4 * np.abs(ours).max())


def test_the_matrix_is_projected_and_the_intercept_fitted_again():
    X, y = blobs(40, seed=3)
    raw = lw.DoubletSVM(C=1.0, psd=False, scale=1.0, tol=1e-6).fit(X, y)
    model = lw.DoubletSVM(C=1.0, scale=1.0, tol=1e-6).fit(X, y)
    values, vectors = np.linalg.eigh(raw.matrix_)
    assert values[0] < 0
    positive = (vectors * np.maximum(values, 0)) @ vectors.T
    for found in (model.matrix_, model.mahalanobis_matrix(), raw.mahalanobis_matrix()):
        np.testing.assert_allclose(found, positive, atol=1e-12 * values[-1])
    matrices, h = pair_matrices(X, doublets(X, y))
    costs = [
        primal_value(model.matrix_, b, matrices, h, 1.0, "hinge")
        for b in np.linspace(-10, 10, 2001)
    ]
    found = primal_value(model.matrix_, model.intercept_, matrices, h, 1.0, "hinge")
    assert found <= min(costs) + 1e-12
    assert model.threshold_ == np.sqrt(max(0, -model.intercept_))


def test_auto_scale_makes_the_median_same_distance_one():
    X, y = blobs(40)
    chosen = doublets(X, y)
    V = (X[chosen.index[:, 0]] - X[chosen.index[:, 1]])[chosen.same]
    factor = 1 / np.sqrt(np.median((V**2).sum(axis=1)))
    auto, explicit = lw.DoubletSVM().fit(X, y), lw.DoubletSVM(scale=factor).fit(X, y)
    np.testing.assert_allclose(auto.components_, explicit.components_, rtol=1e-6)
    scaled = lw.DoubletSVM(scale=1.0).fit(X * factor, y)
    np.testing.assert_allclose(auto.transform(X), scaled.transform(X * factor), rtol=1e-6)


def test_constraints_from_labels_are_those_of_the_builders():
    X, y = blobs(40)
    pairs, three = doublets(X, y), triplets(X, y, 1, 1)
    same = [
        (lw.DoubletSVM().fit(X, y), lw.DoubletSVM().fit_pairs(X, *pairs)),
        (lw.TripletSVM().fit(X, y), lw.TripletSVM().fit_triplets(X, three.index)),
        (lw.PCML().fit(X, y), lw.PCML().fit_pairs(X, *nearest_and_farthest_pairs(X, y))),
    ]
    for a, b in same:
        np.testing.assert_array_equal(a.components_, b.components_)


def test_subsets_of_many_constraints_lead_to_the_same_minimum():
    """With more than 2048 constraints the solver begins with a subset."""
    X, y = blobs(900, 4)
    for model in (lw.DoubletSVM(tol=1e-5), lw.TripletSVM(tol=1e-5), lw.PCML(2, tol=1e-5)):
        whole = model.fit(X, y)
        assert whole.duality_gap_ <= 1e-5
        gaps = whole.history_["gap"]
        assert gaps[-1] <= 1e-5 < gaps[0]


def test_pairs_of_one_kind_raise():
    X, _ = blobs(6)
    pairs = [[0, 1], [2, 3]]
    for model in (lw.DoubletSVM(), lw.PCML()):
        with pytest.raises(ValueError, match=r"same is True for every pair, but .* both similar"):
            model.fit_pairs(X, pairs, [True, True])
        with pytest.raises(ValueError, match=r"same is False for every pair, but .* both similar"):
            model.fit_pairs(X, pairs, [False, False])


def test_contradictory_pairs_warn():
    X, _ = blobs(6)
    with pytest.warns(UserWarning, match="1 pair of rows is marked both"):
        lw.PCML().fit_pairs(X, [[0, 1], [1, 0], [2, 3]], [True, False, False])


@pytest.mark.parametrize("C", [0, -1.0, np.inf, np.nan, "1"])
def test_c_must_be_positive(C):
    for model in (lw.DoubletSVM(C=C), lw.TripletSVM(C=C), lw.PCML(C=C)):
        with pytest.raises(
            ValueError, match=r"C=.* is not allowed: .* needs a finite number above"
        ):
            model.fit(*blobs())


def test_too_many_neighbours_raise():
    X, y = blobs(10)
    with pytest.raises(ValueError, match="n_same=10 is not allowed: X has 10 rows"):
        lw.DoubletSVM(10).fit(X, y)
    with pytest.raises(ValueError, match="n_different=6 is not allowed: a row has at most 5 rows"):
        lw.TripletSVM(1, 6).fit(X, y)


def test_a_gap_above_tol_warns():
    with pytest.warns(ConvergenceWarning, match="stopped after max_iter=2 iterations"):
        model = lw.PCML(max_iter=2, tol=1e-9).fit(*blobs())
    assert not model.converged_
    assert model.duality_gap_ > 1e-9


def test_identical_samples_give_a_zero_metric():
    model = lw.PCML().fit(np.ones((8, 2)), [0, 1] * 4)
    assert not model.components_.any()
    assert np.isfinite(model.threshold_)
