"""Labels of a stream: which classes they stand for, and their places among these."""

from __future__ import annotations

import numpy as np

from likewise._runtime.arrays import Array, IndexArray
from likewise._runtime.validation import codes_of, shown

# Two labels that need no `classes`, the negative one first.
_UNDERSTOOD = ((-1, 1), (0, 1), (False, True))


def understood_classes(labels: Array) -> tuple[Array, bool]:
    """Return the two classes of labels that need no list of them.

    The second value tells whether 1, which goes with 0 and with -1, was all there was.
    """
    found = codes_of(labels)[0].tolist()
    for pair in _UNDERSTOOD:
        alike = all(isinstance(label, bool) == isinstance(pair[0], bool) for label in found)
        if alike and set(found) <= set(pair):
            return np.array(pair), found == [1] and not isinstance(pair[0], bool)
    raise ValueError(
        f"y holds {listed(np.asarray(found))}, but only labels -1 and 1, 0 and 1, or False "
        "and True are understood without classes: pass classes= with the first call."
    )


def codes_among(labels: Array, classes: Array) -> IndexArray:
    """Return the place of each label among the sorted classes."""
    if {labels.dtype.kind, classes.dtype.kind} & set("USO"):
        code_of = {label: code for code, label in enumerate(classes.tolist())}
        places = np.array([code_of.get(label, -1) for label in labels.tolist()], dtype=np.int64)
        known = places >= 0
    elif len(classes) == 2:
        positive = np.asarray(labels == classes[1])
        places, known = positive.astype(np.int64), positive | np.asarray(labels == classes[0])
    else:
        places = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
        known = np.asarray(classes[places] == labels)
    if not known.all():
        raise ValueError(
            f"y holds the label {shown(labels[~known][0])}, but the classes are {listed(classes)}."
        )
    return places


def listed(labels: Array) -> str:
    words = [shown(label) for label in labels.tolist()]
    if len(words) > 8:
        words = [*words[:7], "…"]
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def check_labels(labels: Array, n_rows: int) -> None:
    if labels.shape != (n_rows,):
        raise ValueError(f"X has {n_rows} rows but y has shape {labels.shape}; they must match.")
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise ValueError("y contains NaN, but every row needs a label.")
