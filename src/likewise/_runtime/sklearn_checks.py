"""scikit-learn's checks of arguments, imported when they are called.

The import takes a second, for which the tasks of a cluster would wait on every worker.
"""

from typing import Any


def validate_data(*args: Any, **options: Any) -> Any:
    """Do what `sklearn.utils.validation.validate_data` does."""
    from sklearn.utils import validation

    return validation.validate_data(*args, **options)


def check_X_y(*args: Any, **options: Any) -> Any:  # noqa: N802 - scikit-learn's name
    """Do what `sklearn.utils.check_X_y` does."""
    from sklearn.utils import validation

    return validation.check_X_y(*args, **options)


def check_is_fitted(estimator: Any) -> None:
    """Do what `sklearn.utils.validation.check_is_fitted` does."""
    from sklearn.utils import validation

    validation.check_is_fitted(estimator)


def check_classification_targets(y: Any) -> None:
    """Do what `sklearn.utils.multiclass.check_classification_targets` does."""
    from sklearn.utils import multiclass

    multiclass.check_classification_targets(y)


def output_container(estimator: Any) -> str:
    """Return what `set_output`, or scikit-learn's configuration, makes `transform` return.

    That is "default", "pandas" or "polars".
    """
    from sklearn.utils import _set_output

    return str(_set_output._get_output_config("transform", estimator)["dense"])
