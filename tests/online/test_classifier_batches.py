"""Online classifiers: a batch equals its samples one by one, on every code path and scale."""

import numpy as np
import pytest
import scipy.sparse as sp
from classifier_cases import (
    ALL_LEARNERS,
    LEARNERS,
    SECOND_ORDER,
    SKETCHED,
    all_learners,
    assert_same_model,
    made,
    one_by_one,
    state_values,
    stream,
)
from hypothesis import given, settings
from hypothesis import strategies as st

import likewise as lw
from likewise.online import _classifier, _covariance_blocks, _covariance_state

# -- batches --------------------------------------------------------------------------------------


@all_learners
@pytest.mark.parametrize("multiclass", ["two classes", "ovr", "top2"])
def test_batch_equals_one_by_one(name, options, multiclass):
    n_classes = 2 if multiclass == "two classes" else 3
    X, y = stream(n=120, d=9, n_classes=n_classes, seed=2)
    more = {"multiclass": "ovr" if n_classes == 2 else multiclass, "fit_intercept": True}
    classes = {"classes": range(n_classes)}
    expected = one_by_one(made(name, options, **more), X, y, **classes)
    whole = made(name, options, **more).partial_fit(X, y, **classes)
    assert_same_model(whole, expected)
    parts = made(name, options, **more)
    for start, stop in ((0, 1), (1, 50), (50, 51), (51, 120)):
        rows = X[start:stop] if start != 1 else sp.csr_array(X[start:stop])
        parts.partial_fit(rows, y[start:stop], **classes)
    assert_same_model(parts, expected)
    sparse = made(name, options, **more)
    for row, label in zip(sp.csr_matrix(X), y, strict=True):
        sparse.learn_one(row, label, **classes)
    assert_same_model(sparse, expected)


@pytest.mark.parametrize(("name", "options"), SECOND_ORDER, ids=str)
@pytest.mark.parametrize("intercept", [False, True])
def test_blocks_take_the_same_steps(name, options, intercept, monkeypatch):
    X, y = stream(n=900, d=24, seed=3)
    X[100:140] = X[100]  # repeated, so that u falls far inside a block
    expected = made(name, options, fit_intercept=intercept).partial_fit(X, y)
    monkeypatch.setattr(_covariance_state, "_BLOCK_FEATURES", 16)
    taken = []
    blocks = _covariance_state.learn_in_blocks

    def counted(*args):
        scores, updates = blocks(*args)
        taken.append(len(scores))
        return scores, updates

    monkeypatch.setattr(_covariance_state, "learn_in_blocks", counted)
    for ahead, block in ((1024, 64), (50, 7)):
        monkeypatch.setattr(_covariance_blocks, "_MAX_SAMPLES", ahead)
        monkeypatch.setattr(_covariance_blocks, "_BLOCK_UPDATES", block)
        found = made(name, options, fit_intercept=intercept).partial_fit(X, y)
        assert_same_model(found, expected)
    assert max(taken) > 700


def test_blocks_stop_where_they_would_be_imprecise(monkeypatch):
    """Samples of length 1e6 give variances of 1e-12 beside those of 1: too much for a dense Σ."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 20)), rng.integers(0, 2, 300)
    X[:, :10] = 1e6 * rng.normal(size=(300, 5)) @ rng.normal(size=(5, 10))
    expected = lw.PAM("PAM-I", C=1e-3).partial_fit(X, y)
    monkeypatch.setattr(_covariance_state, "_BLOCK_FEATURES", 16)
    found = lw.PAM("PAM-I", C=1e-3).partial_fit(X, y)
    np.linalg.cholesky(found.covariance_)
    assert_same_model(found, expected, 1e-5)


@pytest.mark.parametrize("failed", [False, True])
def test_blocks_that_lose_definiteness_are_discarded(failed, monkeypatch):
    X, y = stream(n=200, d=20)
    expected = lw.AROW().partial_fit(X, y)
    monkeypatch.setattr(_covariance_state, "_BLOCK_FEATURES", 16)
    if failed:
        monkeypatch.setattr(_covariance_blocks, "covariance_factors", lambda sigma: None)
    assert_same_model(lw.AROW().partial_fit(X, y), expected, 0 if failed else 1e-10)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_stream_in_any_batches(data):
    name, options = data.draw(st.sampled_from(ALL_LEARNERS))
    n, d = data.draw(st.integers(1, 25)), data.draw(st.integers(1, 9))
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    n_classes = data.draw(st.sampled_from([2, 3]))
    rows = rng.normal(size=(data.draw(st.integers(1, n)), d))
    X = rows[rng.integers(0, len(rows), n)] * 10.0 ** data.draw(st.integers(-4, 4))
    X *= rng.random((n, 1)) < 0.9
    y = rng.integers(0, n_classes, n)
    more = {
        "multiclass": data.draw(st.sampled_from(["ovr", "top2"])),
        "fit_intercept": data.draw(st.booleans()),
    }
    expected = one_by_one(made(name, options, **more), X, y, classes=range(n_classes))
    assert np.isfinite(state_values(expected)).all()
    cut = data.draw(st.integers(0, n))
    found = made(name, options, **more)
    for part in (slice(0, cut), slice(cut, n)):
        if len(X[part]):
            found.partial_fit(X[part], y[part], classes=range(n_classes))
    assert_same_model(found, expected, 1e-9)


@all_learners
def test_repeated_samples_do_not_depend_on_rounding(name, options):
    """A sample that was just learned has no loss but rounding, which must cause no update."""
    X, y = stream(n=30)
    X, y = np.repeat(X, 3, axis=0), np.repeat(y, 3)
    whole = made(name, options).partial_fit(X, y)
    assert_same_model(one_by_one(made(name, options), X, y), whole)
    if options.get("variant") in ("PA", "PAM"):
        assert whole.n_updates_ <= 30


def test_long_batches_in_chunks(monkeypatch):
    X, y = stream(n=500)
    expected = lw.AROW().partial_fit(X, y)
    monkeypatch.setattr(_classifier, "_CHUNK", 64)
    assert_same_model(lw.AROW().partial_fit(X, y), expected)
    assert_same_model(lw.AROW().partial_fit(sp.csr_matrix(X), y), expected)


def test_duplicate_sparse_entries_are_summed():
    X = sp.csr_matrix(([1.0, 2.0, 5.0], [0, 0, 1], [0, 2, 3]), shape=(2, 2))
    found = lw.PA("PA").partial_fit(X, [1, 0])
    np.testing.assert_allclose(found.coef_, lw.PA("PA").partial_fit([[3, 0], [0, 5]], [1, 0]).coef_)
    assert X.nnz == 3


# -- zeros, scales, precision ---------------------------------------------------------------------


@all_learners
def test_zero_samples_cause_no_update(name, options):
    X, y = stream(n=40)
    for multiclass, classes in (("ovr", (0, 1)), ("ovr", (0, 1, 2)), ("top2", (0, 1, 2))):
        model = made(name, options, multiclass=multiclass)
        model.partial_fit(X, y, classes=classes)
        before = state_values(model)
        for label in classes:
            model.learn_one(np.zeros(6), label)
            model.partial_fit(np.zeros((3, 6)), [label] * 3)
            model.partial_fit(sp.csr_matrix((2, 6)), [label] * 2)
        after = state_values(model)
        assert (after[:-3] == before[:-3]).all()
        assert after[-3] == before[-3] + 6 * len(classes)
        assert after[-2] == before[-2]


@pytest.mark.parametrize(("name", "options"), [*LEARNERS, *SKETCHED], ids=str)
@pytest.mark.parametrize("multiclass", ["ovr", "top2"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_intercept_is_the_weight_of_a_constant_feature(name, options, multiclass, n_classes):
    """Zero samples move it too, the first one included."""
    X, y = stream(n_classes=n_classes)
    X[::3] = 0
    classes = range(n_classes)
    rows = np.column_stack([X, np.ones(len(X))])
    expected = made(name, options, multiclass=multiclass).partial_fit(rows, y, classes=classes)
    models = [made(name, options, multiclass=multiclass, fit_intercept=True) for _ in range(3)]
    models[0].partial_fit(X, y, classes=classes)
    models[1].partial_fit(sp.csr_matrix(X), y, classes=classes)
    one_by_one(models[2], X, y, classes=classes)
    for model in models:
        assert_same_model(model, expected)
    first = made(name, options, multiclass=multiclass, fit_intercept=True)
    first.learn_one(np.zeros(6), 1, classes=classes)
    assert first.intercept_[0 if n_classes == 2 else 1] > 0


def test_a_zero_sample_moves_the_intercept_of_uneven_margins_by_the_squared_radius():
    model = lw.PAUM(fit_intercept=True)
    model.learn_one([0.0, 0.0], 1)
    assert model.n_updates_ == 0  # no radius is known yet
    model.partial_fit([[3.0, 4.0], [0.0, 0.0]], [1, 0])
    assert model.intercept_[0] == 25.0 - 25.0
    assert model.n_updates_ == 2


@all_learners
@pytest.mark.parametrize("scale", [1e-40, 1e-8, 1e8, 1e40])
def test_any_scale_stays_finite(name, options, scale):
    X, y = stream()
    model = made(name, options).partial_fit(X * scale, y)
    assert np.isfinite(state_values(model)).all()
    if options.get("covariance") == "full":
        assert (model._state.covariance.diagonal > 0).all()


@all_learners
def test_single_precision(name, options):
    X, y = stream()
    model = made(name, options).partial_fit(X.astype(np.float32), y)
    assert model.decision_function(X.astype(np.float32)).dtype == np.float32
    exact = made(name, options).partial_fit(X.astype(np.float32).astype(np.float64), y)
    assert_same_model(model, exact, 0)
