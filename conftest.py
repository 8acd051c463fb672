"""What every test and doctest runs in."""

import pytest


@pytest.fixture(autouse=True)
def _doctests_write_nowhere_else(
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Give each doctest an empty folder to work in, so that its files do not stay behind."""
    if isinstance(request.node, pytest.DoctestItem):
        monkeypatch.chdir(tmp_path_factory.mktemp("doctest"))
