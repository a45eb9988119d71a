"""Pages for people: made here, loading nothing from elsewhere, and no way from them into the package."""

import asyncio
import re
from html.parser import HTMLParser
from importlib import resources

import pytest
from starlette.types import ASGIApp, Message

from support.asking import get, send_raw
from waypost.web.app import make_app
from waypost.web.http.authentication import WriteGuard
from waypost.web.http.local_trust import LocalTrust

TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
ASSETS = sorted(file.name for file in resources.files("waypost.web").joinpath("static").iterdir())
PAGES = ("/-/", "/docs", "/-/no-such-page")


@pytest.fixture(scope="module")
def app() -> ASGIApp:
    async def status() -> dict[str, int]:
        return {"places": 7}

    return make_app(probes={}, guard=WriteGuard(LocalTrust.on("127.0.0.1")), status=status)


class Loaded(HTMLParser):
    """What a browser would fetch for a page, and what would run in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.inline: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.addresses += [str(given[name]) for name in ("src", "srcset", "data", "action") if name in given]
        if tag in {"link", "base"}:
            self.addresses.append(str(given.get("href")))
        self.inline += [name for name in given if name.startswith("on") or name == "style"]
        if tag == "style" or (tag == "script" and "src" not in given):
            self.inline.append(tag)


@pytest.mark.parametrize("path", PAGES)
def test_a_page_loads_nothing_from_elsewhere_and_runs_nothing_inline(app: ASGIApp, path: str) -> None:
    loaded = Loaded(get(app, path).text)
    assert loaded.addresses
    assert [address for address in loaded.addresses if re.match(r"[a-z]+:|//", address)] == []
    assert loaded.inline == []


@pytest.mark.parametrize("path", [*PAGES, *(f"/-/{name}" for name in ASSETS)])
def test_every_page_and_asset_has_a_policy_that_allows_only_our_own(app: ASGIApp, path: str) -> None:
    answer = get(app, path)
    policy = dict(part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert {policy["script-src"], policy["style-src"], policy["connect-src"], policy["form-action"]} == {"'self'"}
    assert (policy["base-uri"], policy["frame-ancestors"]) == ("'none'", "'none'")
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("name", ASSETS)
def test_every_asset_has_its_type_and_names_no_other_site(app: ASGIApp, name: str) -> None:
    answer = get(app, f"/-/{name}")
    assert answer.status_code == 200
    assert answer.headers["content-type"].partition(";")[0] == TYPES[name.rpartition(".")[2]]
    elsewhere = re.findall(r"https?://(?!www\.w3\.org/)[\w.-]+\.\w+|@import|url\(\s*['\"]?(?:\w+:)?//", answer.text)
    assert elsewhere == []


def test_whatever_the_page_refers_to_is_there(app: ASGIApp) -> None:
    for address in Loaded(get(app, "/-/").text).addresses:
        assert get(app, f"/-/{address}").status_code == 200


def test_the_page_is_found_without_its_slash(app: ASGIApp) -> None:
    answer = get(app, "/-")
    assert (answer.status_code, answer.headers["location"]) == (308, "/-/")


@pytest.mark.parametrize(
    "path",
    [
        "/-/../settings.py",
        "/-/../../settings.py",
        "/-/static/../pages.py",
        "/-/./index.html",
        "/-//etc/passwd",
        "/-/..\\pages.py",
        "/-/pages.py",
        "/-/index.html\0",
        "/-/index.html/",
        "/-/INDEX.HTML",
    ],
)
def test_there_is_no_way_from_the_assets_to_anything_else(app: ASGIApp, path: str) -> None:
    sent: list[Message] = []
    asyncio.run(send_raw(app, "GET", path, sent=sent))
    assert sent[0]["status"] == 404
    assert b"No such page" in sent[1]["body"]


@pytest.mark.parametrize(
    "path", ["/-/%2e%2e/", "/-/%2e%2e/settings.py", "/-/%2e%2e%2fsettings.py", "/-/..%5csettings.py"]
)
def test_an_encoded_way_out_is_no_way_out(app: ASGIApp, path: str) -> None:
    assert get(app, path).status_code == 404


def test_what_a_page_says_cannot_become_part_of_it(app: ASGIApp) -> None:
    assert "<script>alert" not in get(app, "/-/<script>alert(1)</script>").text


def test_people_are_led_to_the_page_and_programs_to_the_description(app: ASGIApp) -> None:
    person = get(app, "/", headers={"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    assert (person.status_code, person.headers["location"], person.headers["vary"]) == (303, "/-/", "Accept")
    program = get(app, "/")
    assert {link["rel"] for link in program.json()["links"]} == {"self", "service-desc", "service-doc"}
    for link in program.json()["links"]:
        assert get(app, link["href"]).status_code == 200


def test_without_a_page_people_are_not_led_to_one() -> None:
    bare = make_app(probes={}, guard=WriteGuard(LocalTrust.on("127.0.0.1")))
    assert get(bare, "/", headers={"Accept": "text/html"}).status_code == 200


def test_the_documentation_lists_every_route_of_the_description(app: ASGIApp) -> None:
    text = get(app, "/docs").text
    for path, methods in get(app, "/openapi.json").json()["paths"].items():
        for method in methods:
            assert f"<code>{method.upper()} {path}</code>" in text


def test_frameworks_own_documentation_is_not_there(app: ASGIApp) -> None:
    for path in ("/redoc", "/docs/oauth2-redirect"):
        assert get(app, path).status_code == 404


def test_the_status_behind_the_page_is_never_kept(app: ASGIApp) -> None:
    answer = get(app, "/-/status")
    assert (answer.json(), answer.headers["cache-control"]) == ({"places": 7}, "no-store")
