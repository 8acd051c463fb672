"""Each check of the contract fails for a learner that breaks its promise, and for no other."""

import pytest
from callbacks import marked
from mutants import HONEST, MUTANTS

from likewise.testing import LEARNER_CHECKS, METRIC_CHECKS, contract_checks
from likewise.testing._assertions import assert_raises_clear_error

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),  # mutants compute with infinity
]
CHECKS = LEARNER_CHECKS + METRIC_CHECKS


def name_of(value):
    return type(value).__name__ if hasattr(value, "fit") else None


def fails(check, estimator):
    try:
        check(estimator)
    except AssertionError:
        return True
    return False


def test_every_check_has_a_mutant():
    assert {check.__name__ for check in CHECKS} == {name for name, _, _ in MUTANTS}


@pytest.mark.parametrize(
    ("name", "mutant", "also"), [marked(case[0], *case) for case in MUTANTS], ids=name_of
)
def test_mutant_fails_its_check_only(name, mutant, also):
    failed = {check.__name__ for check in contract_checks(mutant) if fails(check, mutant)}
    assert failed == {name, *also}


@pytest.mark.parametrize("estimator", HONEST, ids=name_of)
def test_what_mutants_are_made_of_passes(estimator):
    for check in contract_checks(estimator):
        check(estimator)


@pytest.mark.parametrize("check", [marked(check.__name__, check) for check in CHECKS], ids=repr)
def test_every_check_passes_for_some_learner(check):
    assert any(check.applies_to(estimator) for estimator in HONEST)


@pytest.mark.parametrize(
    ("message", "complaint"),
    [
        (None, "no ValueError was raised"),
        ("k is too large.", "missing from the message"),
        ("n_neighbors is\ntoo large.", "more than one line"),
        ("n_neighbors is too large", "full stop"),
    ],
)
def test_assert_raises_clear_error_fails(message, complaint):
    def call():
        if message:
            raise ValueError(message)

    with pytest.raises(AssertionError, match=complaint):
        assert_raises_clear_error(call, "n_neighbors")


def test_assert_raises_clear_error_passes():
    def call():
        raise ValueError("n_neighbors=0 is not allowed.")

    assert_raises_clear_error(call, "n_neighbors")
