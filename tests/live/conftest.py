"""What several tests of the live part share."""

import pytest
from report_browser import browser


@pytest.fixture(scope="module")
def chromium():
    with browser() as made:
        yield made
