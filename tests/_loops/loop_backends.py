"""What the tests of all families of loops share: which of them were compiled, and for what."""

from importlib.util import find_spec

import pytest

if find_spec("likewise._loops._native"):
    from likewise._loops import _native

    INSTRUCTIONS = ["portable", "avx2", "avx512"]
    SCAN_INSTRUCTIONS = [*INSTRUCTIONS, "avx512bf16"]  # the radius scan has one more
else:
    _native = None
    INSTRUCTIONS = []
    SCAN_INSTRUCTIONS = []

needs_native = pytest.mark.skipif(not INSTRUCTIONS, reason="the loops were not compiled")


def choose_scan(monkeypatch, compiled, name):
    """Let the radius scan and the distances use these instructions, if this machine has them."""
    if name not in compiled.instruction_sets:
        pytest.skip(f"this machine has no {name}")
    monkeypatch.setattr(compiled, "instruction_sets", [name])
    _native.choose_instructions(name)
