"""POLA against brute force, its bounds, explicit features and its contract."""

import likewise as lw
from likewise.testing import parametrize_with_contract

KERNEL_MODELS_DIFFER = {
    "check_forms_agree": "a kernel model has no matrix over the features",
    "check_components_shape": "the components of a kernel model are over its basis",
    "check_scale_changes_no_ratio": "the width of an rbf kernel fixes a scale",
}


@parametrize_with_contract(
    [lw.POLA(kernel="rbf", max_iter=3, n_pairs=60, random_state=0)],
    {lw.POLA: KERNEL_MODELS_DIFFER},
)
def test_contract_with_a_kernel(estimator, check):
    check(estimator)
