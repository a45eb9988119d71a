"""Links over HTTP: made and looked at."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from support.asking import BASE, assert_problem
from support.link_service import BEYOND, TARGET, Service, link_service
from waypost.kernel.clock import utc_now
from waypost.sharing.links.link import NewLink

pytestmark = pytest.mark.anyio

LATER = "2040-01-01T00:00:00Z"


@pytest.fixture
async def links(tmp_path: Path) -> AsyncIterator[Service]:
    async with link_service(tmp_path) as opened:
        yield opened


async def test_a_new_link_is_answered_with_its_document(links: Service) -> None:
    before = utc_now()
    made = await links.create()
    document = made.json()
    phrase = document["phrase"]
    assert (made.status_code, made.headers["cache-control"], made.headers["etag"]) == (201, "no-store", '"1"')
    assert made.headers["location"] == f"/v1/links/{phrase}"
    shown = await links.get(made.headers["location"])
    assert (shown.status_code, shown.json(), shown.headers["etag"]) == (200, document, '"1"')
    assert document.pop("id")
    assert datetime.fromisoformat(document.pop("created_at")) >= before
    assert datetime.fromisoformat(document.pop("updated_at")) >= before
    assert document == {
        "phrase": phrase,
        "url": f"{BASE}/{phrase}",
        "target": TARGET,
        "title": "",
        "tags": [],
        "language": "en",
        "theme": None,
        "format": "kebab",
        "version": 1,
        "expires_at": None,
        "max_visits": None,
        "protected": False,
        "forward_query": False,
        "place_id": None,
        "visits": 0,
        "disabled": False,
        "owner": "local",
    }


async def test_everything_that_can_be_wished_for_is_kept(links: Service) -> None:
    wish: dict[str, Any] = {
        "title": "Summer party",
        "tags": ["Party", "2026", "party"],
        "expires_at": LATER,
        "max_visits": 7,
        "forward_query": True,
        "place_id": "0d9f3b1e",
        "language": "de",
        "format": "pascal",
    }
    document = await links.make(password="hunter2", **wish)
    assert {name: document[name] for name in wish} == wish | {"tags": ["party", "2026"]}
    assert document["protected"] is True
    assert "hunter2" not in str(document)
    assert document["phrase"].isalnum()


async def test_null_is_as_if_it_were_left_out(links: Service) -> None:
    nothing = dict.fromkeys(NewLink.__struct_fields__) | {"target": TARGET}
    assert (await links.ask("POST", "/v1/links", json=nothing)).status_code == 201


@pytest.mark.parametrize(
    ("field", "how"), [("format", "kebab, pascal, snake, spaced"), ("expires_at", "2027-01-01T00")]
)
async def test_what_is_written_in_a_certain_way_is_told_how(links: Service, field: str, how: str) -> None:
    answer = await links.ask("POST", "/v1/links", json={"target": TARGET, field: "nonsense"})
    assert how in assert_problem(answer, 400, "bad-parameter")["detail"]


async def test_drawn_phrases_differ(links: Service) -> None:
    assert len({(await links.make())["phrase"] for _ in range(25)}) == 25


async def test_a_link_looks_as_it_does_from_outside(tmp_path: Path) -> None:
    async with link_service(tmp_path, {"public_url": "https://go.example.org/"}) as links:
        assert (await links.make(phrase="otter"))["url"] == "https://go.example.org/otter"


async def test_a_phrase_may_be_chosen_and_is_then_taken_in_every_spelling(links: Service) -> None:
    made = await links.make(phrase="Summer-Party")
    assert (made["phrase"], made["language"]) == ("Summer-Party", None)
    for again in ("Summer-Party", "summer party", "SUMMER_PARTY", "Sümmerparty", "5ummer-party".replace("5", "s")):
        assert again in assert_problem(await links.create(phrase=again), 409, "phrase-taken")["detail"]


@pytest.mark.parametrize("phrase", ["Łódź 2026", "über-straße", "My Party"])
async def test_a_phrase_with_any_letter_can_be_made_and_shown(links: Service, phrase: str) -> None:
    made = await links.create(phrase=phrase)
    assert (made.status_code, made.json()["phrase"]) == (201, phrase)
    assert (await links.get(made.headers["location"])).json()["phrase"] == phrase
    assert (await links.get(f"/v1/links/{quote(phrase)}")).json()["phrase"] == phrase


@pytest.mark.parametrize(
    "phrase", ["api", "Health", "\N{SCRIPT CAPITAL H}ealth", "v1", "a", "", "-party", "party+", "x" * 61]
)
async def test_a_phrase_that_will_not_do_is_refused(links: Service, phrase: str) -> None:
    document = assert_problem(await links.create(phrase=phrase), 400, "phrase-refused")
    assert document["parameter"] == "phrase"


@pytest.mark.parametrize(
    ("body", "parameter"),
    [
        ({"target": TARGET, "owner": "ada"}, "owner"),
        ({"target": TARGET, "phrase": "otter", "disabled": True}, "disabled"),
        ({"target": "https://example.org/" + "x" * 2048}, "target"),
        ({"target": TARGET, "phrase": "x" * 201}, "phrase"),
        ({"target": TARGET, "tags": "party"}, "tags"),
        ({"target": TARGET, "tags": ["x" * 41]}, "tags"),
        ({"target": TARGET, "tags": [str(number) for number in range(21)]}, "tags"),
        ({"target": TARGET, "title": "x" * 201}, "title"),
        ({"target": TARGET, "expires_at": "2040-01-01T00:00:00"}, "expires_at"),
        ({"target": TARGET, "expires_at": "tomorrow"}, "expires_at"),
        ({"target": TARGET, "max_visits": 0}, "max_visits"),
        ({"target": TARGET, "max_visits": "7"}, "max_visits"),
        ({"target": TARGET, "max_visits": 1.5}, "max_visits"),
        ({"target": TARGET, "password": ""}, "password"),
        ({"target": TARGET, "forward_query": "yes"}, "forward_query"),
        ({"target": TARGET, "format": "camel"}, "format"),
        ({"target": 7}, "target"),
        ({"target": None}, "target"),
        ({"target": ""}, "target"),
        ({}, "target"),
        ([], "body"),
        ("text", "body"),
    ],
)
async def test_a_wish_that_cannot_be_understood_names_what_is_wrong(
    links: Service, body: object, parameter: str
) -> None:
    answer = await links.ask("POST", "/v1/links", json=body)
    assert assert_problem(answer, 400, "bad-parameter")["parameter"] == parameter


@pytest.mark.parametrize(
    ("wish", "slug", "parameter"),
    [
        ({"expires_at": "2001-01-01T00:00:00Z"}, "link-invalid", "expires_at"),
        ({"tags": ["a,b"]}, "link-invalid", "tags"),
        ({"title": "a\u202eb"}, "link-invalid", "title"),
        ({"language": "xx"}, "unknown-language", "language"),
        ({"theme": "nonsense"}, "unknown-theme", "theme"),
        ({"place_id": "\n"}, "link-invalid", "place_id"),
    ],
)
async def test_a_wish_out_of_bounds_names_what_is_wrong(
    links: Service, wish: dict[str, Any], slug: str, parameter: str
) -> None:
    assert assert_problem(await links.create(**wish), 400, slug)["parameter"] == parameter


@pytest.mark.parametrize("body", [b"", b"{", b"nonsense", b"\xff\xfe", b'{"target": "https://example.org/"} {}'])
async def test_what_is_no_json_is_refused(links: Service, body: bytes) -> None:
    answer = await links.ask("POST", "/v1/links", headers={"Content-Type": "application/json"}, content=body)
    assert_problem(answer, 400, "bad-parameter")


async def test_a_parameter_that_is_not_there_is_refused(links: Service) -> None:
    answer = await links.ask("POST", "/v1/links?dry_run=1", json={"target": TARGET})
    assert assert_problem(answer, 400, "bad-parameter")["parameter"] == "dry_run"


@pytest.mark.parametrize(
    "typed",
    [
        "gently-golden-otter",
        "GentlyGoldenOtter",
        "gently_golden_otter",
        "GENTLY%20golden-OTTER",
        "g%C3%AAntlygoldenotter",
    ],
)
async def test_case_separators_and_accents_do_not_count_when_a_link_is_looked_up(links: Service, typed: str) -> None:
    await links.make(phrase="gently-golden-otter")
    assert (await links.get(f"/v1/links/{typed}")).json()["phrase"] == "gently-golden-otter"


@pytest.mark.parametrize("typed", ["otter+", "otter!", "otter%00", "otter%0A", "ot%E2%80%8Dter", "---", "x" * 150])
async def test_what_only_contains_a_phrase_is_no_link(links: Service, typed: str) -> None:
    await links.make(phrase="otter")
    assert_problem(await links.get(f"/v1/links/{typed}"), 404, "unknown-link")


async def test_a_phrase_that_is_far_too_long_is_refused(links: Service) -> None:
    assert_problem(await links.get(f"/v1/links/{'x' * 201}"), 400, "bad-parameter")


async def test_visits_are_those_of_the_link(links: Service) -> None:
    made, other = await links.make(), await links.make()
    await links.visit(made["id"], *[utc_now() - timedelta(hours=number) for number in range(3)])
    assert (await links.get(f"/v1/links/{made['phrase']}")).json()["visits"] == 3
    assert (await links.get(f"/v1/links/{other['phrase']}")).json()["visits"] == 0


# Made once


async def test_a_repeated_request_makes_one_link_and_gets_the_same_answer(links: Service) -> None:
    once = {"Idempotency-Key": "9b1deb4d-3b7d-4bad"}
    first = await links.create(headers=once, phrase="otter")
    again = await links.create(headers=once, phrase="otter")
    assert (first.status_code, again.status_code, again.json()) == (201, 200, first.json())
    assert again.headers["location"] == first.headers["location"]


async def test_requests_that_are_repeated_at_once_make_one_link(links: Service) -> None:
    answers = await asyncio.gather(*(links.create(headers={"Idempotency-Key": "k"}) for _ in range(8)))
    assert sorted(answer.status_code for answer in answers) == [200] * 7 + [201]
    assert len({answer.json()["id"] for answer in answers}) == 1


async def test_an_idempotency_key_is_for_one_wish(links: Service) -> None:
    once = {"Idempotency-Key": "k"}
    await links.create(headers=once)
    assert_problem(await links.create(headers=once, title="another"), 409, "idempotency-key-reused")


async def test_an_idempotency_key_is_its_owners(links: Service) -> None:
    ada, bob, once = await links.key(), await links.key(), {"Idempotency-Key": "k"}
    made = {(await links.create(key=key, headers=once)).json()["id"] for key in (ada, bob, None)}
    assert len(made) == 3


@pytest.mark.parametrize("key", ["x" * 201, "a b", ""])
async def test_an_idempotency_key_that_will_not_do_is_refused(links: Service, key: str) -> None:
    answer = await links.create(headers={"Idempotency-Key": key})
    assert assert_problem(answer, 400, "bad-parameter")["parameter"] == "Idempotency-Key"


async def test_an_authors_own_link_to_the_same_target_is_used_again(links: Service) -> None:
    ada, bob = await links.key(), await links.key()
    first = await links.make(key=ada, reuse=True)
    again = await links.create(key=ada, reuse=True)
    assert (again.status_code, again.json()["id"]) == (200, first["id"])
    assert (await links.make(key=bob, reuse=True))["id"] != first["id"]
    assert (await links.make(key=ada))["id"] != first["id"]


# Without a key, elsewhere


async def test_anonymous_links_are_a_setting(tmp_path: Path) -> None:
    async with link_service(tmp_path / "off") as links:
        assert_problem(await links.create(peer=BEYOND), 403, "loopback-only")
    async with link_service(tmp_path / "on", {"links.anonymous": "on"}) as links:
        made = await links.create(peer=BEYOND)
        assert (made.status_code, bool(made.json()["edit_token"]), made.json()["owner"]) == (201, True, None)


async def test_a_repeated_anonymous_request_gets_its_link_again(tmp_path: Path) -> None:
    async with link_service(tmp_path, {"links.anonymous": "on"}) as links:
        once = {"Idempotency-Key": "k"}
        first = (await links.create(peer=BEYOND, headers=once)).json()
        again = (await links.create(peer=BEYOND, headers=once)).json()
        assert again == {name: value for name, value in first.items() if name != "edit_token"}
        elsewhere = (await links.create(peer="203.0.113.10", headers=once)).json()
        assert elsewhere["id"] != first["id"]


async def test_whoever_has_no_key_owns_nothing_to_use_again(tmp_path: Path) -> None:
    async with link_service(tmp_path, {"links.anonymous": "on"}) as links:
        await links.make()
        answer = await links.create(peer=BEYOND, reuse=True)
        assert assert_problem(answer, 400, "link-invalid")["parameter"] == "reuse"


async def test_an_edit_token_shows_changes_and_deletes_its_own_link(tmp_path: Path) -> None:
    async with link_service(tmp_path, {"links.anonymous": "on"}) as links:
        made = (await links.create(peer=BEYOND, phrase="otter")).json()
        holder: dict[str, Any] = {"peer": BEYOND, "headers": {"X-Edit-Token": made["edit_token"]}}
        shown = await links.get("/v1/links/otter", **holder)
        assert (shown.status_code, "edit_token" in shown.json()) == (200, False)
        for path in ("stats", "visits", "history"):
            assert (await links.get(f"/v1/links/otter/{path}", **holder)).status_code == 200
        assert (await links.change("otter", title="mine", **holder)).json()["title"] == "mine"
        assert (await links.ask("DELETE", "/v1/links/otter", **holder)).status_code == 204
        assert_problem(await links.get("/v1/links/otter", **holder), 404, "unknown-link")


async def test_a_moment_is_kept_in_utc(links: Service) -> None:
    made = await links.make(expires_at="2040-01-01T01:00:00+01:00")
    assert datetime.fromisoformat(made["expires_at"]) == datetime(2040, 1, 1, tzinfo=UTC)
