"""Edge cases of the SVM-style learners: interrupts, overflow, warm starts, memory limits."""

import numpy as np
import pytest
from margin_oracles import blobs
from sklearn.exceptions import ConvergenceWarning

import likewise as lw
from likewise.objectives import ConstraintMatrices
from likewise.solvers.margin import _coordinate_ascent, _interior_point, _normal_equations
from likewise.solvers.margin._run import MarginRun

METHODS = {
    "DoubletSVM": lw.DoubletSVM(),
    "TripletSVM": lw.TripletSVM(),
    "PCML": lw.PCML(),
    "NCML": lw.NCML(),
    "LDML": lw.LDML(),
    "ComposedMetric": lw.ComposedMetric("triplets", "squared_hinge", "psd"),
}
each = pytest.mark.parametrize("name", METHODS)


def method(name, **options):
    return type(METHODS[name])(**METHODS[name].get_params() | options)


def interrupt_at(monkeypatch, number):
    seen, record = [], MarginRun.record

    def interrupted(self, *args):
        seen.append(args)
        if len(seen) == number:
            raise KeyboardInterrupt
        return record(self, *args)

    monkeypatch.setattr(MarginRun, "record", interrupted)


@pytest.mark.parametrize("name", [name for name in METHODS if name != "LDML"])
@pytest.mark.parametrize("n_samples", [40, 400])
def test_an_interrupt_keeps_the_best_metric(name, n_samples, monkeypatch):
    interrupt_at(monkeypatch, 3)
    with pytest.warns(ConvergenceWarning, match="was interrupted after 1 iteration"):
        model = method(name, tol=1e-9).fit(*blobs(n_samples))
    assert not model.converged_
    assert 1e-9 < model.duality_gap_ < np.inf
    assert np.isfinite(model.components_).all()


def test_an_interrupt_of_the_first_steps_of_ldml_keeps_the_best_metric(monkeypatch):
    seen, inner = [], ConstraintMatrices.inner

    def interrupted(self, M):
        seen.append(1)
        if len(seen) == 6:
            raise KeyboardInterrupt
        return inner(self, M)

    monkeypatch.setattr(ConstraintMatrices, "inner", interrupted)
    with pytest.warns(ConvergenceWarning, match="was interrupted after 1 iteration"):
        model = method("LDML", tol=1e-9).fit(*blobs(400))
    assert not model.converged_
    assert 1e-9 < model.duality_gap_ < np.inf
    assert np.isfinite(model.components_).all()


@each
def test_an_interrupt_before_the_first_step_is_raised(name, monkeypatch):
    interrupt_at(monkeypatch, 1)
    with pytest.raises(KeyboardInterrupt):
        method(name).fit(*blobs())


@each
def test_overflow_raises(name):
    X, y = blobs()
    with pytest.raises(ValueError, match="can be learned from"), np.errstate(all="ignore"):
        method(name, scale=1.0).fit(X * 1e80, y)


def test_a_matrix_beyond_the_range_of_its_dtype_raises():
    X, y = blobs()
    with pytest.raises(ValueError, match="entries beyond the range of float32"):
        lw.PCML().fit((X * 1e-20).astype(np.float32), y)


@pytest.mark.parametrize("name", ["DoubletSVM", "LDML"])
def test_the_threshold_is_that_of_the_projected_matrix(name):
    """With psd=False, too: distances are those of the projected matrix."""
    X, y = blobs(40, seed=3)
    raw, model = (method(name, psd=psd).fit(X, y) for psd in (False, True))
    assert np.linalg.eigvalsh(raw.matrix_)[0] < 0
    np.testing.assert_array_equal(raw.components_, model.components_)
    assert raw.threshold_ == model.threshold_
    assert raw.intercept_ != model.intercept_


def test_a_fit_to_triplets_removes_the_threshold():
    model = lw.ComposedMetric("doublets").fit(*blobs())
    model.set_params(constraints="triplets").fit(*blobs())
    assert not hasattr(model, "threshold_")
    assert not hasattr(model, "intercept_")


@pytest.mark.parametrize("option", ["psd", "warm_start"])
def test_flags_must_be_boolean(option):
    with pytest.raises(ValueError, match=f"{option}='no' is not allowed"):
        lw.DoubletSVM(**{option: "no"}).fit(*blobs())


@pytest.mark.parametrize("n_samples", [40, 400])
def test_not_all_pairs_are_support_pairs(n_samples):
    model = lw.NCML(C=0.01).fit(*blobs(n_samples))
    assert len(model.support_pairs_) < 2 * n_samples
    assert np.abs(model.dual_coef_).max() <= 0.01
    assert abs(model.dual_coef_.sum()) <= 1e-12 * np.abs(model.dual_coef_).sum()


@each
@pytest.mark.parametrize("n_samples", [40, 400])
def test_a_warm_start_ends_at_the_same_minimum(name, n_samples):
    X, y = blobs(n_samples)
    warm = method(name, C=0.05, warm_start=True).fit(X, y).set_params(C=0.1).fit(X, y)
    cold = method(name, C=0.1).fit(X, y)
    assert warm.converged_
    assert warm.objective_ == pytest.approx(cold.objective_, rel=2e-3)


@each
@pytest.mark.parametrize("n_samples", [300, 400])
def test_a_warm_start_from_other_data_finds_the_minimum(name, n_samples):
    """Other data of another size, or of the same size with other signs."""
    model = method(name, C=0.1, warm_start=True).fit(*blobs(400))
    X, y = blobs(n_samples, seed=1)
    again, cold = model.fit(X, y[::-1]), method(name, C=0.1).fit(X, y[::-1])
    assert again.converged_
    assert again.objective_ == pytest.approx(cold.objective_, rel=2e-3)


@pytest.mark.parametrize("name", ["DoubletSVM", "PCML", "NCML", "LDML"])
def test_no_system_is_larger_than_the_limit(name, monkeypatch):
    """Coordinate ascent is the fallback; LDML has none and raises."""
    X, y = blobs(1500, 4)
    X = np.column_stack([X, X[::-1] ** 2])
    expected = method(name, C=1e-6).fit(X, y)
    for module in (_normal_equations, _interior_point):
        monkeypatch.setattr(module, "MAX_GRAM_SIZE", 20)
    monkeypatch.setattr(_interior_point, "_MAX_KEPT_COORDINATES", 0)
    # No budget for coordinate ascent: Newton steps are tried first.
    monkeypatch.setattr(_coordinate_ascent, "_BUDGET_SHARE", 0.0)
    if name == "LDML":
        with pytest.raises(MemoryError, match=r"6000 × 6000 inner products, but 20 × 20"):
            method(name).fit(X, y)
    else:
        found = method(name, C=1e-6).fit(X, y)
        assert found.objective_ == pytest.approx(expected.objective_, rel=2e-3)
