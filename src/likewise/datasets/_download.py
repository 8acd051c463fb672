"""A file from a mirror into the user's cache: checked, atomic, and never larger than announced."""

from __future__ import annotations

import hashlib
import os
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable
from functools import cache
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from likewise._runtime.text import quote

Progress = Callable[[int, int], None]
"""Called with the bytes so far and the bytes in all."""

TIMEOUT_SECONDS = 30.0
_BLOCK = 1 << 16


class Expected(NamedTuple):
    """What the file must be."""

    sha256: str
    size: int


@cache
def known_files() -> dict[str, Expected]:
    """Return what is known about each data set that a mirror may serve."""
    text = resources.files(__package__).joinpath("checksums.txt").read_text(encoding="utf-8")
    lines = (line.split() for line in text.splitlines() if not line.startswith("#"))
    return {file.removesuffix(".npz"): Expected(digest, int(size)) for digest, size, file in lines}


def cache_folder() -> Path:
    """Return the folder of downloaded files: $LIKEWISE_CACHE, else the user's cache folder."""
    if own := os.environ.get("LIKEWISE_CACHE"):
        return Path(own).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "likewise"


def is_intact(path: Path, expected: Expected) -> bool:
    """Tell whether `path` exists and is exactly the expected file."""
    if not path.is_file() or path.stat().st_size != expected.size:
        return False
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest() == expected.sha256


def download(
    url: str, target: Path, expected: Expected, *, progress: Progress | None = None
) -> None:
    """Copy `url` to `target`, which appears complete and verified or not at all."""
    if not url.startswith(("http://", "https://", "file://")):
        raise ValueError(
            f"LIKEWISE_DATA_URL must start with http://, https:// or file://, found {quote(url)}"
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    # The same folder, so that the final rename stays on one file system and is atomic.
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as sink:
            digest = _copy(url, sink.write, expected.size, progress)
        if digest != expected.sha256:
            raise ValueError(
                f"{url} is not the file that was expected: its SHA-256 is {digest}, "
                f"not {expected.sha256}"
            )
        os.replace(temporary, target)
    finally:
        Path(temporary).unlink(missing_ok=True)


def _copy(url: str, write: Callable[[bytes], int], size: int, progress: Progress | None) -> str:
    digest, done = hashlib.sha256(), 0
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT_SECONDS) as source:
            while block := source.read(min(_BLOCK, size + 1 - done)):
                done += len(block)
                if done > size:
                    raise ValueError(f"{url} is larger than the {size} bytes that were expected")
                digest.update(block)
                write(block)
                if progress is not None:
                    progress(done, size)
    except urllib.error.HTTPError as error:
        raise ConnectionError(f"{url} was refused: {error.code} {error.reason}") from error
    except OSError as error:
        raise ConnectionError(f"{url} cannot be reached: {error}") from error
    if done < size:
        raise ValueError(f"{url} ends too early: {done} of {size} bytes")
    return digest.hexdigest()
