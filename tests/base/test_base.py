"""The base classes, through a learner that iterates and one that resumes."""

import numpy as np
import pytest
import toys
from callbacks import needs_callbacks
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import likewise as lw
from likewise.testing import parametrize_with_contract
from likewise.testing._data import blobs


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_contract([toys.TripletToy(max_iter=20), toys.RunningSpread()])
def test_contract_of_an_iterative_and_of_an_online_learner(estimator, check):
    check(estimator)


class Interrupting(toys.TripletToy):
    """The user presses Ctrl-C at the 8th look at the objective."""

    def objective(self, X, chosen):
        real, looks = super().objective(X, chosen), []

        class Pressed:
            def value_and_gradient(self, L):
                looks.append(L)
                if len(looks) == 8:
                    raise KeyboardInterrupt
                return real.value_and_gradient(L)

        return Pressed()


class Hopeless:
    def value_and_gradient(self, L):
        return np.inf, L


def test_a_fit_reports_how_it_ended():
    model = toys.TripletToy(max_iter=500, tol=1e-3).fit(*blobs())
    assert model.converged_
    assert model.n_iter_ == len(model.history_["objective"]) - 1
    assert model.objective_ == model.history_["objective"][-1] < model.history_["objective"][0]


def test_not_converging_warns_outside_the_library():
    with pytest.warns(
        ConvergenceWarning, match=r"^TripletToy stopped after max_iter=2 iter"
    ) as said:
        model = toys.TripletToy(max_iter=2, tol=1e-12).fit(*blobs())
    assert said[0].filename == __file__  # the line that called fit
    assert not model.converged_
    assert model.n_iter_ == 2


def test_an_interrupt_keeps_the_best_metric_so_far():
    X, y = blobs()
    with pytest.warns(ConvergenceWarning, match=r"was interrupted after \d+ iterations; the best"):
        model = Interrupting(tol=1e-12).fit(X, y)
    assert model.objective_ == min(model.history_["objective"])
    assert model.transform(X).shape == X.shape


def test_a_start_without_a_finite_objective_is_refused():
    X, y = blobs()
    model = toys.TripletToy()
    model.objective = lambda X, chosen: Hopeless()
    with pytest.raises(ValueError, match=r"found no finite objective at its start .* scale them"):
        model.fit(X, y)


def test_verbose_shows_a_bar_on_stderr_and_nothing_on_stdout(capfd):
    toys.TripletToy(max_iter=500, tol=1e-3, verbose=1).fit(*blobs())
    shown = capfd.readouterr()
    assert "TripletToy" in shown.err
    assert "objective" in shown.err
    assert shown.out == ""


def test_silent_by_default(capfd):
    toys.TripletToy(max_iter=500, tol=1e-3).fit(*blobs())
    assert capfd.readouterr() == ("", "")


def test_a_bad_parameter_is_named_before_any_work():
    with pytest.raises(
        ValueError, match=r"^max_iter=0 is not allowed: TripletToy needs an integer"
    ):
        toys.TripletToy(max_iter=0).fit(*blobs())


def test_using_before_fitting():
    for use in (
        lambda model: model.transform([[1.0]]),
        lambda model: model.pair_distance([[1.0]], [[1.0]]),
        lambda model: model.mahalanobis_matrix(),
        lambda model: model.get_metric(),
    ):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            use(lw.Whitening())


def test_pairs_of_different_length_are_refused():
    X, y = blobs()
    with pytest.raises(ValueError, match=r"^A has 3 rows and B has 4, but both sides"):
        lw.RCA().fit(X, y).pair_distance(X[:3], X[:4])


def test_the_plain_metric_serves_scipy():
    from scipy.spatial.distance import cdist

    X, y = blobs()
    model = lw.RCA().fit(X, y)
    expected = model.pair_distance(np.repeat(X[:4], 5, axis=0), np.tile(X[10:15], (4, 1)))
    found = cdist(X[:4], X[10:15], metric=model.get_metric())
    np.testing.assert_allclose(found.ravel(), expected, rtol=1e-10)


@pytest.mark.parametrize(
    "model", [lw.RCA(), lw.LMNN(1, kernel="rbf"), lw.POLA(kernel="rbf")], ids=str
)
def test_the_plain_metric_takes_tables_of_one_row(model):
    X, y = blobs()
    metric = model.fit(X, y).get_metric()
    for first, second in ((X[:1], X[1:2]), (X[0], X[1:2]), (X[:1].tolist(), X[1].tolist())):
        assert metric(first, second) == metric(X[0], X[1]) > 0
    for wrong in (X[:2], X[0, :-1], X[:1, :-1], X[0, 0], X[:1, :, None]):
        with pytest.raises(
            ValueError, match=r"^A vector has shape \(.*\), but \(\d,\) or \(1, \d\)"
        ):
            metric(wrong, X[0])


class Watch:
    """A callback of scikit-learn that writes down what it is told, and may ask to stop."""

    max_propagation_depth = None

    def __init__(self, stop_at=None):
        self.stop_at = stop_at
        self.told = []
        self.models = []

    def setup(self, estimator, context):
        self.told.append("setup")

    def teardown(self, estimator, context):
        self.told.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        self.told.append((estimator.__class__.__name__, context.task_name, context.task_id))
        if context.task_name == "iteration":
            self.models.append(fitted_estimator)
            return context.task_id + 1 == self.stop_at
        return False


@needs_callbacks
def test_callbacks_see_every_iteration_and_a_usable_model():
    X, y = blobs()
    watch = Watch()
    model = toys.TripletToy(max_iter=500, tol=1e-3).set_callbacks(watch).fit(X, y)
    iterations = [told for told in watch.told if told[1] == "iteration"]
    assert watch.told[0] == "setup"
    assert watch.told[-1] == "teardown"
    assert len(iterations) == model.n_iter_
    np.testing.assert_array_equal(watch.models[-1].transform(X), model.transform(X))
    assert not np.array_equal(watch.models[0].transform(X), model.transform(X))


@needs_callbacks
def test_a_callback_can_stop_the_fit():
    with pytest.warns(ConvergenceWarning, match="was interrupted after 3 iterations"):
        model = toys.TripletToy(tol=1e-12).set_callbacks(Watch(stop_at=3)).fit(*blobs())
    assert model.n_iter_ == 3


@needs_callbacks
def test_callbacks_reach_closed_forms_inside_a_pipeline():
    watch = Watch()
    pipeline = make_pipeline(StandardScaler(), lw.FDA(), lw.MetricKNN()).set_callbacks(watch)
    pipeline.fit(*blobs())
    seen = {told[0] for told in watch.told if isinstance(told, tuple)}
    assert {"FDA", "MetricKNN"} <= seen
