"""Labels of a stream: which classes they belong to, and their numbers among these."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from likewise._runtime.arrays import Array, IndexArray
from likewise._runtime.text import quote
from likewise._runtime.validation import encode_labels

# Pairs of labels that need no `classes`, the negative one first.
_BINARY_LABELS = ((-1, 1), (0, 1), (False, True))


def resolve_classes(
    labels: Array, classes: ArrayLike | None, known: Array | None, ambiguous: bool
) -> tuple[Array, bool]:
    """Return the classes that the labels belong to, and whether these are ambiguous.

    Classes are ambiguous as long as 1 is the only label seen: the other may be 0 or -1.

    Parameters
    ----------
    labels : array of shape (n_samples,)
        New labels.
    classes : array-like or None
        All classes, if the user has given them.
    known : array or None
        The classes of earlier calls.
    ambiguous : bool
        Whether `known` is ambiguous.
    """
    if classes is not None:
        given, _ = encode_labels(classes)
        if len(given) < 2:
            raise ValueError(f"classes={quote(classes)} has one class, but at least 2 are needed.")
        if known is not None and not np.array_equal(given, known):
            raise ValueError(
                f"classes={listed(given)} differ from the classes of the first call, "
                f"{listed(known)}."
            )
        return given, False
    if known is not None and not (ambiguous and 0 in labels):
        return known, ambiguous and not bool((labels == -1).any())
    return _binary_classes(labels)


def _binary_classes(labels: Array) -> tuple[Array, bool]:
    """Return the classes of two well-known labels, and whether they are ambiguous."""
    found = encode_labels(labels)[0].tolist()
    for pair in _BINARY_LABELS:
        same_type = all(isinstance(label, bool) == isinstance(pair[0], bool) for label in found)
        if same_type and set(found) <= set(pair):
            return np.array(pair), found == [1] and not isinstance(pair[0], bool)
    raise ValueError(
        f"y holds {listed(np.asarray(found))}, but without classes only the labels -1 and 1, 0 and "
        "1, or False and True are allowed: pass classes= with the first call."
    )


def label_codes(labels: Array, classes: Array) -> IndexArray:
    """Return the number of each label among the sorted classes."""
    if {labels.dtype.kind, classes.dtype.kind} & set("USO"):
        code_of = {label: code for code, label in enumerate(classes.tolist())}
        codes = np.array([code_of.get(label, -1) for label in labels.tolist()], dtype=np.int64)
        known = codes >= 0
    elif len(classes) == 2:
        positive = np.asarray(labels == classes[1])
        codes, known = positive.astype(np.int64), positive | np.asarray(labels == classes[0])
    else:
        codes = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
        known = np.asarray(classes[codes] == labels)
    if not known.all():
        raise ValueError(
            f"y holds the label {quote(labels[~known][0])}, but the classes are {listed(classes)}."
        )
    return codes


def listed(labels: Array) -> str:
    """Return labels as text for an error message."""
    words = [quote(label) for label in labels.tolist()]
    if len(words) > 8:
        words = [*words[:7], "…"]
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def check_labels(labels: Array, n_samples: int) -> None:
    """Raise an error unless there is one label per sample and none is NaN."""
    if labels.shape != (n_samples,):
        raise ValueError(f"X has {n_samples} rows but y has shape {labels.shape}; they must match.")
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise ValueError("y contains NaN, but every sample needs a label.")
