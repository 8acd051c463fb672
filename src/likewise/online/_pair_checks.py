"""Checks of the pairs and labels that an online metric learner is given."""

from __future__ import annotations

import numbers
from typing import Any, NoReturn

import numpy as np

from likewise._loops import pair_differences, pair_sqdist
from likewise._loops.pairs.types import MAX_PAIR_SQNORM
from likewise._runtime.arrays import Array, FloatArray, IndexArray
from likewise._runtime.invariants import require, require_array
from likewise._runtime.tensors import Tensor, is_tensor, to_numpy
from likewise._runtime.text import quote
from likewise._runtime.validation import check_finite
from likewise.online._components_cache import ComponentsCache
from likewise.online._history import History
from likewise.online._pair_state import HISTORY_COLUMNS, PairState

_CHUNK_VALUES = 1 << 20  # values of the differences that are in memory at a time (measured)
_DEVICE_CHUNK_VALUES = 1 << 22  # the same on a device, where a chunk is some blocks


def chunk_size(X: Array | Tensor) -> int:
    """Return the number of pairs of rows of X whose differences are in memory at a time."""
    values = _DEVICE_CHUNK_VALUES if is_tensor(X) else _CHUNK_VALUES
    return int(max(256, values // X.shape[1]))


def check_pair_shapes(first: FloatArray, second: FloatArray, n_features: int | None) -> None:
    """Raise an error unless both are vectors of `n_features`, or of one length if that is None."""
    expected = first.size if n_features is None else n_features
    if not first.shape == second.shape == (max(expected, 1),):
        raise ValueError(
            f"a and b have shapes {first.shape} and {second.shape}, but two vectors of "
            f"{'the same length' if n_features is None else f'{n_features} features'} are needed."
        )


def check_label_type(labels: Array, known: Array) -> None:
    """Raise an error if one of the arrays holds text and the other numbers."""
    if (labels.dtype.kind in "US") != (known.dtype.kind in "US"):
        raise ValueError(
            f"y holds {labels.dtype} labels, but earlier ones were {known.dtype}: text and numbers "
            "cannot be compared."
        )


def check_loaded(learner: Any) -> None:
    """Raise an error if what an online metric learner was loaded with does not fit together."""
    attributes = vars(learner)
    if "_state" in attributes:
        require(isinstance(learner._state, PairState))
        require(not learner._linear or learner._state.n_coordinates == learner.n_features_in_)
        require(isinstance(learner._components_cache, ComponentsCache))
        require(0 < learner.scale_ < np.inf and learner._dtype in ("float32", "float64"))
    if "_recent_samples" in attributes:
        n_recent = len(learner._recent_labels)
        require_array(learner._recent_samples, n_recent, learner.n_features_in_)
    history = attributes.get("_history", History())
    require(isinstance(history, History) and history.fits(len(HISTORY_COLUMNS)))


def as_bool(same: Any) -> bool:
    """Return whether a pair is similar, given as a boolean or as 1 or -1."""
    if isinstance(same, bool | np.bool_) or (isinstance(same, numbers.Real) and same in (1, -1)):
        return bool(same == 1)
    raise ValueError(f"same={quote(same)} is not allowed: only True, False, 1 and -1 are.")


def raise_out_of_range(differences: FloatArray, scale: float) -> NoReturn:
    """Raise an error about differences that are not finite, or too large once scaled."""
    raise ValueError(
        f"A pair differs by {np.abs(differences).max():.3g}, but only finite differences up to "
        f"{MAX_PAIR_SQNORM**0.5 / scale:.0e} can be learned from."
    )


def scaled_differences(X: Array | Tensor, index: IndexArray, scale: float) -> FloatArray | Tensor:
    """Return the differences of pairs of rows times `scale`, if all are in range."""
    if is_tensor(X):
        from likewise.online._torch_steps import tensor_differences

        V, max_sqnorm = tensor_differences(X, index, scale)
    else:
        V, max_sqnorm = pair_differences(X, index, scale)
    if not max_sqnorm <= MAX_PAIR_SQNORM:
        check_finite(to_numpy(X), "X")
        raise_out_of_range(to_numpy(V) / scale, scale)
    return V


def squared_lengths(X: Array | Tensor, index: IndexArray) -> FloatArray:
    """Return the squared length of the difference of each pair of rows, with the same bits."""
    if not is_tensor(X):
        return pair_sqdist(X, *np.ascontiguousarray(index.T))
    from likewise.online._torch_steps import tensor_squared_lengths

    return tensor_squared_lengths(X, index)
