"""The map as a folder of modules of sentence-transformers: Dense, and Normalize."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy

from likewise._runtime.text import quote_path
from likewise._runtime.writing import write_atomically
from likewise.base import AffineMap

_DENSE, _NORMALIZE = "0_Dense", "1_Normalize"
# The classes under the names that releases from 2 on know.
_CLASSES = {
    _DENSE: "sentence_transformers.models.Dense",
    _NORMALIZE: "sentence_transformers.models.Normalize",
}


def write_sentence_transformers(model: Any, folder: str | os.PathLike[str]) -> None:
    """Write a model as modules that sentence-transformers loads.

    The folder has ``modules.json``, ``0_Dense`` and, if the model normalises, ``1_Normalize``.
    Append the modules to those of your encoder. Their output are vectors: their Euclidean distance,
    not squared, is the learned distance.

    Parameters
    ----------
    model : fitted linear metric or AffineMap
    folder : str or path
        A new folder; it appears whole or not at all.

    Examples
    --------
    >>> import likewise as lw
    >>> from likewise.export import write_sentence_transformers
    >>> write_sentence_transformers(lw.Euclidean().fit([[0.0, 1.0]]), "adapted")
    """
    affine = AffineMap.from_model(model)
    target = Path(folder).absolute()
    check_new_folder(target)
    unfinished = target.parent / f".likewise-{secrets.token_hex(8)}.part"
    try:
        _write(affine, unfinished)
        unfinished.rename(target)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise


def check_new_folder(target: Path) -> None:
    """Raise an error if a folder cannot be made there."""
    if target.exists():
        raise FileExistsError(f"{quote_path(target)} exists, but a new folder is to be written.")
    if not target.absolute().parent.is_dir():
        parent = target.absolute().parent
        raise FileNotFoundError(f"There is no folder {quote_path(parent)} to write in.")


def _write(affine: AffineMap, folder: Path) -> None:
    modules = [_DENSE, *([_NORMALIZE] if affine.normalize else [])]
    for name in modules:
        (folder / name).mkdir(parents=True)
    weights = {"linear.weight": affine.W, "linear.bias": affine.bias}
    tensors = {name: np.ascontiguousarray(v, dtype=np.float32) for name, v in weights.items()}
    write_atomically(
        folder / _DENSE / "model.safetensors",
        safetensors.numpy.save(tensors, {"format": "pt"}),
    )
    dense = {
        "in_features": affine.n_features_in,
        "out_features": affine.n_components,
        "bias": True,
        "activation_function": "torch.nn.modules.linear.Identity",
    }
    _write_json(folder / _DENSE / "config.json", dense)
    if affine.normalize:
        _write_json(folder / _NORMALIZE / "config.json", {})
    listed = [
        {"idx": i, "name": str(i), "path": name, "type": _CLASSES[name]}
        for i, name in enumerate(modules)
    ]
    _write_json(folder / "modules.json", listed)


def _write_json(path: Path, content: Any) -> None:
    write_atomically(path, (json.dumps(content, indent=2) + "\n").encode())
