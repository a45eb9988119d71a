"""Blocked hosts and words: over HTTP, for links that are made, for those in memory, and in other processes."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.asking import assert_problem
from support.link_service import BEYOND, Service, link_service

pytestmark = pytest.mark.anyio

HOST = "/v1/blocks/host/bad.example"


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Service]:
    async with link_service(tmp_path) as opened:
        yield opened


async def test_a_host_that_is_blocked_later_is_led_to_no_more_and_again_once_it_is_allowed(service: Service) -> None:
    await service.make("https://www.bad.example/page", phrase="summer-party")
    await service.make("https://notbad.example/", phrase="winter-party")
    statuses = []
    for change in (None, "PUT", "DELETE"):
        if change:
            assert (await service.ask(change, HOST)).is_success
        statuses.append([(await service.get(f"/{each}-party")).status_code for each in ("summer", "winter")])
    assert statuses == [[302, 302], [410, 302], [302, 302]]


async def test_no_link_is_made_or_edited_to_lead_to_a_blocked_host(service: Service) -> None:
    await service.make(phrase="summer-party")
    await service.ask("PUT", HOST)
    for target in ("https://bad.example", "https://a.b.BAD.example./x"):
        assert_problem(await service.create(target), 400, "target-refused")
        assert_problem(await service.change("summer-party", target=target), 400, "target-refused")
        [line] = (await service.send_lines({"target": target})).text.splitlines()
        assert "target-refused" in line


async def test_a_refused_word_is_in_no_new_phrase(service: Service) -> None:
    await service.make(phrase="grand-casino")
    await service.ask("PUT", "/v1/blocks/word/Casino")
    for phrase in ("casino", "Best-CASINO-here", "two casinos", "BestCasino", "c-a-s-i-n-o", "cásino_royal"):
        assert_problem(await service.create(phrase=phrase), 400, "phrase-refused")
    assert (await service.create(phrase="casinoesque")).status_code == 201
    assert (await service.get("/grand-casino")).status_code == 302


async def test_phrases_with_a_refused_word_are_not_drawn(service: Service) -> None:
    first = (await service.make())["phrase"].split("-")
    for word in first[:1]:
        await service.ask("PUT", f"/v1/blocks/word/{word}")
    vocabulary = service.parts.vocabularies.vocabulary("en")
    kept = next(adverb for adverb in vocabulary.adverbs if adverb != first[0])
    for adverb in vocabulary.adverbs:
        if adverb not in {kept, first[0]}:
            await service.parts.follow.blocks.add("word", adverb, "local")
    drawn = [(await service.make())["phrase"].split("-")[0] for _ in range(3)]
    assert drawn == [kept] * 3
    await service.parts.follow.blocks.add("word", kept, "local")
    assert_problem(await service.create(), 503, "words-refused")


async def test_another_process_on_the_same_store_follows_within_a_look(service: Service, tmp_path: Path) -> None:
    await service.make("https://bad.example", phrase="summer-party")
    async with link_service(tmp_path) as elsewhere:
        assert (await elsewhere.get("/summer-party")).status_code == 302
        await service.ask("PUT", HOST)
        await elsewhere.parts.follow.blocks.look()
        assert (await elsewhere.get("/summer-party")).status_code == 410
        assert_problem(await elsewhere.create("https://bad.example"), 400, "target-refused")


async def test_blocks_are_listed_with_who_added_them(service: Service) -> None:
    admin = await service.key("admin")
    await service.ask("PUT", "/v1/blocks/host/BÜCHER.example", key=admin)
    await service.ask("PUT", "/v1/blocks/word/Casino")
    blocks = (await service.get("/v1/blocks")).json()["blocks"]
    assert [(each["kind"], each["value"]) for each in blocks] == [("host", "xn--bcher-kva.example"), ("word", "casino")]
    assert [each["added_by"] for each in blocks] == [f"key:{admin.split('_')[1]}", "local"]
    assert (await service.ask("DELETE", "/v1/blocks/word/CASINO")).status_code == 204
    assert_problem(await service.ask("DELETE", "/v1/blocks/word/casino"), 404, "unknown-block")


@pytest.mark.parametrize("path", ["host/not a host", "word/x", "word/two%20words", "host/bad.example:80"])
async def test_what_is_neither_a_host_nor_a_word_is_refused(service: Service, path: str) -> None:
    assert_problem(await service.ask("PUT", f"/v1/blocks/{path}"), 400, "block-invalid")


async def test_blocks_are_for_administrators_alone(service: Service) -> None:
    author = await service.key()
    for method, path in (("GET", "/v1/blocks"), ("PUT", HOST), ("DELETE", HOST)):
        assert_problem(await service.ask(method, path, key=author), 403, "scope-missing")
        assert_problem(await service.ask(method, path, peer=BEYOND), 403, "loopback-only")
