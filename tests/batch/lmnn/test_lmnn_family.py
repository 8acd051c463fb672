"""Threads, callbacks, parameters and dimensions of the LMNN family."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline

import likewise as lw
from likewise._runtime import threads


def data(n=60, d=4, seed=0, n_classes=3):
    random = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    return random.normal(size=(n, d)) + random.normal(size=(n_classes, d))[y], y


LEARNERS = {
    "LMNN": lw.LMNN(2),
    "fda": lw.LMNN(2, init="fda"),
    "few rows": lw.LMNN(2, n_components=2, validation_fraction=0.2, random_state=0),
    "kernel": lw.LMNN(2, kernel="rbf", budget=5, validation_fraction=0.3, random_state=0),
    "several": lw.MultiMetricLMNN(2),
    "energy": lw.EnergyClassifier(lw.LMNN(2, n_jobs=1)),
    "neighbours": lw.MetricKNN(2, metric=lw.LMNN(2, n_jobs=1)),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_n_jobs_1_starts_no_threads(name, monkeypatch):
    helper_counts = []
    submit = threads._submit

    def recorded(work, helpers, futures):
        helper_counts.append(helpers)
        return submit(work, helpers, futures)

    monkeypatch.setattr(threads, "_submit", recorded)
    monkeypatch.setattr(threads, "_cores", lambda affinity: 4)
    X, y = data(1200 if name == "kernel" else 3000, 3)
    X, y = np.vstack([X, X + 0.01]), np.concatenate([y, y])  # more than a block to map
    model = LEARNERS[name].set_params(n_jobs=1).fit(X[::2], y[::2])

    def use():
        if hasattr(model, "transform"):
            model.transform(X)
            model.pair_distance(X, X[::-1])
        else:
            model.predict(X)

    use()
    assert not any(helper_counts)
    model.set_params(n_jobs=None)
    use()
    assert any(helper_counts), "the data are too small for threads"


@pytest.mark.parametrize(
    ("model", "changes"),
    [
        (lw.EnergyClassifier(lw.RCA(), n_neighbors=2), {"push": 0.9, "n_neighbors": 1}),
        (
            lw.EnergyClassifier(lw.RCA()),
            {"margin": 5.0, "targets": "learned", "impostors": False},
        ),
        (lw.MultiMetricLMNN(2), {"push": 0.9, "margin": 5.0, "n_neighbors": 1, "clusters": 2}),
    ],
    ids=str,
)
def test_parameters_set_after_fitting_do_not_change_the_model(model, changes):
    X, y = data()
    before = model.fit(X, y).energies(X)
    np.testing.assert_array_equal(model.set_params(**changes).energies(X), before)


class Watch:
    """A scikit-learn callback that records the models that it receives."""

    max_propagation_depth = None

    def __init__(self):
        self.models = []

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        if context.task_name == "iteration":
            self.models.append(fitted_estimator)


@pytest.mark.skipif(
    not hasattr(lw.LMNN, "set_callbacks"), reason="scikit-learn 1.9 brought callbacks"
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "model",
    [
        lw.LMNN(2, tol=1e-3),
        lw.LMNN(2, solver="projected", max_iter=30),
        lw.LMNN(2, kernel="rbf", budget=3, tol=1e-3),
        lw.DoubletSVM(),
        lw.DoubletSVM(kernel="rbf"),
        lw.MultiMetricLMNN(2, tol=1e-3, max_iter=20),
        lw.PLML(n_metrics=2, random_state=0),
    ],
    ids=str,
)
def test_callbacks_receive_the_current_model(model):
    X, y = data(80)
    X = X.astype(np.float32)
    watch = Watch()
    model.set_callbacks(watch).fit(X, y)
    assert watch.models
    for seen in watch.models:
        if hasattr(seen, "transform"):
            assert seen.transform(X).dtype == np.float32
        else:
            assert seen.predict(X).shape == y.shape
    last = watch.models[-1]
    if hasattr(last, "transform"):
        found, expected = (m.pair_distance(X[:40], X[40:]) for m in (last, model))
        np.testing.assert_allclose(found, expected, rtol=0.05, atol=0.05 * expected.max())


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"regularization": 0.3},
        {"n_passes": 2},
        {"n_components": 2},
        {"init": np.diag([1.0, 3.0, 0.2, 2.0])},
        {"solver": "projected"},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scale_does_not_change_the_metric(options):
    X, y = data(90)
    tol = 1e-3

    def learned(scale):
        return lw.LMNN(2, scale=scale, tol=tol, **options).fit(X, y)

    auto = learned("auto")
    for scale in (1.0, 100.0, 1e-3):
        other = learned(scale)
        assert other.scale_ == scale
        # Bits differ, and what follows from them, by no more than `tol` leaves open.
        assert other.objective_ == pytest.approx(auto.objective_, rel=tol)
        assert other.history_["objective"][0] == pytest.approx(auto.history_["objective"][0])
        M = auto.mahalanobis_matrix()
        np.testing.assert_allclose(other.mahalanobis_matrix(), M, atol=0.05 * np.abs(M).max())


def test_the_metric_but_not_the_penalty_is_proportional_to_the_margin():
    X, y = data(90)
    one, three = (lw.LMNN(2, margin=m, tol=1e-4).fit(X, y) for m in (1.0, 3.0))
    assert three.objective_ == pytest.approx(3 * one.objective_, rel=2e-4)
    M = one.mahalanobis_matrix()
    np.testing.assert_allclose(three.mahalanobis_matrix(), 3 * M, atol=0.05 * M.max())
    held, less = (
        lw.LMNN(2, margin=m, regularization=rho, tol=1e-4).fit(X, y)
        for m, rho in ((1, 0.1), (3, 0.3))
    )
    assert less.objective_ == pytest.approx(3 * held.objective_, rel=2e-4)


def test_scale_does_not_change_the_objective_of_triplets():
    X, _ = data()
    triplets = [(0, 1, 2), (0, 1, 5), (3, 4, 7), (0, 6, 2), (9, 8, 0)]
    one, other = (lw.LMNN(scale=s).fit_triplets(X, triplets) for s in (1.0, 50.0))
    assert one.objective_ == pytest.approx(other.objective_, rel=1e-6)


def test_principal_components_of_the_transformed_data():
    """LMNN-S against its formula."""
    X, y = load_wine(return_X_y=True)
    train, test = slice(0, None, 2), slice(1, None, 2)
    reduced = make_pipeline(lw.LMNN(), PCA(2)).fit(X[train], y[train])
    L = reduced[0].components_
    spread = L @ np.cov(X[train].T) @ L.T
    axes = np.linalg.eigh(spread)[1][:, ::-1][:, :2].T @ L
    Z = reduced.transform(X[test])
    found = np.linalg.norm(Z[:-1] - Z[1:], axis=1)
    expected = np.linalg.norm((X[test][:-1] - X[test][1:]) @ axes.T, axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    cut = np.linalg.norm((X[test][:-1] - X[test][1:]) @ L[:2].T, axis=1)
    assert np.abs(cut - expected).max() > 0.01 * expected.max(), "L[:2] is something else"
