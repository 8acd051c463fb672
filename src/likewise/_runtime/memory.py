"""Check memory before it is allocated: too large a request raises a clear error."""

from pathlib import Path

from likewise._runtime.configuration import max_working_bytes

_GIB = 2.0**30
_MAX_DIGITS = 9  # of GiB: single bytes
# Requests of up to 4 MiB are granted unchecked: reading the system's tables takes 0.1 to 0.4 ms,
# which is a large part of a small fit.
UNCHECKED_BYTES = 2**22


def free_memory(root: Path = Path("/")) -> int | None:
    """Return how many bytes this process may still allocate, or None where that is not known.

    The least of what the system has available and what control groups still allow.

    Parameters
    ----------
    root : Path
        Where ``proc`` and ``sys`` are mounted.

    Returns
    -------
    int or None

    Examples
    --------
    >>> free = free_memory()
    >>> free is None or free > 0
    True
    """
    cgroup = root / "sys/fs/cgroup"
    known = [
        free
        for free in (
            _available(root / "proc/meminfo"),
            _left(cgroup / "memory.max", cgroup / "memory.current", cgroup / "memory.stat"),
            _left(
                cgroup / "memory/memory.limit_in_bytes",
                cgroup / "memory/memory.usage_in_bytes",
                cgroup / "memory/memory.stat",
            ),
        )
        if free is not None
    ]
    return min(known, default=None)


def allowed_memory() -> int | None:
    """Return how many bytes may be allocated: those that are free, and at most `max_memory`."""
    known = [limit for limit in (free_memory(), max_working_bytes()) if limit is not None]
    return min(known, default=None)


def require_memory(n_bytes: float, purpose: str, advice: str = "") -> None:
    """Raise MemoryError if ``n_bytes`` are more than this process can get, or than `max_memory`.

    Requests of at most `UNCHECKED_BYTES` always pass, and so do all where the free memory is not
    known.

    Parameters
    ----------
    n_bytes : float
        What is about to be allocated.
    purpose : str
        Who needs it and for what, up to the amount: ``"LMNN, for its working set,"``.
    advice : str
        What would need less; appended to the message.

    Examples
    --------
    >>> require_memory(1000, "An example")
    """
    if n_bytes <= UNCHECKED_BYTES:
        return
    allowed = allowed_memory()
    if allowed is not None and n_bytes > allowed:
        found = "are allowed by max_memory" if allowed == max_working_bytes() else "are free"
        needed, limit = format_sizes(n_bytes, allowed)
        raise MemoryError(
            f"{purpose} needs about {needed}, but {limit} {found}"
            + (f"; {advice}." if advice else ".")
        )


def format_size(n_bytes: float, digits: int = 1) -> str:
    """Write a number of bytes as people do."""
    if n_bytes >= 0.1 * _GIB:
        return f"{n_bytes / _GIB:.{digits}f} GiB"
    return f"{n_bytes / 2**20:.{digits}f} MiB"


def format_sizes(first: float, second: float) -> tuple[str, str]:
    """Write two different numbers of bytes with as many digits as tell them apart.

    Examples
    --------
    >>> format_sizes(420e6, 400e6)
    ('0.39 GiB', '0.37 GiB')
    """
    digits = 1
    while format_size(first, digits) == format_size(second, digits) and digits < _MAX_DIGITS:
        digits += 1
    return format_size(first, digits), format_size(second, digits)


def _available(meminfo: Path) -> int | None:
    """Return MemAvailable, in bytes."""
    fields = _fields(meminfo)
    return 1024 * fields["MemAvailable:"] if "MemAvailable:" in fields else None


def _left(limit: Path, usage: Path, stat: Path) -> int | None:
    """Return what a control group still allows; cached file pages it counts can be dropped."""
    try:
        left = int(limit.read_text()) - int(usage.read_text())
    except (OSError, ValueError):  # no such group, or its limit is the word "max"
        return None
    return max(0, left + _fields(stat).get("inactive_file", 0))


def _fields(path: Path) -> dict[str, int]:
    """Read the ``name number`` lines of a kernel table; empty if there is none."""
    try:
        lines = [line.split() for line in path.read_text().splitlines()]
    except OSError:
        return {}
    return {line[0]: int(line[1]) for line in lines if len(line) > 1 and line[1].isdigit()}
