"""Places that are closed to callers without a key: the hot path opens for the same keys as FastAPI behind it."""

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import httpx
import pytest

from support.raw_client import Client
from support.snapshots import shelve, stations
from support.web_server import served
from waypost.access.key_ring import KeyRing
from waypost.access.keys import make_key, rotate
from waypost.bootstrap.stores import SharingStores, open_sharing_stores
from waypost.kernel.clock import utc_now
from waypost.serving.shelf import LiveGeneration, Shelf
from waypost.settings import load_settings
from waypost.web.app import App, Places, make_app
from waypost.web.http.authentication import WriteGuard
from waypost.web.http.local_trust import LocalTrust

PAGE = "https://map.example.org"
DAY = timedelta(days=1)


@dataclass
class Closed:
    """Two servers on one store of keys, one with the hot path and one without it."""

    app: App
    address: str
    hot: Client
    plain: Client
    keys: dict[str, str]
    generation: str

    def ask(self, target: str, *headers: str) -> tuple[bytes, bytes]:
        """What both answer, each twice: the second time the key is in memory."""
        asked = request(target, *headers)
        first, *others = [client.ask(asked) for client in (self.hot, self.plain, self.hot, self.plain)]
        assert others == [first] * 3
        return first

    def is_hot(self, target: str, *headers: str) -> bool:
        assert self.app.hot
        return self.app.hot.answer(request(target, *headers), "http", []) is not None


def request(target: str, *headers: str) -> bytes:
    return "\r\n".join((f"GET {target} HTTP/1.1", "Host: places.example.org", *headers, "", "")).encode()


async def add_keys(stores: SharingStores) -> dict[str, str]:
    """Tokens of keys in every state that they can be in."""
    now, tokens = utc_now(), {}
    for name, scopes in (("reader", ["places:read"]), ("admin", ["admin"]), ("shop", ["links:read", "imports:read"])):
        key, tokens[name] = make_key(name, scopes, now)
        await stores.keys.add(key)
    expired, tokens["expired"] = make_key("expired", ["places:read"], now - 2 * DAY, now - DAY)
    revoked, tokens["revoked"] = make_key("revoked", ["places:read"], now)
    rotated, tokens["older"] = make_key("rotated", ["places:read"], now)
    rotated, tokens["newer"] = rotate(rotated, now, DAY)
    for key in (expired, revoked, rotated):
        await stores.keys.add(key)
    await stores.keys.revoke(revoked.id, now)
    return tokens


def closed_app(folder: Path, stores: SharingStores) -> App:
    live = LiveGeneration(Shelf(folder))
    live.refresh()
    # Beyond loopback: this machine has no rights of its own.
    guard = WriteGuard(LocalTrust.on("0.0.0.0"), KeyRing(stores.keys))
    return make_app(probes={}, guard=guard, places=Places(live, 1000, cors=(PAGE,), closed=True))


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Closed]:
    folder = tmp_path_factory.mktemp("closed")
    generation = shelve(folder / "snapshots", stations(200))
    settings = load_settings({"data": str(folder)}, environ={})
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        stores = runner.run(stack.enter_async_context(open_sharing_stores(settings)))
        keys = runner.run(add_keys(stores))
        hot, plain = (closed_app(folder / "snapshots", stores) for _ in range(2))
        plain.hot = None
        with served(hot) as one, served(plain) as two, closing(Client(one)) as first, closing(Client(two)) as second:
            yield Closed(hot, one, first, second, keys, generation)
        runner.run(stack.aclose())


TARGETS = ("/v1/places", "/v1/places/sim:3", "/collections/places/items?limit=2", "/tiles/0/0/0.mvt")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["reader", "admin", "older", "newer"])
@pytest.mark.parametrize("header", ["Authorization: Bearer {}", "authorization: bearer  {}", "X-API-Key: {}"])
def test_a_key_with_the_scope_opens_them_on_the_hot_path(closed: Closed, target: str, name: str, header: str) -> None:
    shown = header.format(closed.keys[name])
    head, body = closed.ask(target, shown)
    assert head.startswith(b"HTTP/1.1 200")
    assert body
    assert b"cache-control: private, no-cache\r\n" in head
    assert b"Authorization, X-API-Key\r\n" in head
    assert closed.is_hot(target, shown)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("header", "status", "slug"),
    [
        ("X-Nothing: 1", 401, "key-needed"),
        ("Authorization: Bearer {expired}", 401, "key-expired"),
        ("Authorization: Bearer {revoked}", 401, "key-refused"),
        ("Authorization: Bearer {reader}x", 401, "key-refused"),
        ("Authorization: Basic {reader}", 401, "key-refused"),
        ("X-API-Key: ", 401, "key-refused"),
        ("X-API-Key: {shop}", 403, "scope-missing"),
        ("X-API-Key: {reader}\r\nAuthorization: Bearer {admin}", 400, "several-keys"),
        ("X-API-Key: {reader}\r\nX-API-Key: {shop}", 400, "several-keys"),
        ("X-Edit-Token: {admin}", 401, "key-needed"),
        ("X-Forwarded-For: 127.0.0.1", 401, "key-needed"),
    ],
)
def test_all_others_are_refused_and_told_why(closed: Closed, target: str, header: str, status: int, slug: str) -> None:
    shown = header.format(**closed.keys)
    head, body = closed.ask(target, shown)
    assert head.startswith(b"HTTP/1.1 %d" % status)
    assert f"urn:waypost:{slug}".encode() in body
    assert b"cache-control: no-store\r\n" in head
    assert (b"www-authenticate: Bearer\r\n" in head) == (status == 401)
    assert not closed.is_hot(target, shown)
    assert not any(token.encode() in body for token in closed.keys.values())


def test_a_key_in_the_address_is_refused_beside_one_in_the_header(closed: Closed) -> None:
    shown = f"X-API-Key: {closed.keys['reader']}"
    head, body = closed.ask(f"/v1/places?key={closed.keys['reader']}", shown)
    assert (head.split()[1], b"key-in-address" in body) == (b"400", True)


def test_copies_stay_with_the_caller(closed: Closed) -> None:
    shown = f"Authorization: Bearer {closed.keys['reader']}"
    pinned, _ = closed.ask(f"/v1/places?generation={closed.generation}", shown)
    assert b"cache-control: private, max-age=86400, immutable\r\n" in pinned
    kept, _ = closed.ask("/v1/places", shown, f'If-None-Match: "{closed.generation}"')
    assert kept.startswith(b"HTTP/1.1 304")
    assert b"cache-control: private, no-cache\r\n" in kept
    # A copy alone proves nothing.
    assert closed.ask("/v1/places", f'If-None-Match: "{closed.generation}"')[0].startswith(b"HTTP/1.1 401")


def test_pages_of_allowed_sites_may_send_a_key(closed: Closed) -> None:
    asked = {"Origin": PAGE, "Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": "authorization"}
    with httpx.Client(base_url=closed.address, headers={"Origin": PAGE}) as client:
        preflight = client.options("/v1/places", headers=asked)
        assert preflight.status_code == 204
        assert "Authorization" in preflight.headers["access-control-allow-headers"]
        for headers, status in (({}, 401), ({"Authorization": f"Bearer {closed.keys['reader']}"}, 200)):
            answer = client.get("/v1/places", headers=headers)
            assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (status, PAGE)


def test_what_says_nothing_about_places_stays_open(closed: Closed) -> None:
    for path in ("/", "/conformance", "/openapi.json", "/docs", "/livez", "/readyz", "/metrics"):
        assert (path, httpx.get(closed.address + path).status_code) == (path, 200)
    described = httpx.get(f"{closed.address}/openapi.json").json()["paths"]
    assert described["/v1/places"]["get"]["security"] == [{"bearer": []}, {"key": []}]
    assert "401" in described["/tiles/{z}/{x}/{y}.mvt"]["get"]["responses"]
    assert "security" not in described["/conformance"]["get"]
