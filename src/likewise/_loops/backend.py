"""The choice between the compiled loops and their NumPy twins, made once at import."""

import os
from importlib.util import find_spec


def choose_backend(requested: str, compiled: bool) -> str:
    """Return ``"native"`` or ``"numpy"``: the one asked for, else the fastest available.

    Parameters
    ----------
    requested : str
        The value of ``LIKEWISE_LOOPS``: ``"native"``, ``"numpy"`` or empty.
    compiled : bool
        Whether the compiled module is installed.
    """
    if requested not in ("", "native", "numpy"):
        raise ValueError(f"LIKEWISE_LOOPS must be 'native', 'numpy' or empty, not {requested!r}.")
    if requested == "native" and not compiled:
        raise ImportError(
            "LIKEWISE_LOOPS is 'native', but this installation of likewise has no compiled "
            "loops; reinstall it where there is a C++ compiler, or leave the variable empty."
        )
    return requested or ("native" if compiled else "numpy")


BACKEND = choose_backend(
    os.environ.get("LIKEWISE_LOOPS", ""), find_spec("likewise._loops._native") is not None
)
