"""Writing a file so that it appears whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from likewise._runtime.text import quote_path

fcntl: Any = None
with contextlib.suppress(ImportError):  # on Windows an open file cannot be deleted anyway
    fcntl = import_module("fcntl")

_PREFIX, _SUFFIX = ".likewise-", ".part"  # short: the name of the target may be as long as allowed


def write_atomically(path: str | bytes | os.PathLike[str], content: bytes) -> None:
    """Put `content` at `path` whole or not at all.

    An existing file keeps its permissions; a new one has those of any new file. Unfinished files of
    processes that were killed are removed. A pipe or a device is written to as it is: there is no
    file to replace.
    """
    target = Path(os.path.realpath(os.fsdecode(path)))
    if not os.path.isdir(target.parent):  # also False for a name that is too long
        raise FileNotFoundError(f"There is no folder {quote_path(target.parent)} to write in.")
    if target.is_dir():
        raise IsADirectoryError(f"{quote_path(target)} is a folder, but a file is to be written.")
    if target.exists() and not target.is_file():
        target.write_bytes(content)
        return
    _remove_unfinished(target.parent)
    with _unfinished_file(target) as (unfinished, file):
        if target.exists():
            os.chmod(unfinished, stat.S_IMODE(target.stat().st_mode))
        file.write(content)
        file.flush()
        os.fsync(file.fileno())  # else a crash could leave the new name on missing content
        if fcntl is None:
            file.close()  # Windows does not rename open files
        os.replace(unfinished, target)


@contextlib.contextmanager
def _unfinished_file(target: Path) -> Iterator[tuple[Path, BinaryIO]]:
    """Create a file and lock it as long as it is written; remove it if that fails."""
    while True:
        path = target.parent / f"{_PREFIX}{secrets.token_hex(8)}{_SUFFIX}"
        try:
            with _created(path, target) as file:
                # Another process may have taken it for an unfinished one before it was locked.
                if lock_file(file) is not False and _is_at(file, path):
                    yield path, file
                    return
        except BaseException:
            path.unlink(missing_ok=True)
            raise


def _created(path: Path, target: Path) -> BinaryIO:
    """Open a new file; an error names the target, as nobody knows the name of the other."""
    try:
        return open(path, "xb")
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(target)) from error


def _remove_unfinished(folder: Path) -> None:
    """Remove files that no living process is writing."""
    for path in folder.glob(f"{_PREFIX}*{_SUFFIX}"):
        with contextlib.suppress(OSError):
            if fcntl is None:
                path.unlink()
            else:
                with open(path, "rb+") as file:
                    if lock_file(file):
                        path.unlink()


def lock_file(file: BinaryIO) -> bool | None:
    """Lock a file until it is closed.

    Returns False if another process has locked it, and None if files cannot be locked here.
    """
    if fcntl is None:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _is_at(file: BinaryIO, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False
