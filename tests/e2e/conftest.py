"""A real browser for the tests that look at pages."""

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, sync_playwright

FLAGS = [
    "--enable-unsafe-swiftshader",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@pytest.fixture
def page() -> Iterator[Page]:
    chromium = shutil.which("chromium")
    assert chromium, "these tests need Chromium: tools/install-system chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
        browser.close()
