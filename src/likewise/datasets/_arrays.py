"""Reading arrays from NPY and NPZ files that may come from a stranger.

Nothing in the file is executed (no pickles), and every array's size is known and checked before
memory is asked for: a small file cannot claim to hold a terabyte.
"""

from __future__ import annotations

import math
import zipfile
import zlib
from pathlib import Path
from typing import IO, BinaryIO

import numpy as np
from numpy.lib import format as npy_format

from likewise._runtime.arrays import Array
from likewise._runtime.text import quote, quote_path, reason

MAX_ARRAY_BYTES = 16 * 2**30


def read_npz(path: Path) -> dict[str, Array]:
    """Return every array of the NPZ file at `path`, by name."""
    with path.open("rb") as stream:
        return arrays_of_npz(stream, quote_path(path))


def arrays_of_npz(file: BinaryIO, where: str) -> dict[str, Array]:
    """Return every array of an open NPZ file, by name."""
    try:
        with zipfile.ZipFile(file) as archive:
            arrays = {}
            for member in archive.infolist():
                name = member.filename.removesuffix(".npy")
                with archive.open(member) as stream:
                    arrays[name] = read_array(stream, member.file_size, f"{where} ({quote(name)})")
            return arrays
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError) as error:
        # The last two: a compression method or an encryption that zipfile does not read.
        raise ValueError(f"{where} is not a readable NPZ file: {reason(error)}") from error


def read_array(stream: IO[bytes], n_bytes: int, where: str) -> Array:
    """Return the array of an open NPY file, which has `n_bytes`."""
    try:
        version = npy_format.read_magic(stream)
        read_header = {
            (1, 0): npy_format.read_array_header_1_0,
            (2, 0): npy_format.read_array_header_2_0,
        }[version]
        shape, fortran_order, dtype = read_header(stream)
    except (ValueError, KeyError, EOFError) as error:
        raise ValueError(f"{where} is not a readable NumPy array: {reason(error)}") from error
    if dtype.hasobject:
        raise ValueError(f"{where} holds Python objects; only numbers and text can be loaded")
    size = math.prod(shape) * dtype.itemsize
    if size > min(n_bytes, MAX_ARRAY_BYTES):
        raise ValueError(
            f"{where} claims to be an array of {size} bytes, but the file holds {n_bytes} "
            f"and at most {MAX_ARRAY_BYTES} are allowed"
        )
    content = bytearray(stream.read(size))
    if len(content) < size:
        raise ValueError(f"{where} ends too early: {len(content)} of {size} bytes")
    array: Array = np.frombuffer(content, dtype=dtype)
    return array.reshape(shape, order="F" if fortran_order else "C")
