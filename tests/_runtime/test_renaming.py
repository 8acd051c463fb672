"""Old names: a warning until a release, an error from it on, and files that load for ever."""

import inspect
import warnings

import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV

import likewise as lw
from likewise._runtime import renaming
from likewise._runtime.renaming import current_names, renamed, renamed_function

X, Y = load_iris(return_X_y=True)


@renamed("k", "n_neighbors", until="9.0")
@renamed("eps", "tol", until="9.1")
def search(n_neighbors=3, *, tol=0.1):
    """Return both."""
    return n_neighbors, tol


class Renamed(lw.MetricKNN):
    """A learner of which a parameter was renamed."""

    @renamed("k", "n_neighbors", until="9.0")
    def __init__(self, n_neighbors=3, metric=None, *, n_jobs=None):
        super().__init__(n_neighbors, metric=metric, n_jobs=n_jobs)


class Before(lw.MetricKNN):
    """The same learner with the old name."""

    def __init__(self, k=3, metric=None, *, n_jobs=None):
        super().__init__(k, metric=metric, n_jobs=n_jobs)
        self.k = k


def test_an_old_name_warns_once_and_where_the_user_calls():
    with pytest.warns(FutureWarning) as caught:
        assert search(k=5) == (5, 0.1)
    assert [str(one.message) for one in caught] == [
        "search: the argument k is now called n_neighbors, and its old name will be removed in "
        "likewise 9.0."
    ]
    assert caught[0].filename == __file__


def test_two_renamed_arguments():
    with pytest.warns(FutureWarning) as caught:
        assert search(eps=0.5, k=5) == (5, 0.5)
    assert len(caught) == 2
    with pytest.warns(FutureWarning, match="eps is now called tol"):
        assert search(4, eps=0.5) == (4, 0.5)


def test_new_names_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert search(5, tol=0.2) == search(n_neighbors=5, tol=0.2) == (5, 0.2)
    assert list(inspect.signature(search).parameters) == ["n_neighbors", "tol"]
    assert search.__doc__ == "Return both."


@pytest.mark.parametrize("call", [lambda: search(5, k=5), lambda: search(k=5, n_neighbors=5)])
def test_both_names_are_an_error(call):
    with pytest.raises(TypeError, match="search got both n_neighbors and k, its old name: give"):
        call()


@pytest.mark.parametrize("release", ["9.0.0", "9.0.dev1", "9.1", "10.0"])
def test_from_the_release_on_an_old_name_is_an_error(release, monkeypatch):
    monkeypatch.setattr(renaming, "_installed_release", lambda: release)
    with pytest.raises(TypeError, match=r"k was removed in likewise 9\.0: use n_neighbors"):
        search(k=5)
    with pytest.raises(TypeError, match=r"old_search was removed in likewise 9\.0: use search"):
        renamed_function(search, "old_search", until="9.0")()
    assert search(5) == (5, 0.1)


def test_before_the_release_an_old_name_warns(monkeypatch):
    monkeypatch.setattr(renaming, "_installed_release", lambda: "8.12.3")
    with pytest.warns(FutureWarning):
        search(k=5)


def test_a_renamed_parameter_of_an_estimator():
    with pytest.warns(FutureWarning, match="^Renamed: the argument k is now called n_neighbors"):
        model = Renamed(k=5)
    assert clone(model).get_params() == model.get_params()
    assert model.get_params()["n_neighbors"] == 5
    assert "k" not in model.get_params()
    with pytest.warns(FutureWarning, match="the argument k is now called n_neighbors"):
        assert model.set_params(k=7) is model
    assert model.n_neighbors == 7
    with pytest.raises(TypeError, match="got both n_neighbors and k"):
        model.set_params(k=7, n_neighbors=8)
    with pytest.raises(ValueError, match="Invalid parameter 'kk'"):
        model.set_params(kk=7)


def test_a_grid_search_over_an_old_name():
    with pytest.warns(FutureWarning):
        found = GridSearchCV(Renamed(), {"k": [1, 7]}, cv=3).fit(X, Y)
    same = GridSearchCV(Renamed(), {"n_neighbors": [1, 7]}, cv=3).fit(X, Y)
    assert (
        found.cv_results_["mean_test_score"].tolist()
        == same.cv_results_["mean_test_score"].tolist()
    )


@pytest.mark.parametrize("release", ["8.0", "9.0"])
def test_a_file_with_an_old_name_loads_for_ever(release, monkeypatch, tmp_path):
    path = tmp_path / "model.safetensors"
    before = Before(5).fit(X, Y)
    del before.__dict__["n_neighbors"]
    before.save(path)
    monkeypatch.setattr(renaming, "_installed_release", lambda: release)
    monkeypatch.setitem(lw._files._CLASSES, f"{__name__}.Before", Renamed)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = lw.load(path)
    assert type(model) is Renamed
    assert model.n_neighbors == 5
    assert (model.predict(X) == Renamed(5).fit(X, Y).predict(X)).all()


def test_current_names():
    assert current_names(search, {"k": 1, "tol": 2}, announced=False) == {
        "n_neighbors": 1,
        "tol": 2,
    }
    assert current_names(len, {"k": 1}) == {"k": 1}


def test_a_renamed_function():
    def double(x, *, times=2):
        """Multiply."""
        return x * times

    twice = renamed_function(double, "twice", until="9.0")
    with pytest.warns(FutureWarning) as caught:
        assert twice(4, times=3) == 12
    assert [str(one.message) for one in caught] == [
        "twice is now called double, and its old name will be removed in likewise 9.0."
    ]
    assert caught[0].filename == __file__
    assert twice.__name__ == "twice"
    assert twice.__doc__ == "Old name of `double`, to be removed in likewise 9.0."
    assert inspect.signature(twice) == inspect.signature(double)


def test_bad_declarations():
    with pytest.raises(ValueError, match="until='soon' is not allowed: a release such as"):
        renamed("k", "n_neighbors", until="soon")
    with pytest.raises(ValueError, match="must have the argument m and no argument k, but it has"):
        renamed("k", "m", until="9.0")(search)
    with pytest.raises(ValueError, match="argument tol and no argument n_neighbors"):
        renamed("n_neighbors", "tol", until="9.0")(search)
