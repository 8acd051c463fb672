"""Input checks, classes, model files and streams of the online classifiers."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import brier_score_loss
from sklearn.preprocessing import StandardScaler

import likewise as lw
from likewise._runtime import memory
from likewise.online import _classifier

CLASSIFIERS = [
    lw.Perceptron(),
    lw.PAUM(),
    lw.PA(),
    lw.PAM(),
    lw.PAM(covariance="diagonal"),
    lw.PAM(covariance=2),
    lw.CW(),
    lw.AROW(),
    lw.SecondOrderPerceptron(),
]
all_classifiers = pytest.mark.parametrize("model", CLASSIFIERS, ids=repr)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 80)
    return rng.normal(size=(80, 4)) + y[:, None], y


def fresh(model):
    return type(model)(**model.get_params())


def bits(model):
    return pickle.dumps([model._state, model.classes_, model.n_features_in_])


# -- labels ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", [(-1, 1), (0, 1), (False, True), (-1.0, 1.0), (0.0, 1.0)])
@pytest.mark.parametrize("first", [0, 1])
def test_binary_labels_need_no_classes(labels, first, data):
    X, y = data
    model = lw.PA()
    model.learn_one(X[0], labels[first])
    for x, code in zip(X, y, strict=True):
        model.learn_one(x, labels[code])
    assert model.classes_.tolist() == list(labels)
    assert set(model.predict(X).tolist()) == set(labels)
    same = lw.PA().partial_fit(np.vstack([X[:1], X]), np.append(first, y), classes=[0, 1])
    np.testing.assert_allclose(model.coef_, same.coef_, rtol=1e-12)


def test_label_1_alone_leaves_the_other_label_open(data):
    X, _ = data
    for other in (0, -1):
        model = lw.PA().partial_fit(X[:3], [1, 1, 1])
        model.learn_one(X[3], 1)
        saved = pickle.loads(pickle.dumps(model))
        for continued in (model, saved):
            continued.learn_one(X[4], other)
            assert continued.classes_.tolist() == [other, 1]
            with pytest.raises(ValueError, match=f"label {-1 - other}"):
                continued.learn_one(X[5], -1 - other)


def test_other_labels_need_classes(data):
    X, y = data
    words = np.array(["no", "yes"])[y]
    for learn in (lw.PA().partial_fit, lambda X, y: lw.PA().learn_one(X[0], y[0])):
        with pytest.raises(ValueError, match=r"'(no|yes)'.*pass classes="):
            learn(X, words)
    with pytest.raises(ValueError, match=r"0 and 1 and 2|0, 1 and 2"):
        lw.PA().partial_fit(X[:3], [0, 1, 2])
    model = lw.PA().partial_fit(X, words, classes=["yes", "no"])
    model.learn_one(X[0], "yes")
    model.learn_one(X[0], "yes", classes=["no", "yes"])
    assert model.classes_.tolist() == ["no", "yes"]
    assert set(model.predict(X)) == {"no", "yes"}
    live = lw.AROW()
    live.learn_one(X[0], 7, classes=[5, 7, 9])
    assert live.coef_.shape == (3, 4)


@all_classifiers
def test_unknown_labels_raise_clear_errors(model, data):
    X, y = data
    model = fresh(model).partial_fit(X, y)
    before = bits(model)
    for label, word in ((7, "7"), ("yes", "'yes'"), (0.5, r"0\.5")):
        with pytest.raises(ValueError, match=f"the label {word}, but the classes are 0 and 1"):
            model.learn_one(X[0], label)
        with pytest.raises(ValueError, match=f"the label {word}, but the classes are 0 and 1"):
            model.partial_fit(
                X[:2], [1, 0] if label is None else np.array([1, label], dtype=object)
            )
    with pytest.raises(ValueError, match="classes=0 and 2 differ"):
        model.partial_fit(X, y, classes=[0, 2])
    with pytest.raises(ValueError, match="classes=0 and 2 differ"):
        model.learn_one(X[0], 0, classes=[0, 2])
    with pytest.raises(ValueError, match="one class"):
        fresh(model).partial_fit(X, y, classes=[1])
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(X[:1], [np.nan])
    with pytest.raises(ValueError, match="X has 80 rows but y has shape"):
        model.partial_fit(X, y[:3])
    assert bits(model) == before


# -- samples ---------------------------------------------------------------------------------------


@all_classifiers
def test_invalid_samples_leave_the_model_unchanged(model, data):
    X, y = data
    model = fresh(model).partial_fit(X, y)
    before = bits(model)
    for bad, words in ((np.nan, "NaN"), (np.inf, "infinity"), (1e60, r"1e\+60.*1e\+50")):
        invalid = X.copy()
        invalid[70, 1] = bad
        for rows in (invalid, sp.csr_matrix(invalid)):
            with pytest.raises(ValueError, match=words):
                model.partial_fit(rows, y)
            with pytest.raises(ValueError, match=words):
                fresh(model).fit(rows, y)
        with pytest.raises(ValueError, match=words):
            model.learn_one(invalid[70], 1)
        with pytest.raises(ValueError, match=words):
            fresh(model).learn_one(invalid[70], 1)
    for rows in (X[:, :3], np.zeros((80, 5)), sp.csr_matrix((80, 3))):
        with pytest.raises(ValueError, match="features"):
            model.partial_fit(rows, y)
    for x in (X[0, :3], X[:1], 3.0, np.zeros(5), []):
        with pytest.raises(ValueError, match=r"shape .* a vector of 4 features is needed"):
            model.learn_one(x, 1)
        with pytest.raises(ValueError, match="shape"):
            model.learn_one(x, "unknown")
    with pytest.raises(ValueError, match="at least one feature"):
        fresh(model).learn_one([], 1)
    with pytest.raises(ValueError, match="x must be numbers"):
        model.learn_one(["a", "b", "c", "d"], 1)
    assert bits(model) == before


def test_interrupted_batch_leaves_the_model_unchanged(data, monkeypatch):
    X, y = data
    model = lw.PA().partial_fit(X, y)
    before = bits(model)
    monkeypatch.setattr(_classifier, "_CHUNK", 10)
    learn, calls = _classifier.learn_samples, []

    def interrupted(*args):
        calls.append(args)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return learn(*args)

    monkeypatch.setattr(_classifier, "learn_samples", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X, y)
    assert bits(model) == before
    calls.clear()
    with pytest.warns(ConvergenceWarning, match="interrupted after 0 of 5 passes"):
        fitted = lw.PA(random_state=0).fit(X, y)
    assert fitted.n_events_ == 30


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: lw.PA(C=0), "C=0 is not allowed: PA needs a finite number above 0"),
        (lambda: lw.PA(C=-1.0), "C=-1.0 is not allowed"),
        (lambda: lw.PA("PA-III"), "variant='PA-III' is not allowed"),
        (lambda: lw.PAM("PA-I"), "variant='PA-I' is not allowed"),
        (lambda: lw.PAM(C=np.nan), "C=nan is not allowed"),
        (lambda: lw.CW(eta=0.5), "eta=0.5 is not allowed: CW needs a number above 0.5 and below 1"),
        (lambda: lw.CW(eta=1.0), "eta=1.0 is not allowed"),
        (lambda: lw.CW(eta=0.2), "eta=0.2 is not allowed"),
        (lambda: lw.AROW(r=0.0), "r=0.0 is not allowed"),
        (lambda: lw.AROW(covariance="block"), "covariance='block' is not allowed"),
        (lambda: lw.AROW(covariance=0), "covariance=0 is not allowed"),
        (lambda: lw.AROW(initial_variance=0), "initial_variance=0 is not allowed"),
        (lambda: lw.SecondOrderPerceptron(a=-2), "a=-2 is not allowed"),
        (lambda: lw.PAUM(positive_margin=-1), "positive_margin=-1 is not allowed"),
        (lambda: lw.PAUM(R=0), "R=0 is not allowed"),
        (lambda: lw.Perceptron(multiclass="all"), "multiclass='all' is not allowed"),
        (lambda: lw.Perceptron(max_iter=0), "max_iter=0 is not allowed"),
        (lambda: lw.Perceptron(fit_intercept="yes"), "fit_intercept='yes' is not allowed"),
    ],
)
def test_invalid_parameters_raise_clear_errors(make, message, data):
    X, y = data
    for learn in (
        lambda model: model.fit(X, y),
        lambda model: model.partial_fit(X, y),
        lambda model: model.learn_one(X[0], 1),
    ):
        with pytest.raises(ValueError, match=message):
            learn(make())


def test_insufficient_memory_raises_a_clear_error(data, monkeypatch):
    _, y = data
    monkeypatch.setattr(memory, "free_memory", lambda: 10**6)
    monkeypatch.setattr("likewise._runtime.memory.UNCHECKED_BYTES", 0)
    wide = sp.csr_matrix((80, 5000))
    with pytest.raises(MemoryError, match=r"PAM, for .*covariance='full'.* needs about .*diagonal"):
        lw.PAM(covariance="full").partial_fit(wide, y)
    lw.PAM().partial_fit(wide, y)
    with pytest.raises(AttributeError, match="is not fitted yet"):
        lw.PAM().coef_  # noqa: B018


# -- the default covariance, probabilities --------------------------------------------------------


@pytest.mark.parametrize("name", ["AROW", "PAM", "CW", "SecondOrderPerceptron"])
@pytest.mark.parametrize(("n_features", "chosen"), [(500, "full"), (501, "diagonal")])
def test_auto_keeps_the_diagonal_above_500_features(name, n_features, chosen, tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, n_features)), rng.integers(0, 2, 30)
    expected = getattr(lw, name)(covariance=chosen).partial_fit(X, y)
    fitted = getattr(lw, name)(max_iter=1, shuffle=False).fit(X, y)
    assert clone(fitted).get_params()["covariance"] == "auto"
    batches = getattr(lw, name)().partial_fit(sp.csr_matrix(X[:10]), y[:10])
    batches.save(tmp_path / "model.safetensors")
    batches = lw.load(tmp_path / "model.safetensors").partial_fit(X[10:], y[10:])
    for model in (fitted, batches):
        assert model.covariance_.shape == expected.covariance_.shape
        np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-10, atol=1e-14)


@all_classifiers
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_calibrated_probabilities(model, method):
    X, y = load_wine(return_X_y=True)
    X, y = StandardScaler().fit_transform(X), np.array(["a", "b", "c"])[y]
    train, test = np.arange(len(X)) % 3 > 0, np.arange(len(X)) % 3 == 0
    calibrated = CalibratedClassifierCV(clone(model), method=method, cv=3).fit(X[train], y[train])
    probabilities = calibrated.predict_proba(X[test])
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert (calibrated.predict(X[test]) == y[test]).mean() > 0.9
    assert brier_score_loss(y[test] == "a", probabilities[:, 0]) < 0.05


# -- fit, files, streams ---------------------------------------------------------------------------


@all_classifiers
def test_fit_is_passes_in_random_order(model, data):
    X, y = data
    model = fresh(model).set_params(max_iter=3, random_state=4).fit(X, y)
    random = np.random.RandomState(4)
    expected = fresh(model)
    for _ in range(3):
        order = random.permutation(80)
        expected.partial_fit(X[order], y[order])
    assert bits(model) == bits(expected)
    assert (model.n_iter_, model.n_events_) == (3, 240)
    in_order = fresh(model).set_params(shuffle=False, max_iter=1).fit(sp.csr_matrix(X), y)
    np.testing.assert_allclose(in_order.coef_, fresh(model).partial_fit(X, y).coef_, rtol=1e-9)


@all_classifiers
def test_save_load_continue_gives_the_same_bits(model, data, tmp_path):
    X, y = data
    straight, stopped = fresh(model).partial_fit(X, y), fresh(model).partial_fit(X, y)
    stopped.save(tmp_path / "model.safetensors")
    resumed = lw.load(tmp_path / "model.safetensors")
    for continued in (straight, resumed):
        continued.partial_fit(X[:30], y[:30])
        for i in range(30, 40):
            continued.learn_one(X[i], y[i])
    assert bits(straight) == bits(resumed)
    assert resumed.mistakes_ > stopped.mistakes_ - 1


def test_stream_of_batches(data):
    X, y = data
    batches = ((X[i : i + 7], y[i : i + 7]) for i in range(0, 80, 7))
    np.testing.assert_allclose(
        lw.PAM().fit_stream(batches).coef_, lw.PAM().partial_fit(X, y).coef_, rtol=1e-10
    )


@pytest.mark.parametrize("multiclass", ["ovr", "top2"])
@pytest.mark.parametrize(
    "model", [*CLASSIFIERS, lw.CW(covariance="diagonal"), lw.AROW(covariance=16)], ids=repr
)
def test_learns_digits(model, multiclass):
    X, y = load_digits(return_X_y=True)
    model = fresh(model).set_params(multiclass=multiclass, random_state=0)
    assert model.fit(X[:1000] / 16, y[:1000]).score(X[1000:] / 16, y[1000:]) > 0.8


def test_second_order_beats_first_order_on_stretched_data():
    """The paper's case: features of very different variance, and a boundary along the largest."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 10)) * np.logspace(-1, 1, 10)
    X = X @ np.linalg.qr(rng.normal(size=(10, 10)))[0]
    y = np.linalg.solve(np.cov(X.T), X.T).T @ rng.normal(size=10) > 0
    errors = {
        type(model).__name__: model.partial_fit(X, y).cumulative_error_
        for model in (lw.Perceptron(), lw.PA(), lw.PAM(), lw.AROW(), lw.CW())
    }
    best_first = min(errors.pop("Perceptron"), errors.pop("PA"))
    assert max(errors.values()) < best_first / 2


def test_attributes_before_the_first_event_raise_clear_errors():
    for name in ("coef_", "mistakes_", "cumulative_error_", "covariance_"):
        with pytest.raises(AttributeError, match="is not fitted yet"):
            getattr(lw.CW(), name)


def test_wide_sparse_samples_stay_sparse():
    """A million features in a hundred rows would be 800 MB."""
    rng = np.random.default_rng(0)
    features = np.sort(rng.choice(10**6, 1000, replace=False).astype(np.int32).reshape(100, 10))
    X = sp.csr_matrix(
        (rng.normal(size=1000), features.ravel(), np.arange(0, 1001, 10)), shape=(100, 10**6)
    )
    y = rng.integers(0, 2, 100)
    for model in (
        lw.PA(),
        lw.CW(covariance="diagonal"),
        lw.SecondOrderPerceptron(covariance="diagonal"),
    ):
        model = fresh(model).partial_fit(X, y)
        assert (model.decision_function(X) != 0).mean() > 0.3
        assert model.learn_one(X[0], 1) >= 0


def test_parameters_may_change_during_a_stream(data):
    X, y = data
    model, expected = lw.PA(C=1.0), lw.PA(C=1.0)
    for i, (x, label) in enumerate(zip(X, y, strict=True)):
        if i == 40:
            model.set_params(C=0.01, variant="PA-II")
            expected.set_params(C=0.01, variant="PA-II")
        model.learn_one(x, label)
        expected.partial_fit(x[None], [label])
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-12)
    three = lw.PA().partial_fit(X[:1], [0], classes=range(3))
    for way in ("top2", "ovr"):
        same = pickle.loads(pickle.dumps(three)).set_params(multiclass=way)
        three.set_params(multiclass=way).learn_one(X[2], 2)
        same.partial_fit(X[2:3], [2])
        np.testing.assert_allclose(three.coef_, same.coef_, rtol=1e-12)


def test_scores_beyond_single_precision_are_finite_and_right():
    random = np.random.default_rng(0)
    X = random.normal(size=(20, 40)).astype(np.float32)
    X[3, :2] = 1e30, -1e30
    y = np.arange(20) % 2
    model = lw.Perceptron(random_state=0).fit(X, y)
    single, double = model.decision_function(X), model.decision_function(X.astype(np.float64))
    assert single.dtype == np.float32
    assert np.isfinite(single).all()
    limit = float(np.finfo(np.float32).max)
    np.testing.assert_allclose(single, np.clip(double, -limit, limit), rtol=1e-3)
