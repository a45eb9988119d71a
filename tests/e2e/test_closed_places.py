"""Places that are closed to callers without a key, served by real processes."""

import httpx
import pytest
from playwright.sync_api import Page

from support.processes import Processes

CLOSED = {"WAYPOST_PLACES_OPEN": "off"}
PLACES = (
    "/v1/places",
    "/v1/places?bbox=-180,-90,180,90",
    "/v1/places/counts?by=country",
    "/v1/places/ocm:1",
    "/collections",
    "/collections/places",
    "/collections/places/schema",
    "/collections/places/items",
    "/collections/places/items/ocm:1",
    "/tiles/0/0/0.mvt",
    "/tiles/places.json",
)
OPEN = ("/", "/conformance", "/openapi.json", "/docs", "/livez", "/readyz", "/healthz", "/metrics")


@pytest.mark.parametrize("role", ["places", "all"])
def test_closed_places_open_to_keys_with_the_scope_alone(processes: Processes, role: str) -> None:
    provider = processes.simulator("--places", "50")
    ocm = {"WAYPOST_OCM_URL": provider, "WAYPOST_BUDGET": "100/s"}
    processes.json("import", "run", "--source", "ocm", "--country", "DE,FR,PL", env=ocm)
    assert processes.run("snapshot", "build").returncode == 0
    reader = processes.json("key", "create", "map", "--scope", "places:read")
    other = processes.json("key", "create", "shop", "--scope", "links:read")
    address = processes.serve(role, "--host", "0.0.0.0", env=CLOSED)
    with httpx.Client(base_url=address, timeout=30) as client:
        for path in PLACES:
            answer = client.get(path)
            assert (path, answer.status_code) == (path, 401)
            assert answer.json()["type"] == "urn:waypost:key-needed"
            assert answer.headers["www-authenticate"] == "Bearer"
            assert client.get(path, headers={"X-API-Key": other["token"]}).status_code == 403
            for _ in range(2):
                opened = client.get(path, headers={"Authorization": f"Bearer {reader['token']}"})
                assert (path, opened.status_code in {200, 404}) == (path, True)
                assert "ocm:1" in path or opened.headers["cache-control"].startswith("private")
        for path in OPEN:
            assert (path, client.get(path).status_code) == (path, 200)


def test_the_map_of_up_shows_closed_places_on_this_machine_alone(processes: Processes, page: Page) -> None:
    _, address = processes.up("--places", "80", env=CLOSED)
    page.goto(f"{address}/-/")
    page.wait_for_selector("#status:has-text('80 places')")
    page.wait_for_selector("#map[data-generation]:not([data-drawn='0'])")
    paths = ("/v1/places", "/-/status")
    assert [httpx.get(address + path, timeout=30).status_code for path in paths] == [200, 200]
    through = {"X-Forwarded-For": "203.0.113.9"}
    assert [httpx.get(address + path, headers=through, timeout=30).status_code for path in paths] == [401, 401]
