"""Mercer kernels for learners that use only differences of points in feature space.

With ``δ = φ(a) - φ(b)``, terms of ``k(a, x)`` that depend on one argument alone cancel in
``⟨δ, φ(x)⟩ - ⟨δ, φ(z)⟩``. The kernels here omit such terms where they would cost digits.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from likewise._runtime.arrays import FloatArray
from likewise._runtime.text import quote
from likewise._runtime.validation import (
    Rule,
    as_float_array,
    at_least,
    check_parameters,
    non_negative,
    positive,
)

Kernel = Callable[[FloatArray, FloatArray], FloatArray]

_PARAMETERS: dict[str, dict[str, Any]] = {
    "linear": {},
    "rbf": {"gamma": positive()},
    "poly": {"gamma": positive(), "coef0": non_negative(), "degree": at_least(1)},
}
NAMES = tuple(_PARAMETERS)

# Rules for the parameters `kernel` and `kernel_params` of a learner.
KERNEL_RULES: dict[str, Rule] = {
    "kernel": Rule(
        f"None, one of {', '.join(map(repr, NAMES))} or a callable of two arrays",
        lambda v: v is None or (v in NAMES if isinstance(v, str) else callable(v)),
    ),
    "kernel_params": Rule(
        "None or a dict with str keys",
        lambda v: v is None or (isinstance(v, dict) and all(isinstance(k, str) for k in v)),
    ),
}


def check_kernel(kernel: Any, parameters: dict[str, Any]) -> None:
    """Raise an error for a parameter that `kernel` does not have, or a value it does not allow."""
    if callable(kernel):
        return
    rules = _PARAMETERS[kernel]
    for name in parameters:
        if name not in rules:
            known = ", ".join(repr(rule) for rule in rules) or "none"
            raise ValueError(
                f"kernel_params has {quote(name)}, but the parameters of kernel={kernel!r} are: "
                f"{known}."
            )
    given = {name: rule for name, rule in rules.items() if name in parameters}
    check_parameters(f"kernel={kernel!r}", parameters, given)


def kernel_function(kernel: Any, parameters: dict[str, Any], n_features: int) -> Kernel:
    """Return ``k(A, B)``, the kernel matrix of the rows of A and the rows of B.

    Parameters
    ----------
    kernel : "linear", "rbf", "poly" or callable
        A callable takes two arrays and `parameters`, and returns the kernel matrix.
    parameters : dict
        Named as in scikit-learn; ``gamma`` is 1 / n_features by default.
    n_features : int
        The number of columns of A and B.

    Returns
    -------
    callable
        Its result is checked for shape and finite values.

    Examples
    --------
    >>> import numpy as np
    >>> kernel_function("poly", {"degree": 2, "gamma": 1.0}, 1)(np.eye(1), 2 * np.eye(1))
    array([[9.]])
    """
    if callable(kernel):
        return partial(_checked, partial(kernel, **parameters))
    if kernel == "linear":
        return partial(_checked, _linear)
    settings = {"gamma": 1 / n_features, **parameters}
    return partial(_checked, partial(_rbf if kernel == "rbf" else _poly, **settings))


def _checked(kernel: Callable[..., Any], A: FloatArray, B: FloatArray) -> FloatArray:
    with np.errstate(over="ignore", invalid="ignore"):
        values = as_float_array(kernel(A, B), "The kernel's result")
    if values.shape != (len(A), len(B)):
        raise ValueError(
            f"The kernel returned an array of shape {values.shape} for {len(A)} and {len(B)} rows, "
            f"but it must be of shape ({len(A)}, {len(B)})."
        )
    if not np.isfinite(values).all():
        raise ValueError("The kernel returned NaN or infinity, but its values must be finite.")
    return values


def _linear(A: FloatArray, B: FloatArray) -> FloatArray:
    # Far from the origin, products would lose the digits of differences.
    return np.asarray((A - B[0]) @ (B - B[0]).T)


def _rbf(A: FloatArray, B: FloatArray, gamma: float) -> FloatArray:
    # Less 1, which cancels: for close points the digits of exp(…) would all be those of 1.
    return np.asarray(np.expm1(-gamma * cdist(A, B, "sqeuclidean")))


def _poly(
    A: FloatArray, B: FloatArray, gamma: float, coef0: float = 1.0, degree: int = 3
) -> FloatArray:
    return np.asarray((gamma * (A @ B.T) + coef0) ** degree)
