"""Links over HTTP: made, looked at and followed, on the store that a laptop has."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from starlette.types import ASGIApp
from structlog.testing import capture_logs

from unit.support_web import BASE, ask, assert_problem
from waypost.bootstrap import Stores, open_stores
from waypost.kernel.ids import new_id
from waypost.settings import load_settings
from waypost.sharing.links.author import Author
from waypost.sharing.links.link import Link
from waypost.sharing.visits.shipper import Shipper
from waypost.sharing.visits.spool import Spool
from waypost.telemetry.metrics import VISITS_LOST
from waypost.web.app import make_app
from waypost.web.guard import WriteGuard
from waypost.web.links import Sharing

NOW = datetime.now(UTC)
TARGET = "https://example.org/a/page?of=ours#here"


@dataclass
class Service:
    """A links server without its socket."""

    app: ASGIApp
    stores: Stores
    shipper: Shipper

    async def create(self, target: object = TARGET, **more: object) -> httpx.Response:
        return await ask(self.app, "POST", "/v1/links", json={"target": target, **more})

    async def get(self, path: str, method: str = "GET") -> httpx.Response:
        return await ask(self.app, method, path)

    async def visits(self, phrase: str) -> int:
        await self.shipper.ship()
        answer = await self.get(f"/v1/links/{phrase}")
        return int(answer.json()["visits"])


@asynccontextmanager
async def service(folder: Path, *, public_url: str = "", spool: int = 1_000_000) -> AsyncIterator[Service]:
    settings = load_settings({"data": str(folder)}, environ={})
    async with open_stores(settings) as stores:
        shipper = Shipper(Spool(settings.spool, most_bytes=spool), stores.visits)
        author = Author(stores.links, settings.sharing.language, block=10)
        sharing = Sharing(author, stores.links, stores.visits, shipper.record, public_url)
        yield Service(make_app(probes={}, guard=WriteGuard("127.0.0.1"), sharing=sharing), stores, shipper)
        await shipper.close()


@pytest.fixture
def using(tmp_path: Path) -> Callable[..., Any]:
    """Runs a piece of work with a service of the test's own."""

    def run(work: Callable[[Service], Awaitable[Any]], **more: Any) -> Any:
        async def with_service() -> Any:
            async with service(tmp_path, **more) as opened:
                return await work(opened)

        return asyncio.run(with_service())

    return run


Using = Callable[..., Any]


def test_a_new_link_is_answered_with_its_document(using: Using) -> None:
    async def work(links: Service) -> None:
        made = await links.create()
        assert (made.status_code, made.headers["cache-control"]) == (201, "no-store")
        document = made.json()
        phrase = document["phrase"]
        assert made.headers["location"] == f"/v1/links/{phrase}"
        assert document.pop("id")
        assert datetime.fromisoformat(document.pop("created_at")) >= NOW
        assert document == {
            "phrase": phrase,
            "url": f"{BASE}/{phrase}",
            "target": TARGET,
            "language": "en",
            "theme": None,
            "format": "kebab",
            "expires_at": None,
            "visits": 0,
            "disabled": False,
        }
        shown = await links.get(made.headers["location"])
        assert (shown.status_code, shown.json()) == (200, made.json())

    using(work)


def test_drawn_phrases_differ(using: Using) -> None:
    async def work(links: Service) -> set[str]:
        return {(await links.create()).json()["phrase"] for _ in range(25)}

    assert len(using(work)) == 25


def test_a_link_looks_as_it_does_from_outside(using: Using) -> None:
    async def work(links: Service) -> str:
        return str((await links.create(phrase="otter")).json()["url"])

    assert using(work, public_url="https://go.example.org/") == "https://go.example.org/otter"


def test_a_phrase_may_be_chosen_and_is_then_taken_in_every_spelling(using: Using) -> None:
    async def work(links: Service) -> None:
        made = await links.create(phrase="Summer-Party")
        assert (made.status_code, made.json()["phrase"], made.json()["language"]) == (201, "Summer-Party", None)
        for again in ("Summer-Party", "summer party", "SUMMER_PARTY", "Sümmerparty"):
            document = assert_problem(await links.create(phrase=again), 409, "phrase-taken")
            assert again in document["detail"]

    using(work)


@pytest.mark.parametrize("phrase", ["Łódź 2026", "über-straße", "My Party"])
def test_a_phrase_with_any_letter_can_be_made_shown_and_followed(using: Using, phrase: str) -> None:
    async def work(links: Service) -> None:
        made = await links.create(phrase=phrase)
        assert (made.status_code, made.json()["phrase"]) == (201, phrase)
        assert made.headers["location"] == f"/v1/links/{quote(phrase)}"
        assert made.json()["url"] == f"{BASE}/{quote(phrase)}"
        assert (await links.get(made.headers["location"])).status_code == 200
        assert (await links.get(f"/{phrase}")).status_code == 302

    with capture_logs():
        using(work)


@pytest.mark.parametrize(
    "phrase", ["api", "Health", "\N{SCRIPT CAPITAL H}ealth", "v1", "a", "", "-party", "party+", "x" * 61]
)
def test_a_phrase_that_will_not_do_is_refused(using: Using, phrase: str) -> None:
    async def work(links: Service) -> None:
        document = assert_problem(await links.create(phrase=phrase), 400, "phrase-refused")
        assert document["parameter"] == "phrase"

    using(work)


@pytest.mark.parametrize(
    "target",
    [
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        "\tjava\nscript:alert(1)",
        "data:text/html,<script>alert(1)</script>",
        "vbscript:x",
        "file:///etc/passwd",
        "ftp://example.org",
        "mailto:ada@example.org",
        "https://ada:secret@example.org",
        "https://ada@example.org",
        "https://@example.org",
        "https://example.org\\@evil.example",
        "https://example.org/\r\nSet-Cookie: a=b",
        "https://example.org/\0",
        "https://example.org/\x7f",
        "https://example.org/\N{RIGHT-TO-LEFT OVERRIDE}gpj.exe",
        "https://example.org/a b",
        "https://exa\tmple.org/",
        "https://",
        "https:///page",
        "https://:8080/",
        "https:example.org",
        "https://example.org:0/",
        "https://example.org:65536/",
        "https://example.org:http/",
        "https://[::1/",
        "//example.org",
        "example.org",
        "",
        " ",
    ],
)
def test_a_target_that_could_harm_a_visitor_is_refused(using: Using, target: str) -> None:
    async def work(links: Service) -> None:
        document = assert_problem(await links.create(target), 400, "target-refused")
        assert document["parameter"] == "target"
        assert "secret" not in document["detail"]

    using(work)


@pytest.mark.parametrize(
    ("body", "parameter"),
    [
        ({"target": TARGET, "owner": "ada"}, "owner"),
        ({"target": TARGET, "phrase": "otter", "disabled": True}, "disabled"),
        ({"target": "https://example.org/" + "x" * 2048}, "target"),
        ({"target": TARGET, "phrase": "x" * 201}, "phrase"),
        ({"target": 7}, "target"),
        ({"target": None}, "target"),
        ({}, "target"),
        ([], "body"),
        ("text", "body"),
    ],
)
def test_a_wish_that_cannot_be_understood_names_what_is_wrong(using: Using, body: object, parameter: str) -> None:
    async def work(links: Service) -> httpx.Response:
        return await ask(links.app, "POST", "/v1/links", json=body)

    answer = using(work)
    assert answer.status_code == 400
    assert answer.json()["parameter"] == parameter


def test_a_refused_wish_makes_no_link(using: Using) -> None:
    async def work(links: Service) -> int:
        await ask(links.app, "POST", "/v1/links", json={"target": TARGET, "phrase": "otter"}, peer="10.0.0.1")
        await links.create("javascript:alert(1)", phrase="otter")
        return (await links.get("/v1/links/otter")).status_code

    assert using(work) == 404


SPELLINGS = (
    "gently-golden-otter",
    "GentlyGoldenOtter",
    "gently_golden_otter",
    "GENTLY%20golden-OTTER",
    "g%C3%AAntlygoldenotter",
)


@pytest.mark.parametrize("typed", [*SPELLINGS, "ge\N{COMBINING CIRCUMFLEX ACCENT}ntly-golden-otter"])
def test_case_separators_and_accents_do_not_count_when_a_link_is_looked_up(using: Using, typed: str) -> None:
    async def work(links: Service) -> None:
        await links.create(phrase="gently-golden-otter")
        assert (await links.get(f"/v1/links/{typed}")).status_code == 200
        assert (await links.get(f"/{typed}")).headers.get("location") == TARGET

    using(work)


STRANGE = (
    "otter+",
    "otter.svg",
    "otter.png",
    "otter!",
    "otter%2B",
    "otter%00",
    "otter%0A",
    "otter@evil",
    "ot%E2%80%8Dter",
    "otter%E6%97%A5",
    "otter%D0%B1",
    "%D0%B1%D0%B1",
    "otter" + "-" * 200,
    "---",
)


@pytest.mark.parametrize("typed", STRANGE)
def test_what_only_contains_a_phrase_does_not_lead_to_its_link(using: Using, typed: str) -> None:
    async def work(links: Service) -> None:
        await links.create(phrase="otter")
        followed = await links.get(f"/{typed}")
        assert (followed.status_code, followed.headers["content-type"]) == (404, "text/html; charset=utf-8")
        assert_problem(await links.get(f"/v1/links/{typed}"), 404, "unknown-link")

    using(work)


def test_a_redirect_leads_to_the_target_and_is_never_kept(using: Using) -> None:
    async def work(links: Service) -> httpx.Response:
        await links.create(phrase="otter")
        return await links.get("/otter")

    answer = using(work)
    assert (answer.status_code, answer.headers["location"]) == (302, TARGET)
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    ("target", "location"),
    [
        ("https://example.org/日本?q=é#ü", "https://example.org/%E6%97%A5%E6%9C%AC?q=%C3%A9#%C3%BC"),
        ("https://пример.рф/", "https://xn--e1afmkfd.xn--p1ai/"),
        ("https://example.org/%E6%97%A5%2F?a=b%20c&d=[1]", "https://example.org/%E6%97%A5%2F?a=b%20c&d=[1]"),
        ("HTTPS://Example.ORG/Page", "HTTPS://Example.ORG/Page"),
        ("http://[::1]:8080/", "http://[::1]:8080/"),
    ],
)
def test_a_target_in_any_script_can_be_followed(using: Using, target: str, location: str) -> None:
    async def work(links: Service) -> httpx.Response:
        assert (await links.create(target, phrase="otter")).status_code == 201
        return await links.get("/otter")

    with capture_logs():
        answer = using(work)
    assert (answer.status_code, answer.headers.get("location")) == (302, location)


def test_a_get_is_a_visit_and_a_head_is_not(using: Using) -> None:
    async def work(links: Service) -> None:
        await links.create(phrase="otter")
        for _ in range(3):
            assert (await links.get("/otter")).status_code == 302
        head = await links.get("/otter", "HEAD")
        assert (head.status_code, head.headers["location"], head.content) == (302, TARGET, b"")
        await links.get("/v1/links/otter")
        assert await links.visits("otter") == 3

    using(work)


def test_an_unknown_phrase_gets_a_page_for_people(using: Using) -> None:
    async def work(links: Service) -> httpx.Response:
        return await links.get("/no-such-otter")

    answer = using(work)
    assert (answer.status_code, answer.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "No such link" in answer.text
    assert "default-src 'none'" in answer.headers["content-security-policy"]


@pytest.mark.parametrize("ended", [{"disabled": True}, {"expires_at": NOW - timedelta(seconds=1)}])
def test_a_link_that_has_ended_leads_nowhere_and_counts_nothing(using: Using, ended: dict[str, Any]) -> None:
    async def work(links: Service) -> None:
        await links.stores.links.add(
            Link(
                id=str(new_id()),
                phrase="otter",
                target=TARGET,
                language=None,
                theme=None,
                format="kebab",
                created_at=NOW,
                **ended,
            )
        )
        answer = await links.get("/otter")
        assert answer.status_code == 410
        assert "This link has ended" in answer.text
        assert "location" not in answer.headers
        assert await links.visits("otter") == 0

    using(work)


def test_a_full_spool_loses_visits_but_no_redirect(using: Using) -> None:
    async def work(links: Service) -> int:
        await links.create(phrase="otter")
        for _ in range(4):
            assert (await links.get("/otter")).status_code == 302
        return await links.visits("otter")

    before = VISITS_LOST._value.get()
    with capture_logs() as logged:
        assert using(work, spool=300) == 2
    assert VISITS_LOST._value.get() == before + 2
    assert {line["event"] for line in logged} == {"a visit is lost"}


@pytest.mark.parametrize("path", ["/docs", "/metrics", "/livez", "/openapi.json", "/"])
def test_no_phrase_hides_a_route(using: Using, path: str) -> None:
    async def work(links: Service) -> int:
        return (await links.get(path)).status_code

    with capture_logs():
        assert using(work) == 200


def test_the_description_names_each_operation_once(using: Using) -> None:
    async def work(links: Service) -> Any:
        return (await links.get("/openapi.json")).json()

    with capture_logs():
        paths = using(work)["paths"]
    names = [operation["operationId"] for methods in paths.values() for operation in methods.values()]
    assert len(set(names)) == len(names) > 0


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_a_phrase_can_only_be_followed(using: Using, method: str) -> None:
    async def work(links: Service) -> httpx.Response:
        return await links.get("/otter", method)

    assert_problem(using(work), 405, "http-error")
