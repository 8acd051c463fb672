"""Results of tasks: in memory as long as they are small, and in a temporary folder beyond."""

from __future__ import annotations

import os
import pickle
import shutil
import sys
import tempfile
import weakref
from typing import Any

import numpy as np

from likewise._runtime.configuration import max_working_bytes

_MAX_HELD = 1 << 25  # bytes of results in memory, or an eighth of `max_memory`
_MIN_STORED = 1 << 16  # a smaller result is not worth a file


class TemporaryFolder:
    """A folder that is removed with the last object that refers to it."""

    def __init__(self) -> None:
        self.path = tempfile.mkdtemp(prefix="likewise-")
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


class StoredResult:
    """A result in a file: its arrays are read when they are needed.

    Parameters
    ----------
    folder : TemporaryFolder
        Kept as long as this object.
    path : str
        The file with the arrays; it is removed with this object.
    pickled : bytes
        All but the arrays.
    sizes : list of int
        The bytes of each array.
    """

    def __init__(
        self, folder: TemporaryFolder, path: str, pickled: bytes, sizes: list[int]
    ) -> None:
        self.folder, self.path, self.pickled, self.sizes = folder, path, pickled, sizes

    def load(self) -> Any:
        """Return the result."""
        with open(self.path, "rb") as file:
            arrays = [np.fromfile(file, dtype=np.uint8, count=size) for size in self.sizes]
        return pickle.loads(self.pickled, buffers=arrays)


class HeldResult:
    """A result in memory."""

    def __init__(self, result: Any) -> None:
        self.result = result

    def load(self) -> Any:
        """Return the result, which must not be changed."""
        return self.result


class ResultStore:
    """Keeps results: in memory up to a limit, the others in files of a temporary folder."""

    def __init__(self) -> None:
        limit = max_working_bytes()
        self._free = _MAX_HELD if limit is None else limit // 8
        self._folder: TemporaryFolder | None = None

    def keep(self, result: Any) -> StoredResult | HeldResult:
        """Return a handle of a result, whose memory or file is freed with the handle."""
        buffers: list[pickle.PickleBuffer] = []
        pickled = pickle.dumps(result, protocol=5, buffer_callback=buffers.append)
        arrays = [buffer.raw() for buffer in buffers]
        # A result may take more than what is pickled, and says so by its size.
        n_bytes = max(sum(array.nbytes for array in arrays), sys.getsizeof(result))
        if n_bytes <= max(self._free, _MIN_STORED):
            held = HeldResult(result)
            self._free -= n_bytes
            weakref.finalize(held, self._release, n_bytes)
            return held
        if self._folder is None:
            self._folder = TemporaryFolder()
        number, path = tempfile.mkstemp(dir=self._folder.path)
        with open(number, "wb") as file:
            for array in arrays:
                file.write(array)
        stored = StoredResult(self._folder, path, pickled, [array.nbytes for array in arrays])
        weakref.finalize(stored, _remove, path)
        return stored

    def _release(self, n_bytes: int) -> None:
        self._free += n_bytes


def load(argument: Any) -> Any:
    """Return an argument of a task with the results of handles in place of them."""
    if isinstance(argument, list):
        return [load(part) for part in argument]
    return argument.load() if isinstance(argument, StoredResult | HeldResult) else argument


def _remove(path: str) -> None:
    if os.path.exists(path):  # unless the folder was removed first
        os.remove(path)
