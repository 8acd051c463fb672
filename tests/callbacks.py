"""Tests of scikit-learn's callbacks, which the installed release may not have."""

import pytest

import likewise as lw

CHECK = "check_callbacks_receive_models"
needs_callbacks = pytest.mark.skipif(
    not hasattr(lw.Euclidean, "set_callbacks"), reason="scikit-learn 1.9 brought callbacks"
)


def marked(check_name, *values):
    """Return a case of a parametrised test, skipped if its check needs callbacks in vain."""
    return pytest.param(*values, marks=[needs_callbacks] if check_name == CHECK else [])
