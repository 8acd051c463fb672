"""The common form of all data sets."""

from __future__ import annotations

from dataclasses import dataclass

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
    y : ndarray of shape (n_samples,)
        Labels; integer codes 0, 1, … where `classes` is given.
    X_test, y_test : ndarray or None
        The official test part, where there is one.
    feature_names : tuple of str or None
        One name a column.
    classes : tuple of str or None
        Label names in code order.
    source : str
        Where the rows come from, in one sentence.
    """

    name: str
    X: FloatingArray
    y: Array
    X_test: FloatingArray | None = None
    y_test: Array | None = None
    feature_names: tuple[str, ...] | None = None
    classes: tuple[str, ...] | None = None
    source: str = ""
