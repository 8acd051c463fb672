"""Rows as people know them: pictures, text or numbers."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from typing import Any

import numpy as np

from likewise._runtime.arrays import Array
from likewise._runtime.text import printable, quote

_MAX_TEXT = 160
_MAX_SIDE = 64  # pixels of a picture


class Items:
    """Describes rows of the data for the page.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Rows as they were given, not scaled.
    labels : array or None
        Their classes.
    texts : sequence of str or None
        What each row is, in words.
    image_shape : tuple of two int or None
        Height and width of the pictures that the rows are.
    ids : sequence or None
        What the rows are called; by default they are numbers.
    """

    def __init__(
        self,
        X: Array,
        labels: Array | None,
        texts: Sequence[str] | None,
        image_shape: tuple[int, int] | None,
        ids: Sequence[Any] | None = None,
    ) -> None:
        self.X, self.labels = X, labels
        self.texts = _check_length(texts, "texts", len(X))
        self.ids = _check_length(ids, "ids", len(X))
        self.image_shape = _check_shape(image_shape, X.shape[1])
        self._range = (0.0, 1.0)
        if self.image_shape is not None:
            self._range = (float(X.min()), float(X.max()))

    def describe(self, row: int) -> dict[str, Any]:
        """Return number, id, class, text and picture of a row; None for what there is not."""
        return {
            "row": int(row),
            "id": None if self.ids is None else _short(self.ids[row]),
            "label": None if self.labels is None else str(self.labels[row]),
            "text": None if self.texts is None else _short(self.texts[row]),
            "image": None if self.image_shape is None else self._picture(row),
        }

    def _picture(self, row: int) -> str:
        """Return a PNG as a data URI, from black for the lowest value of X to white."""
        assert self.image_shape is not None
        from PIL import Image

        low, high = self._range
        pixels = self.X[row].reshape(self.image_shape)
        scaled = 255 * (pixels - low) / ((high - low) or 1.0)
        picture = Image.fromarray(scaled.clip(0, 255).astype(np.uint8))
        if max(picture.size) > _MAX_SIDE:
            picture.thumbnail((_MAX_SIDE, _MAX_SIDE))
        stream = io.BytesIO()
        picture.save(stream, format="PNG", optimize=True)
        return "data:image/png;base64," + base64.b64encode(stream.getvalue()).decode()


def _short(text: str) -> str:
    line = printable(" ".join(text.split()))
    return line if len(line) <= _MAX_TEXT else f"{line[: _MAX_TEXT - 1]}…"


def _check_length(given: Sequence[Any] | None, name: str, n_rows: int) -> list[str] | None:
    if given is None:
        return None
    listed = [str(one) for one in given]
    if isinstance(given, str) or len(listed) != n_rows:
        raise ValueError(
            f"{name} has {len(listed)} entries, but there must be one for each of the {n_rows} "
            "rows."
        )
    return listed


def _check_shape(shape: Any, n_features: int) -> tuple[int, int] | None:
    if shape is None:
        return None
    try:
        height, width = (int(side) for side in shape)
    except (TypeError, ValueError):
        raise ValueError(
            f"image_shape is {quote(shape)}, but height and width are needed."
        ) from None
    if height < 1 or width < 1 or height * width != n_features:
        raise ValueError(
            f"image_shape is {quote(shape)}, but rows of {n_features} features are pictures of "
            f"{n_features} pixels."
        )
    return height, width
