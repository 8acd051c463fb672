"""Fixtures for the tests of the loops."""

import pytest
from loop_backends import INSTRUCTIONS, _native


@pytest.fixture(params=INSTRUCTIONS)
def instructions(request):
    """Each set of instructions that this machine has."""
    if not _native.choose_instructions(request.param):
        _native.choose_instructions("best")
        pytest.skip(f"this machine has no {request.param}")
    yield request.param
    _native.choose_instructions("best")
