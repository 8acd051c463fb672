"""Every public estimator keeps the whole contract, at its defaults and in some variants."""

import ast
import inspect
import os
import textwrap

import pytest
from callbacks import marked
from sklearn.base import BaseEstimator, clone

import likewise as lw
from likewise.testing import (
    LEARNER_CHECKS,
    METRIC_CHECKS,
    contract_checks,
    parametrize_with_contract,
)
from likewise.testing._check import any_estimator, dataframes_installed

PUBLIC = [getattr(lw, name) for name in lw.__all__]
DEFAULTS = [
    value() for value in PUBLIC if isinstance(value, type) and issubclass(value, BaseEstimator)
]
VARIANTS = [
    lw.LMNN(2, max_iter=20, tol=0.1),
    lw.LMNN(1, n_components=2, n_passes=2, max_iter=10, tol=0.1),
    lw.Whitening(2, shrinkage="auto"),
    lw.RCA(2, shrinkage="auto"),
    lw.FDA(1, shrinkage="auto"),
    lw.MCML(tol=1e-6),
    lw.MMC(tol=1e-7),
    lw.MMC(diagonal=True, tol=1e-7),
    lw.DMLEig(tol=1e-7),
    lw.NCA(regularization=0.01, tol=1e-12),
    lw.NCA(2, solver="adam", max_iter=20, tol=0.01, regularization=0.01),
    lw.TripletSVM(psd=False),
    lw.ComposedMetric(loss="squared_hinge"),
    lw.ComposedMetric("pairs", "logistic", "conic"),
    lw.PAMetric("PALS", C=0.1, psd="each"),
    lw.POLA(max_iter=5),
    lw.PA("PA-II", C=0.1, multiclass="top2", fit_intercept=True),
    lw.PAM("PAM", covariance=2, multiclass="top2"),
    lw.CW(covariance="diagonal"),
    lw.AROW(fit_intercept=True),
    lw.AROW(multiclass="top2"),
    lw.PLML(n_metrics=2, max_iter=20, tol=1e-3),
    lw.MetricKNN(n_neighbors=5, metric=lw.RCA()),
    lw.EnergyClassifier(lw.RCA(), n_neighbors=1),
    lw.PairClassifier(lw.RCA(), "accuracy", refit=True),
    lw.PairClassifier("fda", prevalence=0.2, validation_fraction=0.3, max_pairs=100),
    lw.MultiMetricLMNN(1, max_iter=20, tol=0.1),
]
CASES = DEFAULTS + VARIANTS

# `make twins` runs this again without compiled code. scikit-learn's own checks are about parameters
# and input validation, which no loop sees.
TWINS = os.environ.get("LIKEWISE_LOOPS") == "numpy"


def contract(estimators):
    if not TWINS:
        return parametrize_with_contract(estimators)
    return pytest.mark.parametrize(
        ("estimator", "check"),
        [(clone(case), check) for case in estimators for check in contract_checks(case)],
        ids=lambda value: " ".join(repr(value).split()),
    )


@contract(DEFAULTS)
def test_contract_of_defaults(estimator, check):
    check(estimator)


@contract(VARIANTS)
def test_contract_of_variants(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "check",
    [marked(check.__name__, check) for check in LEARNER_CHECKS + METRIC_CHECKS],
    ids=repr,
)
def test_a_check_is_selected_rather_than_returning_early(check):
    source = textwrap.dedent(inspect.getsource(check.function))
    assert not [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Return)]
    selected = {check.applies_to(case) for case in CASES}
    unconditional = check.applies_to in (any_estimator, dataframes_installed)
    assert selected == ({True} if unconditional else {True, False})


def test_only_checks_that_apply_are_returned():
    for case in CASES:
        chosen = [check for check in LEARNER_CHECKS + METRIC_CHECKS if check.applies_to(case)]
        assert contract_checks(case) == chosen
    names = {check.__name__ for check in contract_checks(lw.Whitening())}
    assert "check_metric_axioms" in names
    assert not names & {"check_one_class_raises", "check_callbacks_receive_models"}
