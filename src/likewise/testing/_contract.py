"""The contract of an estimator: the checks of scikit-learn and of this library that apply."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sklearn.base import clone
from sklearn.utils.estimator_checks import estimator_checks_generator

from likewise.testing._check import Check
from likewise.testing._fit_checks import FIT_CHECKS
from likewise.testing._input_checks import INPUT_CHECKS
from likewise.testing._metric_checks import METRIC_CHECKS

LEARNER_CHECKS: tuple[Check, ...] = FIT_CHECKS + INPUT_CHECKS


def contract_checks(estimator: Any) -> list[Check]:
    """Return the checks of this library that apply to `estimator`.

    Parameters
    ----------
    estimator : estimator
        Unfitted.

    Returns
    -------
    list of callables
        Each takes an unfitted estimator and raises where it breaks a promise.

    Examples
    --------
    >>> import likewise as lw
    >>> for check in contract_checks(lw.Whitening()):
    ...     check(lw.Whitening())
    """
    return [check for check in LEARNER_CHECKS + METRIC_CHECKS if check.applies_to(estimator)]


def parametrize_with_contract(
    estimators: Sequence[Any], expected_failures: Mapping[type, Mapping[str, str]] | None = None
) -> Any:
    """Parametrize a pytest function ``test(estimator, check)`` with the whole contract.

    Parameters
    ----------
    estimators : sequence of estimators
        Unfitted.
    expected_failures : mapping of class to {check name: reason}, optional
        Checks that a class does not pass, each with its reason.

    Returns
    -------
    pytest mark
        One test per estimator and check that applies to it.
    """
    import pytest

    return pytest.mark.parametrize(
        ("estimator", "check"),
        [
            case
            for estimator in estimators
            for case in _cases(estimator, dict((expected_failures or {}).get(type(estimator), {})))
        ],
        ids=_name,
    )


def _cases(estimator: Any, expected: dict[str, str]) -> Iterator[Any]:
    import pytest

    yield from estimator_checks_generator(estimator, expected_failed_checks=expected, mark="xfail")
    for check in contract_checks(estimator):
        name = check.__name__
        marks = [pytest.mark.xfail(reason=expected[name])] if name in expected else []
        yield pytest.param(clone(estimator), check, marks=marks)


def _name(value: Any) -> str:
    """Return the name of an estimator or check, as scikit-learn names its own."""
    while hasattr(value, "func"):  # scikit-learn's checks are partials
        value = value.func
    return getattr(value, "__name__", None) or " ".join(repr(value).split())
