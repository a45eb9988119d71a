"""`waypost serve redirect`: a process that follows links and does nothing else."""

import asyncio
from pathlib import Path

import httpx
import msgspec
import pytest

from support.processes import Processes, eventually
from waypost.bootstrap.stores import open_sharing_stores
from waypost.kernel.clock import utc_now
from waypost.settings import load_settings

TARGET = "https://example.org/a/page"


@pytest.fixture
def url(processes: Processes) -> str:
    processes.run("link", "create", TARGET, "--phrase", "Summer-Party")
    return processes.serve("redirect", env={"WAYPOST_LINKS_HOME": "https://example.org/about"})


def test_it_follows_links_from_the_first_request_on(url: str) -> None:
    for _ in range(3):
        answer = httpx.get(f"{url}/summer-party")
        assert (answer.status_code, answer.headers["location"]) == (302, TARGET)
    assert httpx.get(f"{url}/").headers["location"] == "https://example.org/about"
    assert "Where this link leads" in httpx.get(f"{url}/summer-party+").text
    assert httpx.get(f"{url}/summer-party.png").content.startswith(b"\x89PNG")
    assert httpx.get(f"{url}/robots.txt").status_code == 200
    assert httpx.get(f"{url}/-/report").status_code == 200


def test_it_has_health_and_metrics_and_no_api(url: str) -> None:
    assert httpx.get(f"{url}/readyz").status_code == 200
    assert "waypost_redirects" in httpx.get(f"{url}/metrics").text
    for path in ("/v1/links/summer-party", "/v1/places", "/docs", "/openapi.json", "/-/"):
        assert httpx.get(url + path).status_code == 404
    assert httpx.post(f"{url}/v1/links", json={"target": TARGET}).status_code == 404


def test_its_visits_are_counted(url: str, processes: Processes) -> None:
    for _ in range(3):
        httpx.get(f"{url}/summer-party")
    httpx.head(f"{url}/summer-party")

    def counted() -> bool:
        return bool(processes.json("link", "show", "summer-party")["visits"] == 3)

    eventually(counted, "three visits are counted")


async def disable(data: Path, phrase: str) -> None:
    async with open_sharing_stores(load_settings({"data": str(data)}, environ={})) as stores:
        link = await stores.links.find(phrase)
        assert link
        edited = msgspec.structs.replace(link, version=link.version + 1, updated_at=utc_now(), disabled=True)
        await stores.links.edit(edited, "test")


def test_what_another_process_changes_is_seen_after_a_while(processes: Processes) -> None:
    processes.run("link", "create", TARGET, "--phrase", "Summer-Party")
    url = processes.serve("redirect", env={"WAYPOST_REDIRECT_FRESH": "50ms"})
    assert httpx.get(f"{url}/summer-party").status_code == 302
    asyncio.run(disable(processes.folder / "waypost-data", "summer-party"))
    eventually(lambda: httpx.get(f"{url}/summer-party").status_code == 410, "the link has ended here too")
