"""scikit-learn's base classes with types, which scikit-learn does not have.

At run time these are scikit-learn's own classes. A type checker sees the declarations instead, and
so knows what every estimator inherits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Self

    from likewise._runtime.arrays import Array

    class BaseEstimator:
        """What every estimator has."""

        n_features_in_: int
        feature_names_in_: Array

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...
        def get_metadata_routing(self) -> Any: ...
        def set_fit_request(self, **requests: bool | str | None) -> Self: ...
        def set_partial_fit_request(self, **requests: bool | str | None) -> Self: ...
        def set_predict_request(self, **requests: bool | str | None) -> Self: ...
        def set_score_request(self, **requests: bool | str | None) -> Self: ...
        def set_transform_request(self, **requests: bool | str | None) -> Self: ...
        def __sklearn_tags__(self) -> Any: ...
        def __sklearn_clone__(self) -> Self: ...
        def __getstate__(self) -> Any: ...
        def __setstate__(self, state: Any) -> None: ...
        @property
        def _repr_html_(self) -> Callable[[], str]: ...
        def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]: ...

    class CallbackSupportMixin:
        """What an estimator with callbacks has."""

        def set_callbacks(self, *callbacks: Any) -> Self: ...

    class ClassifierMixin:
        """What every classifier has."""

        classes_: Array

        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float: ...
        def __sklearn_tags__(self) -> Any: ...

    class TransformerMixin:
        """What every transformer has."""

        def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any: ...
        def set_output(self, *, transform: str | None = None) -> Self: ...
        def __sklearn_tags__(self) -> Any: ...

    class ClassNamePrefixFeaturesOutMixin:
        """Names of outputs: that of the class, and a number."""

        def get_feature_names_out(self, input_features: Any = None) -> Array: ...

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        """Call the callbacks of an estimator around its fit."""

else:
    from sklearn.base import (
        BaseEstimator,
        ClassifierMixin,
        ClassNamePrefixFeaturesOutMixin,
        TransformerMixin,
    )

    try:  # scikit-learn 1.9 brought callbacks; older releases work without them.
        from sklearn.callback import CallbackSupportMixin, with_callbacks
    except ImportError:

        class CallbackSupportMixin:
            """Stands in where scikit-learn has no callbacks."""

        def with_callbacks(method):
            """Leave `method` as it is."""
            return method


__all__ = [
    "BaseEstimator",
    "CallbackSupportMixin",
    "ClassNamePrefixFeaturesOutMixin",
    "ClassifierMixin",
    "TransformerMixin",
    "with_callbacks",
]
