"""What the tests of all families of loops share: which of them were compiled, and for what."""

from importlib.util import find_spec

import pytest

if find_spec("likewise._loops._native"):
    from likewise._loops import _native

    INSTRUCTIONS = ["portable", "avx2", "avx512"]
else:
    _native = None
    INSTRUCTIONS = []

needs_native = pytest.mark.skipif(not INSTRUCTIONS, reason="the loops were not compiled")
