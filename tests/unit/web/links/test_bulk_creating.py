"""Many links in one request: an answer for each line, in the order of the lines."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from support.asking import assert_problem
from support.link_service import NDJSON, TARGET, Service, lines_of, link_service
from waypost.kernel.errors import StoreTrouble
from waypost.kernel.tasks import end
from waypost.sharing.links import author, passwords
from waypost.sharing.links.link import Link
from waypost.sharing.phrases.matching import PhraseRefused, check_custom
from waypost.telemetry.logs import get_logger
from waypost.telemetry.rated_log import RatedLog
from waypost.web.links import bulk_creating
from waypost.web.links.bulk_creating import MOST_BYTES

pytestmark = pytest.mark.anyio


@pytest.fixture
async def links(tmp_path: Path) -> AsyncIterator[Service]:
    async with link_service(tmp_path) as opened:
        yield opened


def wish(**more: Any) -> dict[str, Any]:
    return {"target": TARGET, **more}


async def test_each_line_is_answered_in_its_order(links: Service) -> None:
    await links.make(phrase="otter")
    lines = [
        wish(phrase="badger", title="first"),
        b"nonsense",
        wish(phrase="Otter"),
        b"",
        wish(target="javascript:alert(1)"),
        wish(colour="red"),
        wish(phrase="Badger"),
        wish(),
    ]
    answer = await links.send_lines(*lines)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/x-ndjson")
    badger, nonsense, otter, script, red, again, drawn = lines_of(answer)
    assert (badger["phrase"], badger["title"], badger["visits"]) == ("badger", "first", 0)
    assert (nonsense["line"], nonsense["error"]["slug"]) == (2, "bad-parameter")
    assert (otter["line"], otter["error"]["slug"], otter["error"]["status"]) == (3, "phrase-taken", 409)
    assert (script["line"], script["error"]["parameter"]) == (5, "target")
    assert (red["line"], red["error"]["parameter"]) == (6, "colour")
    assert (again["line"], again["error"]["slug"]) == (7, "phrase-taken")
    assert drawn["phrase"]
    assert len((await links.get("/v1/links")).json()["links"]) == 3


async def test_ten_thousand_links_are_made_in_one_request(links: Service) -> None:
    answer = await links.send_lines(*[wish()] * 10_000)
    made = lines_of(answer)
    assert len({link["phrase"] for link in made}) == 10_000


async def test_all_or_nothing_makes_all(links: Service) -> None:
    answer = await links.send_lines(wish(phrase="otter"), wish(phrase="badger"), query="?atomic=true")
    assert [link["phrase"] for link in lines_of(answer)] == ["otter", "badger"]


@pytest.mark.parametrize(
    ("bad", "status"), [(b"nonsense", 400), (wish(target="ftp://example.org"), 400), (wish(phrase="otter"), 409)]
)
async def test_all_or_nothing_makes_nothing_when_a_line_is_refused(links: Service, bad: object, status: int) -> None:
    await links.make(phrase="otter")
    answer = await links.send_lines(wish(phrase="badger"), bad, wish(), query="?atomic=true")
    document = assert_problem(answer, status, "bulk-refused")
    assert document["title"] == "Not all links can be made"
    assert [refusal["line"] for refusal in document["lines"]] == [2]
    assert_problem(await links.get("/v1/links/badger"), 404, "unknown-link")
    assert len((await links.get("/v1/links")).json()["links"]) == 1


@pytest.mark.parametrize("key", [{}, {"Idempotency-Key": "k"}])
async def test_all_or_nothing_tells_all_that_is_wrong_as_one_by_one_does(links: Service, key: dict[str, str]) -> None:
    await links.make(phrase="otter")
    lines = [
        wish(phrase="badger"),
        b"nonsense",
        wish(target="ftp://example.org"),
        wish(),
        wish(phrase="Otter"),
        wish(language="xx"),
        wish(phrase="Badger"),
    ]
    answer = await links.send_lines(*lines, query="?atomic=true", headers=key)
    document = assert_problem(answer, 409, "bulk-refused")
    assert document["detail"] == "5 of 7 lines were refused, so that no link was made"
    assert len((await links.get("/v1/links")).json()["links"]) == 1
    alone = lines_of(await links.send_lines(*lines, headers=key))
    assert document["lines"] == [line for line in alone if "error" in line]


async def test_all_or_nothing_tells_of_a_key_that_was_used_beside_what_cannot_be_read(links: Service) -> None:
    key = {"Idempotency-Key": "k"}
    await links.send_lines(wish(title="first"), wish(title="second"), headers=key)
    lines = [wish(title="another"), wish(title="second"), b"nonsense"]
    document = assert_problem(await links.send_lines(*lines, query="?atomic=true", headers=key), 409, "bulk-refused")
    slugs = [(line["line"], line["error"]["slug"]) for line in document["lines"]]
    assert slugs == [(1, "idempotency-key-reused"), (3, "bad-parameter")]


async def test_what_is_refused_as_a_whole_uses_up_one_phrase_of_a_kind(
    links: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[Link] = []
    with_phrase = links.parts.author.with_phrase

    async def counted(blank: Link) -> Link:
        drawn.append(blank)
        return await with_phrase(blank)

    monkeypatch.setattr(links.parts.author, "with_phrase", counted)
    lines = [b"nonsense", *[wish()] * 20, *[wish(theme="animals")] * 20]
    assert_problem(await links.send_lines(*lines, query="?atomic=true"), 400, "bulk-refused")
    assert [link.theme for link in drawn] == [None, "animals"]


@pytest.mark.parametrize(
    ("error", "slug", "status", "defects"),
    [(OverflowError("hunter2"), "defect", 500, 1), (StoreTrouble("it is away"), "store-trouble", 503, 0)],
)
async def test_lines_beside_which_the_store_fails_are_told_so_and_the_others_are_made(
    links: Service, monkeypatch: pytest.MonkeyPatch, error: Exception, slug: str, status: int, defects: int
) -> None:
    monkeypatch.setattr(bulk_creating, "_AT_A_TIME", 3)
    monkeypatch.setattr(bulk_creating, "rated", RatedLog(get_logger("web")))
    add_many = links.stores.links.add_many

    async def fails_at_times(added: Sequence[Link], by: str, *, atomic: bool) -> Sequence[Link | None]:
        if any(link.title == "bad" for link in added):
            raise error
        return await add_many(added, by, atomic=atomic)

    monkeypatch.setattr(links.stores.links, "add_many", fails_at_times)
    with capture_logs() as logged:
        answer = await links.send_lines(wish(), wish(), wish(), wish(), b"nonsense", wish(title="bad"), wish())
    answers = lines_of(answer)
    assert ["phrase" in line for line in answers] == [True, True, True, False, False, False, True]
    told = [(line["line"], line["error"]["slug"], line["error"]["status"]) for line in answers[3:6]]
    assert told == [(4, slug, status), (5, "bad-parameter", 400), (6, slug, status)]
    assert "hunter2" not in answer.text
    assert [(line["log_level"], line["path"]) for line in logged] == [("error", "/v1/links/bulk")] * defects


@pytest.mark.parametrize("query", ["", "?atomic=true"])
async def test_others_get_their_turn_among_many_lines(
    links: Service, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    at_a_stretch, longest = 0, 0

    async def beat() -> None:
        nonlocal at_a_stretch
        while True:
            at_a_stretch = 0
            await asyncio.sleep(0)

    def counted(work: Callable[..., Any]) -> Callable[..., Any]:
        def count(*given: Any, **more: Any) -> Any:
            nonlocal at_a_stretch, longest
            at_a_stretch += 1
            longest = max(longest, at_a_stretch)
            return work(*given, **more)

        return count

    for room, name in ((bulk_creating, "read_new_link"), (author, "prepare"), (bulk_creating, "show_link")):
        monkeypatch.setattr(room, name, counted(getattr(room, name)))
    beating = asyncio.create_task(beat())
    assert len(lines_of(await links.send_lines(*[wish()] * 500, query=query))) == 500
    await end(beating)
    assert 0 < longest <= 50


@pytest.mark.parametrize("query", ["", "?atomic=true"])
async def test_a_repeated_request_makes_nothing_more_and_gets_the_same_answer(links: Service, query: str) -> None:
    once = {"Idempotency-Key": "k"}
    lines = [wish(), wish(phrase="otter"), wish(), wish(password="hunter2")]
    first = await links.send_lines(*lines, query=query, headers=once)
    again = await links.send_lines(*lines, query=query, headers=once)
    assert (again.status_code, lines_of(again)) == (200, lines_of(first))
    assert len((await links.get("/v1/links")).json()["links"]) == 4


async def test_a_request_that_broke_off_is_taken_up_by_its_repetition(links: Service) -> None:
    once = {"Idempotency-Key": "k"}
    lines = [wish(title=f"{number}") for number in range(4)]
    part = lines_of(await links.send_lines(*lines[:2], headers=once))
    whole = lines_of(await links.send_lines(*lines, headers=once))
    assert whole[:2] == part
    assert len((await links.get("/v1/links")).json()["links"]) == 4


async def test_another_request_with_the_same_key_is_refused_line_by_line(links: Service) -> None:
    once = {"Idempotency-Key": "k"}
    await links.send_lines(wish(), headers=once)
    [refused] = lines_of(await links.send_lines(wish(title="x"), headers=once))
    assert refused["error"]["slug"] == "idempotency-key-reused"


async def test_the_same_target_is_used_again_also_within_one_request(links: Service) -> None:
    made = lines_of(await links.send_lines(wish(reuse=True), wish(reuse=True)))
    assert made[0]["id"] == made[1]["id"]


async def test_links_belong_to_the_key_they_were_made_with(links: Service) -> None:
    key = await links.key("links:write")
    [made] = lines_of(await links.send_lines(wish(), key=key))
    assert made["owner"] == key.split("_")[1]


@pytest.mark.parametrize(
    ("body", "status", "slug"),
    [
        (b"", 400, "too-many-lines"),
        (b"\n \r\n\n", 400, "too-many-lines"),
        (b"{}\n" * 10_001, 400, "too-many-lines"),
        (b"\n" * 1_000_000, 400, "too-many-lines"),
        (b"x" * (MOST_BYTES + 1), 413, "body-too-large"),
    ],
    ids=["empty", "blank", "too many", "a bomb of lines", "too large"],
)
async def test_too_little_and_too_much_are_refused(links: Service, body: bytes, status: int, slug: str) -> None:
    answer = await links.ask("POST", "/v1/links/bulk", headers=NDJSON, content=body)
    assert_problem(answer, status, slug)


@pytest.mark.parametrize("method", ["PATCH", "DELETE", "PUT"])
async def test_a_long_body_is_for_making_many_links_alone(links: Service, method: str) -> None:
    answer = await links.ask(method, "/v1/links/bulk", headers=NDJSON, content=b" " * 100_000)
    assert_problem(answer, 413, "body-too-large")


async def test_a_word_that_stands_where_a_phrase_may_stand_is_no_phrase(links: Service) -> None:
    paths = [path[1:].split("/") for path in (await links.get("/openapi.json")).json()["paths"]]
    roots = {path[0] for path in paths}
    beside = {path[2] for path in paths if path[:2] == ["v1", "links"] and len(path) > 2}
    words = {word for word in roots | beside if not word.startswith("{")}
    assert {"v1", "bulk"} <= words
    for word in words:
        with pytest.raises(PhraseRefused):
            check_custom(word)


async def test_a_line_that_is_too_long_is_refused_alone(links: Service) -> None:
    long, short = lines_of(await links.send_lines(wish(title="x" * 70_000), wish()))
    assert (long["error"]["slug"], "phrase" in short) == ("too-many-lines", True)


@pytest.mark.parametrize(
    "line", [b"[" * 60_000, b'{"target":' * 5_000, b"\0", b"\xff", b'{"target":"\\ud800"}', b"1e999"]
)
async def test_a_line_that_would_hurt_a_reader_is_refused_alone(links: Service, line: bytes) -> None:
    refused, made = lines_of(await links.send_lines(line, wish()))
    assert (refused["line"], refused["error"]["slug"], "phrase" in made) == (1, "bad-parameter", True)


async def test_only_so_many_different_passwords_are_hashed_in_one_request(
    links: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passwords, "hash_password", lambda password: f"hash of {password}")
    answers = lines_of(await links.send_lines(*[wish(password=f"{number}") for number in range(102)]))
    assert [line["error"]["parameter"] for line in answers if "error" in line] == ["password"] * 2


async def test_a_content_type_that_a_form_can_send_is_not_taken(links: Service) -> None:
    answer = await links.ask("POST", "/v1/links/bulk", headers={"Content-Type": "text/plain"}, content=b"{}")
    assert_problem(answer, 415, "unsupported-content-type")


async def test_who_may_not_is_told_before_anything_is_read(links: Service) -> None:
    key = await links.key("links:read")
    answer = await links.send_lines(b"x" * 1000, key=key)
    assert_problem(answer, 403, "scope-missing")
    answer = await links.send_lines(wish(), peer="203.0.113.9")
    assert_problem(answer, 403, "loopback-only")


async def test_a_few_at_once_are_served_and_many_are_sent_away(links: Service) -> None:
    answers = await asyncio.gather(*(links.send_lines(*[wish()] * 200) for _ in range(16)))
    statuses = sorted(answer.status_code for answer in answers)
    assert statuses == [200] * 10 + [429] * 6
    assert_problem(next(answer for answer in answers if answer.status_code == 429), 429, "too-many-at-once")
    assert (await links.send_lines(wish())).status_code == 200


@pytest.mark.parametrize("value", ["yes", "1", "", "True"])
async def test_atomic_is_true_or_false(links: Service, value: str) -> None:
    answer = await links.send_lines(wish(), query=f"?atomic={value}")
    assert assert_problem(answer, 400, "bad-parameter")["parameter"] == "atomic"


LINES = st.one_of(
    st.binary(max_size=40).filter(lambda line: b"\n" not in line),
    st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=4),
    st.fixed_dictionaries({"target": st.text() | st.just(TARGET)}, optional={"title": st.text(), "phrase": st.text()}),
)


async def test_whatever_is_sent_each_line_gets_one_answer(tmp_path: Path) -> None:
    async with link_service(tmp_path) as links:
        loop = asyncio.get_running_loop()

        @given(st.lists(LINES, min_size=1, max_size=8))
        @hypothesis_settings(max_examples=60)
        def check(lines: list[object]) -> None:
            answer = asyncio.run_coroutine_threadsafe(links.send_lines(*lines, wish()), loop).result(30)
            blank = sum(isinstance(line, bytes) and not line.strip() for line in lines)
            assert answer.status_code == 200, answer.text
            assert len(lines_of(answer)) == len(lines) + 1 - blank

        await asyncio.to_thread(check)
