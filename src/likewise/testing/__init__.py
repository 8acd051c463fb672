"""The contract of an estimator, as checks that also run on estimators of other packages.

Examples
--------
In a test file of a package that adds a metric learner::

    from likewise.testing import parametrize_with_contract

    @parametrize_with_contract([MyMetric(), MyMetric(power=2)])
    def test_contract(estimator, check):
        check(estimator)
"""

from likewise.testing._contract import LEARNER_CHECKS, contract_checks, parametrize_with_contract
from likewise.testing._metric_checks import METRIC_CHECKS

__all__ = ["LEARNER_CHECKS", "METRIC_CHECKS", "contract_checks", "parametrize_with_contract"]
