"""Closed places stay closed by way of their share links and of the status, too."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.asking import ask, assert_problem
from support.link_service import BEYOND, Service, link_service
from waypost.access.key_ring import KeyRing
from waypost.serving.shelf import LiveGeneration, Shelf
from waypost.web.app import Places, make_app
from waypost.web.http.authentication import WriteGuard
from waypost.web.http.local_trust import LocalTrust

pytestmark = pytest.mark.anyio


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Service]:
    flags = {"places.open": "off", "links.anonymous": "on"}
    async with link_service(tmp_path, flags, places=5) as made:
        yield made


async def test_a_share_link_tells_nobody_whether_a_place_exists(service: Service) -> None:
    for place in ("sim:1", "sim:99"):
        path = f"/v1/places/{place}/link"
        assert_problem(await service.ask("POST", path, peer=BEYOND), 401, "key-needed")
        writer = await service.key("links:write")
        assert_problem(await service.ask("POST", path, key=writer), 403, "scope-missing")
    both = await service.key("links:write", "places:read")
    assert (await service.ask("POST", "/v1/places/sim:1/link", key=both)).status_code == 201
    assert_problem(await service.ask("POST", "/v1/places/sim:99/link", key=both), 404, "unknown-place")


async def test_this_machine_reads_closed_places_and_other_pages_in_its_browser_do_not(service: Service) -> None:
    assert (await service.ask("GET", "/v1/places")).status_code == 200
    assert (await service.ask("HEAD", "/tiles/0/0/0.mvt")).status_code == 200
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Host": "evil.example"}):
        assert_problem(await service.ask("GET", "/v1/places", headers=headers), 401, "key-needed")
    assert (await service.ask("HEAD", "/v1/places", peer=BEYOND)).status_code == 401


async def test_how_the_import_stands_is_told_to_keys_with_its_scope(service: Service) -> None:
    async def status() -> dict[str, str]:
        return {"import": "done"}

    live = LiveGeneration(Shelf(service.settings.snapshots))
    for closed, expected in ((True, (401, 403, 200)), (False, (200, 200, 200))):
        app = make_app(
            probes={},
            guard=WriteGuard(LocalTrust.on("0.0.0.0"), KeyRing(service.stores.keys)),
            places=Places(live, 10, closed=closed),
            status=status,
        )
        keys = [await service.key(scope) for scope in ("places:read", "imports:read")]
        shown: list[dict[str, str]] = [{}, *({"X-API-Key": key} for key in keys)]
        answers = [await ask(app, "GET", "/-/status", headers=headers) for headers in shown]
        assert tuple(answer.status_code for answer in answers) == expected
