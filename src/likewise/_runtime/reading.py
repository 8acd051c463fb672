"""Whether a path names a file that can be read."""

from __future__ import annotations

import os

from likewise._runtime.text import quote_path


def check_readable(path: str | bytes | os.PathLike[str], what: str) -> None:
    """Raise an error unless there is a regular file that may be read; `what` is to be read.

    A pipe would be waited for, and a device need not end.
    """
    name = os.fsdecode(path)
    if os.path.isdir(name):
        raise IsADirectoryError(f"{quote_path(name)} is a folder, but {what} is read from a file.")
    if not os.path.exists(name):
        raise FileNotFoundError(f"There is no file {quote_path(name)}.")
    if not os.path.isfile(name):
        raise ValueError(f"{quote_path(name)} is a pipe or device, but {what} is read from a file.")
    if not os.access(name, os.R_OK):
        raise PermissionError(f"{quote_path(name)} may not be read by this user.")
