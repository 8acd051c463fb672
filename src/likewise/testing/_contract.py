"""One list of checks for an estimator: scikit-learn's, and ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from sklearn.base import clone
from sklearn.utils.estimator_checks import estimator_checks_generator

from likewise.testing._learner_checks import LEARNER_CHECKS
from likewise.testing._metric_checks import METRIC_CHECKS

Check = Callable[[Any], None]


def contract_checks(estimator: Any) -> list[Check]:
    """Return our checks that apply to `estimator`; each takes an unfitted one and raises.

    Examples
    --------
    >>> import likewise as lw
    >>> for check in contract_checks(lw.Whitening()):
    ...     check(lw.Whitening())
    """
    checks = list(LEARNER_CHECKS)
    if hasattr(estimator, "pair_distance"):
        checks += METRIC_CHECKS
    return checks


def parametrize_with_contract(
    estimators: Sequence[Any], expected_failures: Mapping[type, Mapping[str, str]] | None = None
) -> Any:
    """Mark a pytest function ``test(estimator, check)`` to run the whole contract.

    Parameters
    ----------
    estimators : sequence of estimators
        Unfitted; one line a case.
    expected_failures : mapping of class to {check name: reason}, optional
        Checks of scikit-learn or ours that a class does not pass, each with its reason.

    Returns
    -------
    pytest mark
        Every check of every estimator is a test of its own.
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
    """Name a case by its estimator or check, the way scikit-learn names its own."""
    while hasattr(value, "func"):  # scikit-learn hands out partials
        value = value.func
    return getattr(value, "__name__", None) or " ".join(repr(value).split())
