"""Every estimator keeps the whole contract: a new one adds a line to CASES."""

import os

import pytest
from sklearn.base import clone

import likewise as lw
from likewise.testing import contract_checks, parametrize_with_contract

CASES = [
    lw.Euclidean(),
    lw.Whitening(),
    lw.RCA(),
    lw.FDA(),
    lw.LMNN(2, max_iter=20, tol=0.1),
    lw.LMNN(1, n_components=2, n_passes=2, max_iter=10, tol=0.1),
    lw.Whitening(2, shrinkage="auto"),
    lw.RCA(2, shrinkage="auto"),
    lw.FDA(1, shrinkage="auto"),
    lw.ITML(random_state=0),
    lw.MCML(tol=1e-6),
    lw.MMC(random_state=0, tol=1e-7),
    lw.MMC(diagonal=True, random_state=0, tol=1e-7),
    lw.DMLEig(random_state=0, tol=1e-7),
    lw.NCA(regularization=0.01, tol=1e-12),
    lw.NCA(2, solver="adam", max_iter=20, tol=0.01, regularization=0.01, random_state=0),
    lw.DoubletSVM(),
    lw.TripletSVM(),
    lw.TripletSVM(psd=False),
    lw.PCML(),
    lw.NCML(),
    lw.LDML(),
    lw.ComposedMetric(loss="squared_hinge"),
    lw.ComposedMetric("pairs", "logistic", "conic"),
    lw.PAMetric(random_state=0),
    lw.PAMetric("PALS", C=0.1, psd="each", random_state=0),
    lw.POLA(max_iter=5, random_state=0),
    lw.Perceptron(random_state=0),
    lw.PAUM(random_state=0),
    lw.PA(random_state=0),
    lw.PA("PA-II", C=0.1, multiclass="top2", fit_intercept=True, random_state=0),
    lw.PAM(random_state=0),
    lw.PAM("PAM", covariance=2, multiclass="top2", random_state=0),
    lw.CW(random_state=0),
    lw.CW(covariance="diagonal", random_state=0),
    lw.AROW(fit_intercept=True, random_state=0),
    lw.AROW(multiclass="top2", random_state=0),
    lw.SecondOrderPerceptron(random_state=0),
    lw.PLML(n_metrics=2, max_iter=20, tol=1e-3, random_state=0),
    lw.MetricKNN(),
    lw.MetricKNN(n_neighbors=5, metric=lw.RCA()),
    lw.EnergyClassifier(lw.RCA(), n_neighbors=1),
    lw.MultiMetricLMNN(1, max_iter=20, tol=0.1),
]

_ANCHORS = "a weight is that of an anchor: a row of weight 0 is still others' target and impostor"
EXPECTED_FAILURES = {
    learner: {"check_sample_weight_equivalence_on_dense_data": _ANCHORS}
    for learner in (lw.LMNN, lw.MultiMetricLMNN)
}


def parametrize_with_our_checks(estimators):
    return pytest.mark.parametrize(
        ("estimator", "check"),
        [
            pytest.param(clone(case), check, id=f"{' '.join(repr(case).split())}-{check.__name__}")
            for case in estimators
            for check in contract_checks(case)
        ],
    )


# `make twins` runs all this again without compiled code, to see that results are right without it.
# scikit-learn's own checks are about parameters and tables, which no compiled loop ever sees.
TWINS = os.environ.get("LIKEWISE_LOOPS") == "numpy"
contract = (
    parametrize_with_our_checks(CASES)
    if TWINS
    else parametrize_with_contract(CASES, EXPECTED_FAILURES)
)


@contract
def test_contract(estimator, check):
    check(estimator)


def test_no_estimator_is_forgotten():
    public = {value for value in vars(lw).values() if isinstance(value, type)}
    assert public <= {type(case) for case in CASES}
