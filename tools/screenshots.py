"""Draws the README's picture again: runs the real product, makes a link on its page, and takes a screenshot."""

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "images" / "map.png"
WAYPOST = ROOT / ".venv" / "bin" / "waypost"

WIDTH, HEIGHT = 1280, 800
MOST_BYTES = 300 * 1000
PATIENCE_SECONDS = 60
CHROMIUM_FLAGS = (
    "--enable-unsafe-swiftshader",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
TARGET = "https://example.org/charging-on-the-way-to-the-sea"
# Where the page shows Central Europe before it is zoomed, as a part of the map's width and height, and how far to go.
EUROPE = (0.459, 0.268)
WHEEL_STEPS, WHEEL_PIXELS = 7, -120


@contextmanager
def waypost_up() -> Iterator[str]:
    """The product on a free port with a data folder of its own; yields its address."""
    with tempfile.TemporaryDirectory(prefix="waypost-") as folder:
        command = [str(WAYPOST), "up", "--data", folder, "--port", "0"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            yield _address(process)
        finally:
            process.terminate()
            process.wait(PATIENCE_SECONDS)
            assert process.stdout
            process.stdout.close()


def _address(process: "subprocess.Popen[str]") -> str:
    assert process.stdout
    for line in process.stdout:
        if found := re.search(r"Waypost is up at (\S+)", line):
            return found[1]
    raise SystemExit("waypost up ended before it was up")


@contextmanager
def browser_page() -> Iterator[Page]:
    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("Chromium is missing: tools/install-system chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(CHROMIUM_FLAGS))
        try:
            context = browser.new_context(
                viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light", reduced_motion="reduce"
            )
            yield context.new_page()
        finally:
            browser.close()


def wait_for_places(page: Page, address: str) -> None:
    page.goto(f"{address}/-/")
    expect(page.locator("#status")).to_contain_text("import done", timeout=PATIENCE_SECONDS * 1000)
    expect(page.locator("#map")).not_to_have_attribute("data-drawn", "0", timeout=PATIENCE_SECONDS * 1000)


def zoom_into_europe(page: Page) -> None:
    """With the wheel, as a person does; the point under the pointer stays where it is."""
    frame = page.locator("#map").bounding_box()
    assert frame
    page.mouse.move(frame["x"] + frame["width"] * EUROPE[0], frame["y"] + frame["height"] * EUROPE[1])
    for _ in range(WHEEL_STEPS):
        page.mouse.wheel(0, WHEEL_PIXELS)


def open_a_place(page: Page) -> None:
    """With the keyboard: a step to the east, then the one nearest the centre."""
    page.focus("#map")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator("#place-card")).to_be_visible()


def make_a_link(page: Page) -> None:
    page.fill("#target", TARGET)
    page.click("#create")
    expect(page.locator("#made")).to_be_visible()
    page.mouse.move(WIDTH / 2, 5)


def follow_it(page: Page) -> None:
    """Without going there: the redirect alone is a visit, and the page shows it a little later."""
    link = page.get_attribute("#new-link", "href")
    assert link
    page.request.get(link, max_redirects=0)
    expect(page.locator("#links .visits")).to_have_text("1 visit", timeout=PATIENCE_SECONDS * 1000)


def take_picture(page: Page) -> int:
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=PICTURE)
    return PICTURE.stat().st_size


def main() -> None:
    with waypost_up() as address, browser_page() as page:
        print(f"looking at {address}/-/")
        wait_for_places(page, address)
        zoom_into_europe(page)
        open_a_place(page)
        make_a_link(page)
        follow_it(page)
        size = take_picture(page)
    print(f"wrote {PICTURE.relative_to(ROOT)}, {size:,} bytes")
    if size > MOST_BYTES:
        sys.exit(f"that is more than the {MOST_BYTES:,} bytes it may have")


if __name__ == "__main__":
    main()
