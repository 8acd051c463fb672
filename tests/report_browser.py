"""Headless Chromium for tests of pages."""

import functools
import shutil
from contextlib import contextmanager

import pytest

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@functools.cache
def why_no_browser():
    """Return the reason why pages cannot be tested here, or None."""
    if find_chromium() is None:
        return "Chromium is not installed (on Debian: apt install chromium)"
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return "playwright is not installed"
    return None


def find_chromium():
    return shutil.which("chromium") or shutil.which("chromium-browser")


@contextmanager
def browser():
    """Yield a browser; skip the test where there is none."""
    if reason := why_no_browser():
        pytest.skip(reason)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        try:
            yield running
        finally:
            running.close()


class Visit:
    """A page that was opened: what it logged, and what it asked the network for."""

    def __init__(self, browser, path, *, width=1200, scheme="light"):
        self.context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme
        )
        self.page = self.context.new_page()
        self.messages, self.requests = [], []
        self.page.on("console", lambda message: self.messages.append(message.text))
        self.page.on("pageerror", lambda error: self.messages.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())

    def close(self):
        self.context.close()
