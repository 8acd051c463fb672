"""Fits that stop in time, with the best model so far."""

import time
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import likewise as lw
from likewise.base import time_limit
from likewise.datasets import load
from likewise.methods import METHODS

WINE = load("wine")
ITERATIVE = ["LMNN", "NCA", "ITML", "MCML", "MMC", "DMLEig", "PCML", "NCML", "LDML", "TripletSVM"]
ONLINE = ["PAMetric", "POLA", "AROW", "PA"]


@pytest.mark.parametrize("name", [*ITERATIVE, *ONLINE, "DoubletSVM", "PLML", "MultiMetricLMNN"])
def test_a_fit_stops_and_is_usable(name):
    learner = METHODS[name].learner()
    if name == "AROW":
        learner.set_params(max_iter=100)
    with warnings.catch_warnings(record=True) as caught, time_limit(1e-6):
        warnings.simplefilter("always")
        learner.fit(WINE.X, WINE.y)
    stopped = [str(w.message) for w in caught if "stopped by the time limit" in str(w.message)]
    # A fit whose first iteration converges has nothing to say.
    assert stopped or getattr(learner, "n_iter_", 2) <= 1
    if hasattr(learner, "transform"):
        assert np.isfinite(learner.transform(WINE.X)).all()
    else:
        assert len(learner.predict(WINE.X)) == 178


def test_a_long_fit_is_stopped():
    digits = load("digits")
    learner = lw.MultiMetricLMNN(max_iter=100_000, tol=1e-14)
    start = time.monotonic()
    with pytest.warns(ConvergenceWarning, match="stopped by the time limit"), time_limit(0.5):
        learner.fit(digits.X[:600], digits.y[:600])
    assert time.monotonic() - start < 60
    assert not learner.converged_


def test_enough_time_changes_nothing():
    with time_limit(3600):
        limited = lw.LMNN().fit(WINE.X, WINE.y)
    np.testing.assert_array_equal(limited.components_, lw.LMNN().fit(WINE.X, WINE.y).components_)


def test_the_earliest_limit_holds_and_ends_with_its_block():
    with time_limit(1e-6), time_limit(3600), pytest.warns(ConvergenceWarning, match="time limit"):
        lw.LMNN().fit(WINE.X, WINE.y)
    with time_limit(None):
        assert lw.LMNN().fit(WINE.X, WINE.y).converged_


@pytest.mark.parametrize("seconds", [0, -1, "a", float("nan")])
def test_bad_limits(seconds):
    with pytest.raises(ValueError, match="a number above 0 is needed"), time_limit(seconds):
        pass
