"""The configuration of a thread: where the arithmetic happens, and how much memory it may take."""

from __future__ import annotations

import numbers
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from likewise._runtime.text import quote

_UNITS = {
    "": 1,
    "B": 1,
    **{f"{prefix}B": 1000 ** (power + 1) for power, prefix in enumerate("KMGT")},
    **{f"{prefix}IB": 1024 ** (power + 1) for power, prefix in enumerate("KMGT")},
}
_MIN_MEMORY = 16 * 2**20  # with less, hardly a tile of a search fits


@dataclass(frozen=True)
class _Settings:
    """What is set: the device, and the bytes that working memory may take, or None."""

    device: str = "auto"
    max_memory: str | int = "auto"
    max_bytes: int | None = None


class _Configuration(threading.local):
    """The settings of this thread; every thread begins with the defaults."""

    settings = _Settings()


_configuration = _Configuration()


def get_config() -> dict[str, str | int]:
    """Return the configuration of this thread.

    Returns
    -------
    dict
        ``device`` and ``max_memory``, as they were set; a number of bytes is an int.

    Examples
    --------
    >>> import likewise as lw
    >>> lw.get_config()
    {'device': 'auto', 'max_memory': 'auto'}
    """
    settings = _configuration.settings
    return {"device": settings.device, "max_memory": settings.max_memory}


def set_config(*, device: str | None = None, max_memory: str | float | None = None) -> None:
    """Change the configuration of this thread until it is changed again.

    Parameters
    ----------
    device : {"auto", "cpu", "cuda", "cuda:N"}, optional
        Where fits and searches run. With "auto", the default, what comes in decides: tensors of
        PyTorch are worked on where they are, everything else by the compiled loops. "cpu" uses the
        compiled loops for tensors as well. "cuda", or "cuda:1" for the second, moves arrays and
        tensors to that GPU, which needs ``likewise[gpu]``. None leaves it as it is.
    max_memory : str, int or float, optional
        The most that working memory may take, as a whole number of bytes or as text such as "4GB"
        or "500MiB", of at least 16 MiB. A fit that would need more raises MemoryError before it
        begins, or where its pairs become too many. With "auto", the default, the free memory is the
        limit. None leaves it as it is.

    See Also
    --------
    config_context : The same for a block of code.

    Notes
    -----
    As in scikit-learn, every thread has a configuration of its own, which begins with the defaults.

    Examples
    --------
    >>> import likewise as lw
    >>> lw.set_config(max_memory="4GB")
    >>> lw.get_config()["max_memory"]
    '4GB'
    >>> lw.set_config(max_memory="auto")
    """
    _configuration.settings = _changed(_configuration.settings, device, max_memory)


@contextmanager
def config_context(
    *, device: str | None = None, max_memory: str | float | None = None
) -> Iterator[None]:
    """Change the configuration of this thread within a block of code.

    Parameters
    ----------
    device, max_memory
        As in `set_config`.

    See Also
    --------
    set_config : The same without an end.

    Examples
    --------
    >>> import likewise as lw
    >>> with lw.config_context(max_memory="500MB"):
    ...     metric = lw.LMNN(1).fit([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1])
    >>> lw.get_config()["max_memory"]
    'auto'
    """
    before = _configuration.settings
    _configuration.settings = _changed(before, device, max_memory)
    try:
        yield
    finally:
        _configuration.settings = before


def configured_device() -> str:
    """Return the device that is set: "auto", "cpu" or that of a GPU."""
    return _configuration.settings.device


def max_working_bytes() -> int | None:
    """Return the bytes that working memory may take, or None without a limit."""
    return _configuration.settings.max_bytes


def _changed(settings: _Settings, device: str | None, max_memory: str | float | None) -> _Settings:
    if device is not None:
        if not isinstance(device, str) or not re.fullmatch(r"auto|cpu|cuda(:\d+)?", device):
            raise ValueError(
                f"device={quote(device)} is not allowed: it must be 'auto', 'cpu', 'cuda' or that "
                "of one GPU, such as 'cuda:0'."
            )
        settings = replace(settings, device=device)
    if isinstance(max_memory, str) and max_memory == "auto":
        settings = replace(settings, max_memory="auto", max_bytes=None)
    elif max_memory is not None:
        n_bytes = _as_bytes(max_memory)
        shown = max_memory if isinstance(max_memory, str) else n_bytes
        settings = replace(settings, max_memory=shown, max_bytes=n_bytes)
    return settings


def _as_bytes(given: str | float) -> int:
    n_bytes = _of_text(given) if isinstance(given, str) else _of_number(given)
    if n_bytes is None or n_bytes < 0:
        raise ValueError(
            f"max_memory={quote(given)} is not allowed: it must be 'auto', a whole number of "
            "bytes, or text such as '4GB' or '500MiB'."
        )
    if n_bytes < _MIN_MEMORY:
        raise ValueError(f"max_memory={quote(given)} is too little: at least 16 MiB are needed.")
    return n_bytes


def _of_text(given: str) -> int | None:
    """Return the bytes that a text says, or None if it says none."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([A-Za-z]*)\s*", given)
    if found is None or found.group(2).upper() not in _UNITS:
        return None
    return int(float(found.group(1)) * _UNITS[found.group(2).upper()])


def _of_number(given: object) -> int | None:
    """Return a whole number of any type as an int, or None if it is none."""
    if isinstance(given, bool):
        return None
    if isinstance(given, numbers.Integral):
        return int(given)
    if isinstance(given, numbers.Real) and float(given).is_integer():
        return int(float(given))
    return None
