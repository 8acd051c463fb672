"""``LIKEWISE_LOOPS=native`` never falls back to NumPy."""

import os
import subprocess
import sys

import pytest

MISSING = "import sys; sys.modules['likewise._loops._native'] = None\n"
BROKEN = """
import sys
from importlib.machinery import ModuleSpec

class Broken:
    def find_spec(self, name, path=None, target=None):
        return ModuleSpec(name, self) if name == "likewise._loops._native" else None
    def create_module(self, spec):
        raise ImportError("undefined symbol")
    def exec_module(self, module):
        pass

sys.meta_path.insert(0, Broken())
"""


def backend(setup, requested):
    """Import the loops in a new process, and return which were chosen or the error."""
    done = subprocess.run(
        [sys.executable, "-c", setup + "from likewise import _loops; print(_loops.BACKEND)"],
        capture_output=True,
        text=True,
        env=os.environ | {"LIKEWISE_LOOPS": requested},
    )
    return (done.stdout or done.stderr).strip().splitlines()[-1]


@pytest.mark.parametrize(
    ("setup", "requested", "expected"),
    [
        ("", "native", "native"),
        (MISSING, "native", "ImportError: LIKEWISE_LOOPS is 'native', but this installation"),
        (BROKEN, "native", "ImportError: undefined symbol"),
        (BROKEN, "", "ImportError: undefined symbol"),
        (MISSING, "", "numpy"),
    ],
    ids=["there", "missing", "broken", "broken, not forced", "missing, not forced"],
)
def test_compiled_loops_are_used_or_an_error_is_raised(setup, requested, expected):
    assert backend(setup, requested).startswith(expected)
