"""The common form of all data sets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from likewise._runtime.arrays import Array, FloatingArray


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows, labels and where they come from.

    Attributes
    ----------
    name : str
        The name it was loaded by.
    X : ndarray of shape (n_samples, n_features)
        float32 or float64, raw values: not scaled, not centred.
    y : ndarray of shape (n_samples,) or None
        Labels; integer codes 0, 1, … where `classes` is given. None where the data are judged
        pairs, which are in `extra`.
    X_test, y_test : ndarray or None
        The official test part, where there is one.
    feature_names : tuple of str or None
        One name a column.
    classes : tuple of str or None
        Label names in code order.
    extra : mapping of str to ndarray
        Every other array of the file, as it is stored there.
    source : str
        Where the rows come from, in one sentence.
    """

    name: str
    X: FloatingArray
    y: Array | None
    X_test: FloatingArray | None = None
    y_test: Array | None = None
    feature_names: tuple[str, ...] | None = None
    classes: tuple[str, ...] | None = None
    extra: Mapping[str, Array] = field(default_factory=dict)
    source: str = ""
