"""W, mean and the flag in one .npz file."""

from __future__ import annotations

import io
import os
import zipfile
from typing import Any

import numpy as np

from likewise._runtime.reading import check_readable
from likewise._runtime.text import quote_path
from likewise._runtime.writing import write_atomically
from likewise.base import AffineMap


def write_numpy(model: Any, path: str | os.PathLike[str]) -> None:
    """Write W, mean and the normalise flag of a model to one .npz file.

    Parameters
    ----------
    model : fitted linear metric or AffineMap
    path : str or path
        The file; it appears whole or not at all.

    Examples
    --------
    >>> import likewise as lw
    >>> from likewise.export import read_numpy, write_numpy
    >>> write_numpy(lw.Euclidean().fit([[0.0, 1.0]]), "map.npz")
    >>> read_numpy("map.npz").transform([[2.0, 3.0]])
    array([[2., 3.]])
    """
    affine = AffineMap.from_model(model)
    content = io.BytesIO()
    normalize, side = np.array(affine.normalize), np.array(affine.side)
    np.savez(content, W=affine.W, mean=affine.mean, normalize=normalize, side=side)
    write_atomically(path, content.getvalue())


def read_numpy(path: str | os.PathLike[str]) -> AffineMap:
    """Read a map that `write_numpy` wrote; nothing in the file is executed.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    AffineMap
    """
    check_readable(path, "a map")
    try:
        with np.load(path, allow_pickle=False) as file:
            side: Any = str(file["side"]) if "side" in file else "both"
            return AffineMap(file["W"], file["mean"], bool(file["normalize"]), side)
    except (OSError, EOFError, ValueError, LookupError, TypeError, zipfile.BadZipFile):
        raise ValueError(
            f"{quote_path(path)} is not a .npz file with arrays W, mean and normalize."
        ) from None
