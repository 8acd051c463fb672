"""Checks leave the estimator they are given alone, and share models that they only read."""

import pickle

import numpy as np
import pytest
import toys

import likewise as lw
from likewise.testing import _data, contract_checks
from likewise.testing._check import check
from likewise.testing._data import blobs, fitted

X, Y = blobs()


def test_a_check_gets_a_seeded_clone():
    given = []
    check()(given.append)(lw.MetricKNN(metric=lw.ITML()))
    check()(given.append)(lw.ITML(random_state=7))
    assert given[0].metric.random_state == 0
    assert given[1].random_state == 7


@pytest.mark.parametrize("estimator", [lw.ITML(), lw.MetricKNN(), toys.RunningSpread()], ids=repr)
def test_checks_leave_the_estimator_unchanged(estimator):
    before = pickle.dumps(vars(estimator))
    for one in contract_checks(estimator):
        one(estimator)
    assert pickle.dumps(vars(estimator)) == before


def test_equal_parameters_and_data_are_fitted_once():
    model = fitted(lw.RCA(), X, Y)
    assert fitted(lw.RCA(), X.copy(), Y) is model
    others = [
        fitted(lw.RCA(3), X, Y),
        fitted(lw.FDA(), X, Y),
        fitted(lw.RCA(), X + 1e-15, Y),
        fitted(lw.RCA(), X.astype(np.float32), Y),
        fitted(lw.RCA(), X, Y[::-1]),
        fitted(lw.MetricKNN(metric=lw.RCA()), X, Y),
        fitted(lw.MetricKNN(metric=lw.RCA(3)), X, Y),
    ]
    assert len({id(other) for other in [model, *others]}) == 8


def test_all_digits_of_a_parameter_count():
    start = np.eye(40)
    nearly = start + np.spacing(1.0) * (np.arange(1600) == 800).reshape(40, 40)
    assert _data._contents(lw.LMNN(init=start)) == _data._contents(lw.LMNN(init=start.copy()))
    assert _data._contents(lw.LMNN(init=start)) != _data._contents(lw.LMNN(init=nearly))


def test_few_models_are_kept():
    for seed in range(30):
        fitted(lw.Euclidean(), *blobs(seed=seed))
    assert len(_data._models) == _data._CACHED_MODELS


@pytest.mark.parametrize("estimator", [lw.RCA(), lw.PAMetric(), lw.MetricKNN(), lw.PA()], ids=repr)
def test_shared_models_are_only_read(estimator):
    _data._models.clear()
    seen = {}
    for one in contract_checks(estimator):
        one(estimator)
        for key, model in _data._models.items():
            seen.setdefault(key, pickle.dumps(model))
            assert pickle.dumps(model) == seen[key], one
    assert seen
