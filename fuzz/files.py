"""Model files that were changed at random: refused with a ValueError, or loaded and harmless.

Half of the changes are to the bytes of a file. The others are to the decoded header or arrays,
after which the file is signed again, as a stranger could. What is loaded must answer, save and go
on learning without crashing or hanging; a wrong answer or an exception is no failure then.
"""

from __future__ import annotations

import faulthandler
import json
import random
import tempfile
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
from sklearn.base import clone
from sklearn.datasets import make_blobs

import likewise as lw
from fuzz.estimators import all_estimators, answers, quiet
from fuzz.report import Report
from likewise import _files

_SECONDS = 60  # that a case may take
X, Y = make_blobs(40, 4, centers=3, random_state=0)
WORDS = np.array(["one", "two", "three"])[Y]


def run(n: int, seed: int = 0) -> Report:
    """Change `n` files."""
    choose, report = random.Random(seed), Report()
    with tempfile.TemporaryDirectory() as folder, quiet():
        path = Path(folder, "model.safetensors")
        saved = [_saved(estimator, path) for estimator in all_estimators()]
        for case in range(n):
            content = saved[case % len(saved)]
            changed = (_resigned if choose.random() < 0.5 else _changed_bytes)(content, choose)
            if changed is None:
                report.add("not writable")
                continue
            path.write_bytes(changed)
            # A crash shows which case it was; a hang ends the process with all stacks.
            faulthandler.dump_traceback_later(_SECONDS, exit=True)
            _try_file(path, f"case {case}, seed {seed}", report)
            faulthandler.cancel_dump_traceback_later()
    return report


def _saved(estimator: Any, path: Path) -> bytes:
    clone(estimator).fit(X, WORDS).save(path)
    return path.read_bytes()


def _try_file(path: Path, case: str, report: Report) -> None:
    try:
        model = lw.load(path)
    except ValueError as error:
        report.add("refused") if "\n" not in str(error) else report.fail(case, error)
        return
    except MemoryError:
        report.add("refused")
        return
    except Exception as error:  # noqa: BLE001 - no other error may leave `load`
        report.fail(case, error)
        return
    useful = True
    for use in (_answer, _learn, _describe):
        try:
            use(model, path)
        except Exception:  # noqa: BLE001 - a forged model may be useless
            useful = False
    report.add("loaded" if useful else "loaded, useless")


def _answer(model: Any, path: Path) -> None:
    answers(model, X)


def _learn(model: Any, path: Path) -> None:
    if hasattr(model, "partial_fit"):
        for _ in range(3):
            model.partial_fit(X, WORDS)
        answers(model, X)


def _describe(model: Any, path: Path) -> None:
    lw._files.describe(path)
    model.save(path)


def _changed_bytes(content: bytes, choose: random.Random) -> bytes:
    """Flip, cut, repeat or insert bytes."""
    place = choose.randrange(len(content))
    length = choose.choice([1, 1, 2, 8, 64, 1000])
    match choose.randrange(4):
        case 0:
            flipped = bytes(
                byte ^ choose.randrange(256) for byte in content[place : place + length]
            )
            return content[:place] + flipped + content[place + length :]
        case 1:
            return content[:place] + content[place + length :]
        case 2:
            return content[:place] + content[place : place + length] + content[place:]
    return content[:place] + choose.randbytes(length) + content[place:]


_NUMBERS = (-1, 0, 1, 2, 3, 7, 10**6, 2**31, 2**63, 10**400, 0.0, -1.5, 1e308, 1e-308)
_VALUES = (
    *_NUMBERS,
    *(None, True, False, "", "x", "nan", [], {}, [1, 2]),
    *({"$float": "nan"}, {"$float": "inf"}, {"$tuple": []}, {"$dict": {}}),
    *({"$array": "0"}, {"$array": "1"}, {"$array": "new"}, {"$array_by_columns": "0"}),
    {"$scalar": {"$array": "0"}},
    {"$words": ["a"], "shape": [1], "width": 2**20},
    {"$words": [], "shape": [0], "width": None},
    {"$model": "LMNN", "parameters": {}, "state": {}},
    {"$record": "PairState", "fields": {}},
)


def _resigned(content: bytes, choose: random.Random) -> bytes | None:
    """Change the header or the arrays, and sign the file again."""
    size = int.from_bytes(content[:8], "little")
    header = json.loads(json.loads(content[8 : 8 + size])["__metadata__"]["likewise"])
    arrays = safetensors.numpy.load(content)
    for _ in range(choose.choice([1, 1, 1, 2, 5])):
        if arrays and choose.random() < 0.5:
            name = choose.choice(sorted(arrays))
            arrays[name] = _changed_array(arrays[name], choose)
        else:
            _change_value(header["model"], choose)
    arrays["new"] = np.zeros((choose.randrange(3), choose.randrange(3)))
    try:
        text = json.dumps(header)
        metadata = {"likewise": text, "fingerprint": _files._fingerprint(text, arrays)}
        return safetensors.numpy.save(arrays, metadata)
    except (ValueError, TypeError):
        return None


def _change_value(content: Any, choose: random.Random) -> None:
    """Replace, remove, add or exchange a random value somewhere inside a header."""
    places = list(_places(content))
    container, key = choose.choice(places)
    match choose.randrange(8):
        case 0 if isinstance(container, dict):
            del container[key]
        case 1 if isinstance(container, dict):
            name = choose.choice(["x_", "_state", "components_", "n_features_in_"])
            container[name] = deepcopy(choose.choice(_VALUES))
        case 2:
            other, place = choose.choice(places)
            container[key] = json.loads(json.dumps(other[place]))
        case 3 if isinstance(container[key], int | float):
            container[key] = container[key] * choose.choice([-1, 2, 0, 10, 1000])
        case _:
            container[key] = deepcopy(choose.choice(_VALUES))


def _places(content: Any) -> list[tuple[Any, Any]]:
    items: list[tuple[Any, Any]] = []
    if isinstance(content, dict):
        items = list(content.items())
    elif isinstance(content, list):
        items = list(enumerate(content))
    found = [(content, key) for key, _ in items]
    for _, value in items:
        found += _places(value)
    return found


def _changed_array(array: Any, choose: random.Random) -> Any:
    """Change some values, the shape or the type of an array."""
    changed = np.array(array)
    match choose.randrange(6):
        case 0 | 1 if changed.size:
            flat = changed.reshape(-1)
            some = [choose.randrange(flat.size) for _ in range(choose.choice([1, 1, 5]))]
            numbers = [np.nan, np.inf, 1e308, -1.0] if changed.dtype.kind == "f" else [1, 99, 127]
            flat[some] = choose.choice([0, *numbers])
            return changed
        case 2 if changed.ndim:
            axis = choose.randrange(changed.ndim)
            return np.ascontiguousarray(np.delete(changed, slice(None, None, 2), axis=axis))
        case 3:
            return changed.reshape(-1)
        case 4:
            dtypes = [np.float32, np.float64, np.int64, np.int32, np.uint8, np.bool_, np.float16]
            return changed.astype(choose.choice(dtypes))
    return changed[None]
