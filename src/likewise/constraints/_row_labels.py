"""Labels from which pairs and triplets are made."""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise._runtime.arrays import Array, IndexArray
from likewise._runtime.validation import encode_labels


def encode_row_labels(y: Any) -> tuple[Array, IndexArray]:
    """Return the different labels, and the place of each row's label among them."""
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"y has shape {labels.shape}, but one label a row is needed.")
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise ValueError("y contains NaN, but every row needs a label.")
    return encode_labels(labels)
