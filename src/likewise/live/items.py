"""The items that are judged: their ids, their vectors and what is shown of them."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from likewise._runtime.arrays import Array
from likewise._runtime.text import quote
from likewise._runtime.validation import pluralize

__all__ = ["MAX_CELLS", "MAX_SHOWN", "Items"]

MAX_SHOWN = 20_000
"""Characters of a text that are shown; of longer ones, the first."""
MAX_CELLS = 60
"""Cells of a row that are shown."""
_MAX_ID = 512
_HUGE = 1e15
_MAX_LENGTH = 10  # of a fraction; longer ones are shown with six digits after the point
_DIRECTION_CHANGES = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
_EXACT = 2**53  # below it, a float holds every integer


@dataclass(eq=False)
class Items:
    """Items with a vector each.

    Parameters
    ----------
    vectors : array of shape (n_items, n_features)
        Finite numbers; kept in float32.
    ids : sequence of str, optional
        Different ones, of up to 512 characters; by default the numbers of the rows, from 0 on.
    kind : {"row", "text", "image"}
        How an item is shown.
    columns : mapping from name to sequence, optional
        What is shown: the column "text" of texts, the paths of images in "file", the cells of
        rows, where None and NaN are empty cells. Rows without columns show their vectors.
    notices : list of str
        What was left out when they were read, in sentences.

    Examples
    --------
    >>> from likewise.live import Items
    >>> items = Items([[0.0, 1.0], [2.0, 3.0]], ["a", "b"], "text", {"text": ["tea", "coffee"]})
    >>> items.row_of("b"), items.shown(1)["text"]
    (1, 'coffee')
    """

    vectors: Any
    ids: Sequence[str] | None = None
    kind: Literal["row", "text", "image"] = "row"
    columns: dict[str, Any] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        X = np.ascontiguousarray(self.vectors, dtype=np.float32)
        if X.ndim != 2 or not X.shape[1]:
            raise ValueError(f"vectors have shape {X.shape}, but one vector per item is needed.")
        check_counterparts(len(X))
        _check_finite(X)
        self.vectors: Array = X
        self._rows: dict[str, int] | None = None
        if self.ids is not None:
            self._rows = _rows_by_id(self.ids, len(X))

    def __len__(self) -> int:
        return len(self.vectors)

    def id_of(self, row: int) -> str:
        """Return the id of the item in a row."""
        return str(row) if self.ids is None else self.ids[row]

    def row_of(self, item: str) -> int:
        """Return the row of an item, or raise a KeyError."""
        if self._rows is not None:
            return self._rows[item]
        # "+1", "01" and "１" are numbers for int, but not ids.
        if item.isascii() and item.isdigit() and str(int(item[:20])) == item:
            row = int(item)
            if row < len(self):
                return row
        raise KeyError(item)

    def shown(self, row: int, names: Sequence[str] | None = None) -> dict[str, Any]:
        """Return what is shown of an item: its id and kind, and its text, file or cells.

        Of a row the cells of the columns `names` are shown, by default of the first 60.
        """
        shown: dict[str, Any] = {"id": self.id_of(row), "kind": self.kind}
        if self.kind == "text":
            text = str(self.columns["text"][row])
            shown |= {"text": text[:MAX_SHOWN], "length": len(text)}
        elif self.kind == "row":
            names = self.column_names[:MAX_CELLS] if names is None else names
            shown["cells"] = {name: _shortened(self._cell(row, name)) for name in names}
        return shown

    @property
    def column_names(self) -> list[str]:
        """The columns of rows; without columns, the numbers of the features."""
        return list(self.columns) or list(map(str, range(self.vectors.shape[1])))

    def texts(self, row: int) -> dict[str, str]:
        """Return the whole text, or all cells of a row, as text; nothing of an image."""
        if self.kind == "image":
            return {}
        if not self.columns:
            return {str(i): _full_text(value) for i, value in enumerate(self.vectors[row].tolist())}
        names = ["text"] if self.kind == "text" else self.columns
        return {name: _full_text(self.columns[name][row]) for name in names}

    def image_path(self, row: int) -> Path:
        """Return the file of an image."""
        return Path(self.columns["file"][row])

    def fingerprint(self) -> str:
        """Return the identity of ids and vectors."""
        # Processors have instructions for SHA-256: it is the fastest on a large array.
        digest = hashlib.sha256(str(self.vectors.shape).encode())
        digest.update(self.vectors.data)
        if self.ids is not None:
            digest.update("\x00".join(self.ids).encode())
        return digest.hexdigest()

    def shown_fingerprint(self) -> str:
        """Return the identity of what is shown: texts or cells; of images, only that they are."""
        digest = hashlib.sha256(self.kind.encode())
        if self.kind != "image":  # whose vectors come from their content, unless others are given
            for name, column in self.columns.items():
                digest.update(f"\x00\x00{name}".encode("utf-8", "surrogatepass"))
                for start in range(0, len(self), 1024):  # a copy of a whole column may be large
                    cells = "\x00".join(map(str, column[start : start + 1024]))
                    digest.update(f"\x00{cells}".encode("utf-8", "surrogatepass"))
        return digest.hexdigest()

    def _cell(self, row: int, name: str) -> Any:
        return self.columns[name][row] if self.columns else self.vectors[row, int(name)].item()


def check_counterparts(n_items: int) -> None:
    """Raise an error unless there are two items."""
    if n_items < 2:
        raise ValueError(
            f"there {'is' if n_items == 1 else 'are'} {pluralize(n_items, 'item')}, but two are "
            "needed: an item alone has no counterpart to be compared with."
        )


def _full_text(value: Any) -> str:
    """Return a cell as text; one without a value is empty."""
    if isinstance(value, np.ndarray):
        return str(value.tolist())
    number = _float(value)
    if value is None or (number is not None and np.isnan(number)):
        return ""
    # A column of integers with an empty cell is read as one of floats.
    if number is not None and number.is_integer() and abs(number) < _EXACT:
        return str(int(number))
    return str(value)


def _shortened(value: Any) -> str:
    """Return a cell as it is shown: all digits before the point of a number, six after it."""
    text, number = _full_text(value), _float(value)
    if len(text) > _MAX_LENGTH and number is not None and abs(number) < _EXACT:
        return f"{number:.6g}" if abs(number) < 1 else f"{number:.6f}".rstrip("0").rstrip(".")
    return text[:MAX_SHOWN]


def _float(value: Any) -> float | None:
    return float(value) if isinstance(value, float | np.floating) else None


def _check_finite(X: Array) -> None:
    """Raise an error that names the first row which is not finite, in blocks of rows."""
    for start in range(0, len(X), 65536):
        block = X[start : start + 65536]
        # Of large numbers even a sum of squares would not be finite; NaN is not below anything.
        if block.max() < _HUGE and block.min() > -_HUGE:
            continue
        row = start + int((np.abs(block).max(axis=1) < _HUGE).argmin())
        raise ValueError(
            f"the vector of row {row} has NaN, an infinite or a huge value, but all must be finite "
            f"and below {_HUGE:g}."
        )


def _rows_by_id(ids: Sequence[str], n_items: int) -> dict[str, int]:
    if len(ids) != n_items:
        raise ValueError(f"there are {len(ids)} ids, but {n_items} vectors.")
    rows = {item: row for row, item in enumerate(ids)}
    if len(rows) < len(ids):
        seen: set[str] = set()
        repeated = next(item for item in ids if item in seen or seen.add(item))  # type: ignore[func-returns-value]
        number = len(ids) - len(rows)
        raise ValueError(
            f"{pluralize(number, 'id')} {'repeats' if number == 1 else 'repeat'} another one, such "
            f"as {quote(repeated)}, but ids must differ."
        )
    for item in ids:
        if not item or len(item) > _MAX_ID or not (item.isprintable() or _is_one_line(item)):
            raise ValueError(
                f"the id {quote(item)} is not allowed: 1 to {_MAX_ID} characters are needed, "
                "without control characters, ends of lines and changes of the writing direction."
            )
    return rows


def _is_one_line(text: str) -> bool:
    """Return whether text is safe to show in a line; spaces and joiners of all kinds are."""
    # Overrides and embeddings of the writing direction let one id look like another.
    return not any(
        unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")
        or unicodedata.bidirectional(c) in _DIRECTION_CHANGES
        for c in text
    )
