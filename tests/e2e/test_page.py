"""The page in a real browser: places on the map, a link made in the form, the link followed, the visit counted."""

import httpx
from playwright.sync_api import Page

from support.processes import Processes


def test_from_the_map_to_a_counted_visit(processes: Processes, page: Page) -> None:
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    foreign: list[str] = []
    _, url = processes.up("--places", "300")
    page.on("request", lambda request: None if request.url.startswith(url) else foreign.append(request.url))

    page.goto(url)
    assert page.url == f"{url}/-/"
    page.wait_for_selector("#status:has-text('300 places')")
    page.wait_for_selector("#map[data-generation]:not([data-drawn='0'])")
    drawn = page.locator("#map").get_attribute("data-drawn")
    assert drawn
    assert int(drawn) > 200

    page.fill("#target", "https://example.org/menu")
    page.click("#create")
    link = page.wait_for_selector("#new-link:visible")
    assert link
    href = link.get_attribute("href")
    assert href
    assert href.startswith(url)
    assert len(href.rpartition("/")[2].split("-")) == 3

    # Whoever runs the tests need not reach example.org; that they are led there is a visit.
    assert httpx.get(href).headers["location"] == "https://example.org/menu"
    page.wait_for_selector("text=/\\b1 visit\\b/")

    page.fill("#target", "https://example.org/")
    page.fill("#phrase", "metrics")
    page.click("#create")
    page.wait_for_selector("#problem:visible:has-text('metrics')")
    # The refused request is a 400, which Chromium notes; nothing else is amiss, and nothing came from elsewhere.
    assert [text for text in complaints if "400" not in text] == []
    assert [address for address in foreign if not address.startswith("data:")] == []


def test_places_can_be_opened_and_shared(processes: Processes, page: Page) -> None:
    _, url = processes.up("--places", "300")
    page.goto(f"{url}/-/")
    page.wait_for_selector("#map[data-generation]:not([data-drawn='0'])")
    page.focus("#map")
    page.keyboard.press("Enter")
    card = page.wait_for_selector("#place-card:visible")
    assert card
    assert "ocm:" in card.inner_text()
    page.click("text=Share this place")
    link = page.wait_for_selector("#new-link:visible")
    assert link
    visitor = page.context.new_page()
    visitor.goto(link.get_attribute("href") or "")
    assert visitor.url.startswith(f"{url}/collections/places/items/")
    page.click("text=Share this place")
    page.wait_for_selector("#share:enabled")
    assert page.locator("#links li").count() == 1


def test_an_unknown_phrase_has_a_friendly_page(processes: Processes, page: Page) -> None:
    _, url = processes.up("--places", "5")
    answer = page.goto(f"{url}/nobody-made-this")
    assert answer
    assert answer.status == 404
    assert "No such link" in page.inner_text("h1")
