"""Images in a folder: which there are, which decode, and small grey copies as vectors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from likewise._runtime.arrays import Array
from likewise.live.log import require_extra

CONTENT_TYPES = {
    "PNG": "image/png",
    "JPEG": "image/jpeg",
    "MPO": "image/jpeg",  # several JPEGs in one file, as phones write; browsers show the first
    "GIF": "image/gif",
    "WEBP": "image/webp",
}
"""What browsers show; SVG is not among them, since it can hold scripts."""
_SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".webp")
_SIDE = 16
_MAX_PIXELS = 50_000_000


def image_files(folder: Path) -> list[Path]:
    """Return the images in a folder and the folders in it, in the order of their names."""
    found = (path for path in folder.rglob("*") if path.suffix.lower() in _SUFFIXES)
    return sorted(path for path in found if path.is_file() and not path.is_symlink())


def thumbnails(files: list[Path]) -> tuple[Array, list[int]]:
    """Return 16 × 16 grey pixels of each image that decodes, and which those are."""
    pixels, good = [], []
    for row, path in enumerate(files):
        image = _open(path)
        if image is None:
            continue
        grey = image.convert("L").resize((_SIDE, _SIDE))
        pixels.append(np.asarray(grey, dtype=np.float32).ravel() / 255)
        good.append(row)
    return np.array(pixels).reshape(len(good), _SIDE * _SIDE), good


def without_broken(files: list[Path]) -> list[int]:
    """Return the rows of the images that decode."""
    return [row for row, path in enumerate(files) if _open(path) is not None]


def content_type(path: Path) -> str | None:
    """Return the type of an image by its content, or None if browsers do not show it."""
    pillow = require_extra("PIL.Image", "a folder of images")
    try:
        with pillow.open(path) as image:
            return CONTENT_TYPES.get(image.format)
    except (OSError, ValueError, SyntaxError, pillow.DecompressionBombError):
        return None


def _open(path: Path) -> Any:
    """Return a decoded image, or None if it cannot be shown, or is too large to try."""
    pillow = require_extra("PIL.Image", "a folder of images")
    try:
        with pillow.open(path) as image:
            # The format is that of the content: a TIFF that is called .png cannot be shown.
            if image.format not in CONTENT_TYPES or image.width * image.height > _MAX_PIXELS:
                return None
            image.load()
            return _turned(image)
    except (OSError, ValueError, SyntaxError, pillow.DecompressionBombError):
        return None


def _turned(image: Any) -> Any:
    """Return an image as browsers show it: by its EXIF orientation, where that can be read."""
    operations = require_extra("PIL.ImageOps", "a folder of images")
    try:
        return operations.exif_transpose(image)
    except Exception:  # noqa: BLE001 - damaged EXIF data raise errors of many kinds
        return image.copy()
