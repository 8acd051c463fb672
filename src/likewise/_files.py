"""Model files: safetensors with a JSON header; data only, nothing in a file is executed.

A model is its class name, its parameters and its fitted state. Arrays become tensors of the
file; everything else stands in the header as JSON, where a one-key object such as
``{"$array": "3"}`` says what JSON cannot.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy

FORMAT = 1
_CLASSES: dict[str, type] = {}
# Lives only while scikit-learn runs a fit, or belongs to the session and not to the model.
_NOT_STATE = frozenset({"_skl_callbacks", "_parent_callback_ctx", "_callback_fit_ctx"})


def register(cls: type) -> None:
    """Let files name `cls`. Classes of other packages are named with their module."""
    _CLASSES[_class_name(cls)] = cls


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write `model` to `path`; the file appears whole or not at all."""
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    content = _encode(model, type(model).__name__, arrays)
    header = json.dumps(
        {"format": FORMAT, "versions": _versions(), "model": content}, sort_keys=True
    )
    metadata = {"likewise": header, "fingerprint": _fingerprint(header, arrays)}
    blob = safetensors.numpy.save(arrays, metadata)
    target = Path(path)
    handle, unfinished = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(blob)
        os.replace(unfinished, target)
    except BaseException:
        os.unlink(unfinished)
        raise


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` wrote; it answers, and goes on learning, bit for bit as before.

    Parameters
    ----------
    path : str or path
        A file written by a model's ``save``. It may come from a stranger: sizes are checked
        before memory is asked for, a checksum covers all of it, and nothing in it is executed.

    Returns
    -------
    MetricLearner
        The model.

    Examples
    --------
    >>> import likewise as lw
    >>> lw.Whitening().fit([[1.0, 0.0], [0.0, 2.0], [3.0, 1.0]]).save("model.safetensors")
    >>> lw.load("model.safetensors")
    Whitening()
    """
    header, arrays = _read(path)
    return _decode(header["model"], arrays, os.fspath(path))


def describe(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what a model file says of itself: class, parameters, versions, shapes of its state."""
    header, arrays = _read(path)
    model = _decode(header["model"], arrays, os.fspath(path))
    return {
        "class": type(model).__name__,
        "parameters": model.get_params(deep=False),
        "versions": header["versions"],
        "state": {
            name: list(value.shape) if isinstance(value, np.ndarray) else value
            for name, value in vars(model).items()
            if name.endswith("_")
        },
    }


def _class_name(cls: type) -> str:
    own = cls.__module__.split(".")[0] == "likewise"
    return cls.__name__ if own else f"{cls.__module__}.{cls.__qualname__}"


def _versions() -> dict[str, str]:
    from importlib.metadata import version

    return {name: version(name) for name in ("likewise", "numpy", "scikit-learn")}


def _fingerprint(header: str, arrays: dict[str, np.ndarray[Any, Any]]) -> str:
    digest = hashlib.sha256(header.encode())
    for name in sorted(arrays):
        digest.update(f"{name} {arrays[name].dtype.str} {arrays[name].shape}".encode())
        digest.update(np.ascontiguousarray(arrays[name]).tobytes())
    return digest.hexdigest()


def _read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    name = os.fspath(path)
    if not os.path.isfile(name):
        raise FileNotFoundError(f"There is no model file {name!r}.")
    try:
        with safetensors.safe_open(name, framework="numpy") as file:
            metadata = file.metadata() or {}
            arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    except safetensors.SafetensorError as error:
        raise ValueError(f"{name!r} is not a whole safetensors file ({error}).") from None
    if "likewise" not in metadata or "fingerprint" not in metadata:
        raise ValueError(f"{name!r} is a safetensors file, but not one saved by likewise.")
    if _fingerprint(metadata["likewise"], arrays) != metadata["fingerprint"]:
        raise ValueError(f"{name!r} was changed after it was saved: its checksum does not match.")
    try:
        header = json.loads(metadata["likewise"])
        found = header["format"]
    except (ValueError, RecursionError, KeyError, TypeError):
        raise ValueError(f"{name!r} has an unreadable likewise header.") from None
    if found != FORMAT:
        raise ValueError(
            f"{name!r} has format {found!r}, but this release of likewise reads format {FORMAT}."
        )
    return header, arrays


def _encode(value: Any, where: str, arrays: dict[str, Any]) -> Any:
    """Turn a value into JSON, moving arrays aside."""
    if _CLASSES.get(_class_name(type(value))) is type(value):
        return _encode_model(value, where, arrays)
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else {"$float": repr(value)}
        case np.ndarray():
            return _encode_array(value, where, arrays)
        case np.generic():
            return {"$scalar": _encode_array(np.asarray(value), where, arrays)}
        case list() | tuple():
            items = [_encode(item, f"{where}[{i}]", arrays) for i, item in enumerate(value)]
            return items if isinstance(value, list) else {"$tuple": items}
        case dict() if all(isinstance(key, str) for key in value):
            return {"$dict": _encode_all(value, where, arrays)}
        case np.random.RandomState():
            return {"$random_state": _encode(value.get_state(legacy=False), where, arrays)}
    raise TypeError(
        f"{where} is a {type(value).__name__}, which a model file cannot hold: only numbers, "
        "words, arrays and likewise models go into it."
    )


def _encode_model(model: Any, where: str, arrays: dict[str, Any]) -> dict[str, Any]:
    parameters = model.get_params(deep=False)
    state = {
        name: held
        for name, held in vars(model).items()
        if name not in parameters and name not in _NOT_STATE
    }
    return {
        "$model": _class_name(type(model)),
        "parameters": _encode_all(parameters, where, arrays),
        "state": _encode_all(state, where, arrays),
    }


def _encode_all(values: dict[str, Any], where: str, arrays: dict[str, Any]) -> dict[str, Any]:
    return {name: _encode(value, f"{where}.{name}", arrays) for name, value in values.items()}


def _encode_array(array: np.ndarray[Any, Any], where: str, arrays: dict[str, Any]) -> Any:
    if array.dtype.kind in "biuf":
        key = str(len(arrays))
        # The order in memory decides the order of sums, and so the last bits of every answer.
        by_columns = array.flags.f_contiguous and not array.flags.c_contiguous
        arrays[key] = np.ascontiguousarray(array.T if by_columns else array)
        return {"$array_by_columns" if by_columns else "$array": key}
    words = array.ravel().tolist()
    if array.dtype.kind == "U" or all(isinstance(word, str) for word in words):
        return {"$words": words, "shape": list(array.shape), "type": array.dtype.str}
    raise TypeError(
        f"{where} is an array of {array.dtype} values, but a model file holds numbers and words."
    )


def _decode(content: Any, arrays: dict[str, Any], path: str) -> Any:
    """Rebuild a value; the inverse of `_encode`."""
    match content:
        case list():
            return [_decode(item, arrays, path) for item in content]
        case {"$float": str(text)} if text in ("nan", "inf", "-inf"):
            return float(text)
        case {"$array": str(key)} if key in arrays:
            return arrays[key]
        case {"$array_by_columns": str(key)} if key in arrays:
            return arrays[key].T
        case {"$scalar": inner}:
            return _decode(inner, arrays, path)[()]
        case {"$words": list(words), "shape": list(shape), "type": str(kind)} if kind[1:2] in "UO":
            return np.array([str(word) for word in words], dtype=kind).reshape(shape)
        case {"$tuple": list(items)}:
            return tuple(_decode(item, arrays, path) for item in items)
        case {"$dict": dict(items)}:
            return {key: _decode(item, arrays, path) for key, item in items.items()}
        case {"$random_state": state}:
            random = np.random.RandomState()
            random.set_state(_decode(state, arrays, path))
            return random
        case {"$model": str(name), "parameters": dict(parameters), "state": dict(state)}:
            return _rebuild(
                name,
                {key: _decode(item, arrays, path) for key, item in parameters.items()},
                {key: _decode(item, arrays, path) for key, item in state.items()},
                path,
            )
        case None | bool() | int() | float() | str():
            return content
    raise ValueError(f"{path!r} holds something that likewise does not know: {str(content)[:60]}.")


def _rebuild(name: str, parameters: dict[str, Any], state: dict[str, Any], path: str) -> Any:
    cls = _CLASSES.get(name)
    if cls is None:
        raise ValueError(
            f"{path!r} holds a {name!r}, which is not known here: import the package that "
            "defines it first, or use a newer release of likewise."
        )
    unknown = set(parameters) - set(cls().get_params(deep=False))
    # State that shadows a method or property would change what the model does.
    shadowing = {key for key in state if hasattr(cls, key)}
    if unknown or shadowing:
        raise ValueError(
            f"{path!r} holds {sorted(unknown | shadowing)[0]!r}, which {name} does not have in "
            "this release of likewise."
        )
    model = cls(**parameters)
    vars(model).update(state)
    return model
