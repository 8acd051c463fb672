"""Model files: safetensors with a JSON header; data only, nothing in a file is executed.

A model is its class name, its parameters and its fitted state. Arrays become tensors of the
file; everything else stands in the header as JSON, where a one-key object such as
``{"$array": "3"}`` says what JSON cannot.
"""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import json
import math
import os
from importlib import import_module
from typing import Any, TypeVar

import numpy as np
import safetensors
import safetensors.numpy
from sklearn.frozen import FrozenEstimator

from likewise._runtime.memory import require_memory
from likewise._runtime.reading import check_readable
from likewise._runtime.renaming import current_names
from likewise._runtime.text import quote, quote_path, reason
from likewise._runtime.writing import write_atomically

FORMAT = 1
_CLASSES: dict[str, type] = {}
_RECORDS: dict[str, Any] = {}
Record = TypeVar("Record")
# What may go wrong with values that are not of the kind they should be.
_ERRORS = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError)
# What safetensors calls the numbers that a model holds.
_KINDS = {"BOOL", "U8", "I8", "U16", "I16", "F16", "U32", "I32", "F32", "U64", "I64", "F64"}
_MAX_ARRAYS = 10_000  # each takes some time to read, however small it is
# Lives only while scikit-learn runs a fit, belongs to the session and not to the model, or follows
# from the rest.
_NOT_STATE = frozenset(
    {
        *("_skl_callbacks", "_parent_callback_ctx", "_callback_fit_ctx"),
        *("_code_of", "_prepared", "_history_seconds", "_fit_warnings"),
        "_fitted_to",  # the training data of an EmbeddingAdapter
    }
)


def register(cls: type) -> None:
    """Let files name `cls`. Classes of other packages are named with their module."""
    _CLASSES[_class_name(cls)] = cls


def record(cls: type[Record]) -> type[Record]:
    """Let models hold instances of a dataclass of ours in their state.

    Its method ``check`` raises a ValueError if the fields, which come from a file, are not valid.
    """
    _RECORDS[cls.__name__] = cls
    return cls


def save(model: Any, path: str | bytes | os.PathLike[str]) -> None:
    """Write `model` to `path`; the file appears whole or not at all."""
    write_atomically(path, content_of(model))


def content_of(model: Any) -> bytes:
    """Return what `save` writes."""
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    content = _encode(model, type(model).__name__, arrays)
    if len(arrays) > _MAX_ARRAYS:
        raise ValueError(f"The model has {len(arrays)} arrays, but a file holds {_MAX_ARRAYS}.")
    header = json.dumps({"format": FORMAT, "versions": _versions(), "model": content})
    metadata = {"likewise": header, "fingerprint": _fingerprint(header, arrays)}
    return _with_ordered_header(safetensors.numpy.save(arrays, metadata))


def _with_ordered_header(content: bytes) -> bytes:
    """Return a safetensors file with its header in one order, so that equal models are equal files.

    safetensors writes metadata in the random order of a hash map. A file is the length of the
    header in 8 bytes, the header as JSON padded with spaces to a multiple of 8, and the arrays.
    """
    end = 8 + int.from_bytes(content[:8], "little")
    header = json.dumps(json.loads(content[8:end]), sort_keys=True, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + content[end:]


def identity_of(model: Any) -> str:
    """Return a digest of class, parameters and state: the same for all releases and processes."""
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    content = _encode(model, type(model).__name__, arrays)
    return _fingerprint(json.dumps(content, sort_keys=True), arrays)


def load(path: str | bytes | os.PathLike[str]) -> Any:
    """Read a model that `save` wrote; predictions and further learning are bit for bit the same.

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
    return _read(path)[0]


def describe(path: str | bytes | os.PathLike[str]) -> dict[str, Any]:
    """Return what a model file says of itself: class, parameters, versions, shapes of its state."""
    model, versions = _read(path)
    return {
        "class": type(model).__name__,
        "parameters": model.get_params(deep=False),
        "versions": versions,
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
        digest.update(arrays[name].reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _read(path: str | bytes | os.PathLike[str]) -> tuple[Any, dict[str, str]]:
    """Return the model in a file, and the versions it was written by."""
    name = os.fsdecode(path)
    check_readable(name, "a model")
    _import_learners()
    try:
        text, arrays = _read_checked(name)
        header = json.loads(text)
        found, versions, content = header["format"], header["versions"], header["model"]
        if found != FORMAT:
            raise _Unreadable(f"is of format {quote(found)}, but this release reads {FORMAT}")
        return _Decoder(arrays).model(content), versions
    except _Unreadable as error:
        raise ValueError(f"{quote_path(name)} {error}.") from None
    except safetensors.SafetensorError as error:
        raise ValueError(
            f"{quote_path(name)} is not a whole safetensors file ({reason(error)})."
        ) from None
    except (*_ERRORS, RecursionError):
        raise ValueError(f"{quote_path(name)} has an unreadable likewise header.") from None


def _import_learners() -> None:
    """Import every class that `likewise` exports, so that files may name it.

    All of them, before the file is read: what a file says must not choose what is imported.
    """
    likewise = import_module("likewise")
    for name in likewise.__all__:
        getattr(likewise, name)


def _read_checked(name: str) -> tuple[str, dict[str, Any]]:
    """Return the header's text and the arrays, once the checksum over both has been verified."""
    with safetensors.safe_open(name, framework="numpy") as file:
        metadata = file.metadata() or {}
        if "likewise" not in metadata or "fingerprint" not in metadata:
            raise _Unreadable("is a safetensors file, but not one saved by likewise")
        require_memory(os.path.getsize(name), f"Loading {quote_path(name)}")
        n_arrays = len(file.keys())
        if n_arrays > _MAX_ARRAYS:
            raise _Unreadable(f"holds {n_arrays} arrays, but a model has at most {_MAX_ARRAYS}")
        kinds = {file.get_slice(key).get_dtype() for key in file.keys()}  # noqa: SIM118
        if not kinds <= _KINDS:
            raise _Unreadable(f"holds {min(kinds - _KINDS)} arrays, which no model does")
        arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    if _fingerprint(metadata["likewise"], arrays) != metadata["fingerprint"]:
        raise _Unreadable("was changed after it was saved: its checksum does not match")
    return metadata["likewise"], arrays


def _encode(value: Any, where: str, arrays: dict[str, Any]) -> Any:
    """Turn a value into JSON, moving arrays aside."""
    if _CLASSES.get(_class_name(type(value))) is type(value):
        return _encode_model(value, where, arrays)
    match value:
        case _ if type(value) in _RECORDS.values():
            kind = type(value).__name__
            return {"$record": kind, "fields": _encode_all(vars(value), where, arrays)}
        case FrozenEstimator():
            return {"$frozen": _encode(value.estimator, f"{where}.estimator", arrays)}
        case np.generic():  # before the plain types: np.float64 is a float too
            return {"$scalar": _encode_array(np.asarray(value), where, arrays)}
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else {"$float": repr(value)}
        case np.ndarray():
            return _encode_array(value, where, arrays)
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
    if array.dtype.kind in "biuf" and array.dtype.itemsize <= 8:
        key = str(len(arrays))
        # The order in memory decides the order of sums, and so the last bits of every result.
        by_columns = array.flags.f_contiguous and not array.flags.c_contiguous
        native = array.astype(array.dtype.newbyteorder("="), copy=False)
        arrays[key] = np.ascontiguousarray(native.T if by_columns else native).reshape(
            array.shape[::-1] if by_columns else array.shape
        )
        return {"$array_by_columns" if by_columns else "$array": key}
    words = array.ravel().tolist()
    if all(isinstance(word, str) for word in words):
        width = array.dtype.itemsize // 4 if array.dtype.kind == "U" else None
        if width is not None and not _width_fits(words, width):
            raise ValueError(f"{where} holds words of too different lengths for a model file.")
        return {"$words": words, "shape": list(array.shape), "width": width}
    raise TypeError(
        f"{where} is an array of {array.dtype} values, but a model file holds numbers and words."
    )


class _Unreadable(Exception):  # noqa: N818 - never leaves this file
    """An invalid model file; the message continues a sentence that begins with the file's name."""


class _Decoder:
    """Rebuilds values; the inverse of `_encode`."""

    def __init__(self, arrays: dict[str, Any]) -> None:
        self.arrays = arrays

    def value(self, content: Any) -> Any:
        match content:
            case list():
                return [self.value(item) for item in content]
            case {"$float": "nan" | "inf" | "-inf" as text}:
                return float(text)
            case {"$array": str(key)} if key in self.arrays:
                return self.arrays[key]
            case {"$array_by_columns": str(key)} if key in self.arrays:
                return self.arrays[key].T
            case {"$scalar": {"$array": _} | {"$words": _} as inner}:
                return self.value(inner)[()]
            case {"$words": list(words), "shape": list(shape), "width": None | int() as width}:
                return _words(words, shape, width)
            case {"$tuple": list(items)}:
                return tuple(self.value(item) for item in items)
            case {"$dict": dict(items)}:
                return self.values(items)
            case {"$random_state": state}:
                return _random_state(self.value(state))
            case {"$frozen": inner}:
                return FrozenEstimator(self.model(inner))
            case {"$record": str(name), "fields": dict(fields)}:
                return self.record(name, self.values(fields))
            case {"$model": _}:
                return self.model(content)
            case None | bool() | int() | float() | str():
                return content
        raise _Unreadable(f"holds something that likewise does not know: {quote(content, 60)}")

    def values(self, items: dict[str, Any]) -> dict[str, Any]:
        return {key: self.value(item) for key, item in items.items()}

    def record(self, name: str, fields: dict[str, Any]) -> Any:
        cls = _RECORDS.get(name)
        if cls is None or set(fields) != {field.name for field in dataclasses.fields(cls)}:
            raise _Unreadable(f"holds a {quote(name)} that this release of likewise does not know")
        made = cls(**fields)
        try:
            made.check()
        except _ERRORS:
            raise _Unreadable(f"holds a damaged {name}") from None
        return made

    def model(self, content: Any) -> Any:
        match content:
            case {"$model": str(name), "parameters": dict(parameters), "state": dict(state)}:
                return _rebuild(name, self.values(parameters), self.values(state))
        raise _Unreadable(f"holds no model where one should be, but {quote(content, 60)}")


def _words(words: list[Any], shape: list[Any], width: int | None) -> Any:
    if not all(isinstance(word, str) for word in words):
        raise _Unreadable("holds damaged words")
    if width is None:
        return np.array(words, dtype=object).reshape(shape)
    if width < max(map(len, words), default=0) or not _width_fits(words, width):
        raise _Unreadable("holds damaged words")
    return np.array(words, dtype=f"U{width}").reshape(shape)


def _width_fits(words: list[str], width: int) -> bool:
    """Return whether an array of this width needs no more memory than its text suggests."""
    written = sum(map(len, words)) + 3 * len(words)
    return 4 * width * len(words) <= max(2**20, 256 * written)


def _random_state(state: Any) -> np.random.RandomState:
    """Rebuild a generator; NumPy would read outside its memory for a position that is not."""
    match state:
        case {
            "bit_generator": "MT19937",
            "state": {"key": np.ndarray() as key, "pos": int(position)},
            "has_gauss": 0 | 1,
            "gauss": float(),
        } if key.shape == (624,) and key.dtype == np.uint32 and 0 <= position <= 624:
            random = np.random.RandomState()
            random.set_state(state)
            return random
    raise _Unreadable("holds a damaged random state")


def _rebuild(name: str, parameters: dict[str, Any], state: dict[str, Any]) -> Any:
    cls = _CLASSES.get(name)
    if cls is None:
        raise _Unreadable(
            f"holds a {quote(name)}, which is not known here: import the package that defines it "
            "first, or use a newer release of likewise"
        )
    parameters = current_names(cls, parameters, announced=False)
    unknown = set(parameters) - set(inspect.signature(cls).parameters)
    # State that shadows a method or property would change what the model does.
    shadowing = {key for key in state if hasattr(cls, key)}
    if unknown or shadowing:
        raise _Unreadable(
            f"holds {quote(min(unknown | shadowing))}, which {name} does not have in this release "
            "of likewise"
        )
    model = cls(**parameters)
    vars(model).update(state)
    try:
        model._check_state()
    except _ERRORS:
        raise _Unreadable(f"holds a {name} whose state is damaged") from None
    return model
