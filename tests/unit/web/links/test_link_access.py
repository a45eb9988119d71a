"""Who may do what with links: keys with scopes, this machine, and nobody else."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from support.asking import assert_problem
from support.link_service import BEYOND, NDJSON, TARGET, Service, link_service
from waypost.kernel.clock import utc_now

pytestmark = pytest.mark.anyio


@pytest.fixture
async def links(tmp_path: Path) -> AsyncIterator[Service]:
    async with link_service(tmp_path, listening="0.0.0.0", places=3) as opened:
        yield opened


READING: list[tuple[str, str, dict[str, Any]]] = [
    ("GET", "/v1/links", {}),
    ("GET", "/v1/links/otter", {}),
    ("GET", "/v1/links/otter/stats", {}),
    ("GET", "/v1/links/otter/visits", {}),
    ("GET", "/v1/links/otter/history", {}),
]
WRITING: list[tuple[str, str, dict[str, Any]]] = [
    ("POST", "/v1/links", {"json": {"target": TARGET}}),
    ("POST", "/v1/links/bulk", {"content": b'{"target": "https://example.org/"}', "headers": NDJSON}),
    ("POST", "/v1/places/sim:1/link", {}),
    ("PATCH", "/v1/links/otter", {"json": {"title": "x"}}),
    ("DELETE", "/v1/links/otter", {}),
]
reading = pytest.mark.parametrize("asked", READING, ids=lambda asked: f"{asked[0]} {asked[1]}")
writing = pytest.mark.parametrize("asked", WRITING, ids=lambda asked: f"{asked[0]} {asked[1]}")
everything = pytest.mark.parametrize("asked", READING + WRITING, ids=lambda asked: f"{asked[0]} {asked[1]}")
Asked = tuple[str, str, dict[str, Any]]


async def ask(links: Service, asked: Asked, *, key: str | None = None, **headers: str) -> httpx.Response:
    method, path, more = asked
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return await links.ask(
        method, path, key=key, **{**more, "headers": {**more.get("headers", {}), **named}, "peer": BEYOND}
    )


@reading
async def test_the_scope_links_read_reads(links: Service, asked: Asked) -> None:
    key = await links.key("links:read", "links:write")
    await links.make(key=key, phrase="otter")
    assert (await ask(links, asked, key=key)).status_code == 200


@reading
async def test_the_scope_links_write_alone_does_not_read(links: Service, asked: Asked) -> None:
    key = await links.key("links:write")
    await links.make(key=key, phrase="otter")
    assert "links:read" in assert_problem(await ask(links, asked, key=key), 403, "scope-missing")["detail"]


@writing
async def test_the_scope_links_write_writes(links: Service, asked: Asked) -> None:
    key = await links.key("links:write")
    await links.make(key=key, phrase="otter")
    assert (await ask(links, asked, key=key)).status_code in {200, 201, 204}


@writing
async def test_the_scope_links_read_alone_does_not_write(links: Service, asked: Asked) -> None:
    key = await links.key("links:read")
    assert "links:write" in assert_problem(await ask(links, asked, key=key), 403, "scope-missing")["detail"]


@everything
async def test_the_scope_admin_does_everything(links: Service, asked: Asked) -> None:
    await links.make(key=await links.key(), phrase="otter")
    assert (await ask(links, asked, key=await links.key("admin"))).status_code in {200, 201, 204}


@everything
async def test_without_a_key_nothing_is_told_or_done_elsewhere(links: Service, asked: Asked) -> None:
    await links.make(key=await links.key(), phrase="otter")
    document = assert_problem(await ask(links, asked), 403, "loopback-only")
    assert "Authorization: Bearer" in document["detail"]


@everything
async def test_a_key_that_is_none_of_ours_is_refused(links: Service, asked: Asked) -> None:
    await links.make(key=await links.key(), phrase="otter")
    for wrong in (f"wp_0123456789ab_{'x' * 43}", "wp_", "nonsense", "wp_0123456789ab_"):
        answer = await ask(links, asked, key=wrong)
        assert_problem(answer, 401, "key-refused")
        assert answer.headers["www-authenticate"] == "Bearer"


@everything
async def test_a_revoked_key_opens_nothing_from_then_on(links: Service, asked: Asked) -> None:
    key = await links.key()
    await links.make(key=key, phrase="otter")
    await links.stores.keys.revoke(key.split("_")[1], utc_now())
    assert_problem(await ask(links, asked, key=key), 401, "key-refused")


async def test_a_key_with_another_keys_secret_is_refused(links: Service) -> None:
    ada, bob = await links.key(), await links.key()
    forged = "_".join([*ada.split("_")[:2], bob.split("_", 2)[2]])
    assert_problem(await links.get("/v1/links", key=forged), 401, "key-refused")


@pytest.mark.parametrize("scheme", ["Bearer {}", "bearer {}", "BEARER   {}"])
async def test_a_key_is_sent_as_a_bearer_token(links: Service, scheme: str) -> None:
    headers = {"Authorization": scheme.format(await links.key())}
    assert (await links.get("/v1/links", peer=BEYOND, headers=headers)).status_code == 200


async def test_a_key_may_have_a_header_of_its_own(links: Service) -> None:
    headers = {"X-API-Key": await links.key()}
    assert (await links.get("/v1/links", peer=BEYOND, headers=headers)).status_code == 200


async def test_the_same_key_twice_is_one_key_and_two_are_refused(links: Service) -> None:
    ada, bob = await links.key(), await links.key()
    same = {"X-API-Key": ada, "Authorization": f"Bearer {ada}"}
    assert (await links.get("/v1/links", peer=BEYOND, headers=same)).status_code == 200
    answer = await links.get("/v1/links", peer=BEYOND, headers=same | {"X-API-Key": bob})
    assert_problem(answer, 400, "several-keys")


@pytest.mark.parametrize("header", ["Basic YWRhOmh1bnRlcjI=", "Bearer", "Bearer ", "Token x", ""])
async def test_another_kind_of_authorization_is_refused_like_a_wrong_key(links: Service, header: str) -> None:
    answer = await links.get("/v1/links", peer=BEYOND, headers={"Authorization": header})
    assert_problem(answer, 401, "key-refused")


async def test_a_wrong_key_is_refused_on_this_machine_too(tmp_path: Path) -> None:
    async with link_service(tmp_path) as links:
        assert (await links.get("/v1/links")).status_code == 200
        answer = await links.get("/v1/links", headers={"X-API-Key": "nonsense"})
        assert_problem(answer, 401, "key-refused")


async def test_a_key_counts_for_itself_on_this_machine_too(tmp_path: Path) -> None:
    async with link_service(tmp_path) as links:
        await links.make(phrase="otter")
        answer = await links.get("/v1/links/otter", key=await links.key(), peer="127.0.0.1")
        assert_problem(answer, 404, "unknown-link")


@pytest.mark.parametrize("path", ["/v1/languages", "/v1/themes", "/v1/formats"])
async def test_what_phrases_are_made_of_is_told_to_everybody(links: Service, path: str) -> None:
    assert (await links.get(path, peer=BEYOND)).status_code == 200


async def test_a_key_comes_through_a_proxy(links: Service) -> None:
    headers = {"X-Forwarded-For": "198.51.100.7", "Host": "go.example.org"}
    assert (await links.get("/v1/links", key=await links.key(), headers=headers)).status_code == 200
