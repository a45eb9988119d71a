"""Redirects in front of FastAPI: the same bytes and the same visits as behind it, on a real socket."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from typing import Any, cast

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.links import a_link
from support.processes import eventually
from support.raw_client import Client
from support.web_server import served
from waypost.settings import load_settings
from waypost.sharing.blocks.live import LiveBlocks
from waypost.sharing.links.link import Link
from waypost.sharing.links.store import LinkStore
from waypost.sharing.phrases.matching import fold_phrase
from waypost.sharing.reports.store import ReportStore
from waypost.sharing.visits.day_keys import DayKeys
from waypost.sharing.visits.visit import Visit
from waypost.sharing.visits.visitors import Observer
from waypost.telemetry.metrics import HTTP_REQUESTS, REDIRECTS
from waypost.web.app import make_app
from waypost.web.follow.hot_path import RedirectPath
from waypost.web.follow.link_cache import LinkCache
from waypost.web.follow.password_checking import PasswordChecker
from waypost.web.follow.route_dependencies import FollowParts
from waypost.web.http.authentication import WriteGuard
from waypost.web.http.local_trust import LocalTrust
from waypost.web.http.proxies import Proxies
from waypost.web.settings import parse_networks

NOW = datetime.now(UTC)
OTTER = b"GET /gently-golden-otter HTTP/1.1\r\nHost: go.example.org\r\n\r\n"
LINKS = [
    a_link("gently-golden-otter", 1),
    a_link("Summer_Party", 2, target="https://example.org/?a=1#b", forward_query=True),
    a_link("my party", 3),
    a_link("Łódź 2026", 4),
    a_link("ended", 5, disabled=True),
    a_link("deleted", 6, deleted=True),
    a_link("expired", 7, expires_at=NOW - timedelta(days=1)),
    a_link("expiring", 8, expires_at=NOW + timedelta(days=1)),
    a_link("protected", 9, password="sesame"),
    a_link("limited", 10, max_visits=10**9),
    a_link("used-up", 11, max_visits=0),
    a_link("collections-of-art", 12),
    a_link("a-place", 13, target="/collections/places/items/13", place_id="13"),
]


class Shelf:
    """Links that any event loop can read."""

    def __init__(self, links: list[Link]) -> None:
        self.links = {fold_phrase(link.phrase): link for link in links}
        self.asked = 0

    async def find_many(self, phrases: Sequence[str]) -> list[Link | None]:
        self.asked += 1
        await asyncio.sleep(0)
        return [self.links.get(fold_phrase(each)) for each in phrases]

    async def count_up(self, _link_id: str, most: int) -> bool:
        return most > 0


class SameKeys(DayKeys):
    """Both servers are of one fleet."""

    def __init__(self) -> None:
        self._keys: dict[date, bytes] = {}

    def of(self, day: date) -> bytes:
        return day.isoformat().encode()


class Server:
    def __init__(self, *, is_hot: bool) -> None:
        self.visits: list[Visit] = []
        self.shelf = Shelf(LINKS)
        chosen = load_settings(environ={}).redirect
        store = cast("LinkStore", self.shelf)
        self.parts = FollowParts(
            links=store,
            reports=cast("ReportStore", None),
            blocks=cast("LiveBlocks", None),
            cache=LinkCache(store, chosen),
            observer=Observer(SameKeys()),
            record=self.visits.append,
            record_line=lambda line: self.visits.append(msgspec.json.decode(line, type=Visit)),
            passwords=PasswordChecker(lambda hashed, password: hashed == password, pause=0),
            settings=chosen,
            proxies=Proxies(parse_networks("127.0.0.1")),
        )
        self.app = make_app(probes={}, guard=WriteGuard(LocalTrust.on("127.0.0.1")), follow=self.parts)
        if not is_hot:
            self.app.redirects = None

    def told(self) -> list[dict[str, Any]]:
        """The visits since the last look, without what is of the moment."""
        told = [msgspec.structs.asdict(visit) for visit in self.visits]
        self.visits.clear()
        return [{name: value for name, value in visit.items() if name not in {"id", "at"}} for visit in told]


class Pair:
    """A server with the hot path, and one without it."""

    def __init__(self, hot: tuple[Server, str], plain: tuple[Server, str]) -> None:
        self.servers, self.addresses = (hot[0], plain[0]), (hot[1], plain[1])
        self.hot, self.plain = Client(hot[1]), Client(plain[1])

    def compare(self, request: bytes) -> None:
        """Twice: the first time may be the one that brings the link into memory."""
        for _ in range(2):
            assert self.hot.ask(request) == self.plain.ask(request)
            assert self.servers[0].told() == self.servers[1].told()


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    hot, plain = Server(is_hot=True), Server(is_hot=False)
    with served(hot.app) as one, served(plain.app) as two:
        both = Pair((hot, one), (plain, two))
        with closing(both.hot), closing(both.plain):
            yield both


PHRASES = st.sampled_from(
    [
        *(link.phrase.replace(" ", "%20") for link in LINKS if link.phrase.isascii()),
        "GentlyGoldenOtter",
        "GENTLY_golden-otter",
        "gently%2Dgolden-otter",
        "gently-golden-otter+",
        "gently-golden-otter.svg",
        "gently-golden-otter/",
        "%C5%81%C3%B3d%C5%BA-2026",
        "lodz2026",
        "myparty",
        "no-such-otter",
        "livez",
        "robots.txt",
        "",
        "-",
        "collections",
    ]
)
QUERIES = st.sampled_from(["", "", "", "?", "?a=2&b=3", "?c=%0d%0a", "#fragment"])
HEADERS = st.lists(
    st.sampled_from(
        [
            "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0",
            "User-Agent: Twitterbot/1.0",
            "User-Agent: \xff\xfe",
            "Referer: https://news.example/front?user=7",
            "Referer: javascript:alert(1)",
            "Accept-Language: de-AT, en;q=0.5",
            "DNT: 1",
            "DNT: 0",
            "Sec-GPC: 1",
            "Sec-Purpose: prefetch",
            "X-Forwarded-For: 203.0.113.7",
            "X-Forwarded-For: 198.51.100.66, 203.0.113.7, 127.0.0.1",
            "Forwarded: for=203.0.113.9",
            "Origin: https://elsewhere.example",
            "Cookie: a=b",
            "Content-Length: 0",
            "Connection: keep-alive",
            "Accept-Encoding: gzip, zstd",
        ]
    ),
    max_size=5,
).map(tuple)


@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(phrase=PHRASES, query=QUERIES, headers=HEADERS, method=st.sampled_from(["GET", "GET", "GET", "HEAD"]))
def test_both_give_the_same_bytes_and_record_the_same_visits(
    pair: Pair, phrase: str, query: str, headers: tuple[str, ...], method: str
) -> None:
    lines = [f"{method} /{phrase}{query} HTTP/1.1", "Host: go.example.org", *headers, "", ""]
    pair.compare("\r\n".join(lines).encode("latin-1"))


TAKES: list[tuple[str, tuple[str, ...]]] = [
    ("gently-golden-otter", ()),
    ("GentlyGoldenOtter", ("User-Agent: curl/8.5.0", "Accept: */*")),
    ("expiring", ("Connection: keep-alive", "DNT: 1")),
    ("Summer_Party", ("Referer: https://news.example/",)),
    ("collections-of-art", ("X-Forwarded-For: 203.0.113.7",)),
    ("a-place", ()),
]
LEAVES: list[tuple[str, tuple[str, ...]]] = [
    ("gently-golden-otter?a=1", ()),
    ("gently-golden-otter", ("User-Agent: Slackbot 1.0",)),
    ("gently-golden-otter", ("Sec-Purpose: prefetch",)),
    ("gently-golden-otter", ("Connection: close",)),
    ("protected", ()),
    ("limited", ()),
    ("ended", ()),
    ("deleted", ()),
    ("expired", ()),
    ("no-such-otter", ()),
    ("my%20party", ()),
]


@pytest.mark.parametrize(
    ("phrase", "headers", "is_taken"),
    [(*each, True) for each in TAKES] + [(*each, False) for each in LEAVES],
)
def test_the_hot_path_takes_what_is_plain_and_leaves_the_rest(
    pair: Pair, monkeypatch: pytest.MonkeyPatch, phrase: str, headers: tuple[str, ...], *, is_taken: bool
) -> None:
    """Otherwise the comparison above would compare one path with itself."""
    taken: list[bool] = []
    answer = RedirectPath.answer

    def watched(self: RedirectPath, *asked: Any) -> Any:
        written = answer(self, *asked)
        taken.append(written is not None)
        return written

    monkeypatch.setattr(RedirectPath, "answer", watched)
    request = "\r\n".join([f"GET /{phrase} HTTP/1.1", "Host: go.example.org", *headers, "", ""]).encode()
    for _ in range(2):
        with closing(Client(pair.addresses[0])) as client:
            client.ask(request)
    pair.servers[0].visits.clear()
    assert taken[-1] is is_taken


def test_a_visit_is_written_down_before_the_answer(pair: Pair) -> None:
    for _ in range(2):
        pair.hot.ask(OTTER)
        assert len(pair.servers[0].told()) == 1


def test_a_change_is_seen_by_the_next_request(pair: Pair) -> None:
    server = pair.servers[0]
    assert b"302" in pair.hot.ask(OTTER)[0]
    link = server.shelf.links["gentlygoldenotter"]
    try:
        for changes, status in (({"target": "https://example.org/new"}, b"302"), ({"disabled": True}, b"410")):
            server.shelf.links["gentlygoldenotter"] = msgspec.structs.replace(link, **cast("dict[str, Any]", changes))
            server.parts.cache.invalidate("gently golden OTTER")
            head, _ = pair.hot.ask(OTTER)
            assert status in head
    finally:
        server.shelf.links["gentlygoldenotter"] = link
        server.parts.cache.invalidate(link.phrase)
        server.visits.clear()


def test_the_store_is_not_asked_for_what_is_in_memory(pair: Pair) -> None:
    pair.hot.ask(OTTER)
    asked = pair.servers[0].shelf.asked
    for _ in range(50):
        pair.hot.ask(OTTER)
    assert pair.servers[0].shelf.asked == asked
    assert len(pair.servers[0].told()) == 51


def test_a_link_ends_at_its_moment_though_it_is_in_memory(pair: Pair) -> None:
    server = pair.servers[0]
    link = a_link("brief", 20, expires_at=datetime.now(UTC) + timedelta(hours=1))
    server.shelf.links["brief"] = link
    request = OTTER.replace(b"gently-golden-otter", b"brief")
    pair.hot.ask(request)
    known = server.parts.cache.hit(b"brief", 0.0)
    assert known
    known.ends = 0.0
    # The long way decides by the link itself.
    assert b"302" in pair.hot.ask(request)[0]
    known.link = msgspec.structs.replace(link, expires_at=NOW - timedelta(hours=1))
    assert b"410" in pair.hot.ask(request)[0]
    server.visits.clear()


def test_requests_in_one_write_are_answered_in_their_order(pair: Pair) -> None:
    requests = [OTTER, OTTER.replace(b"gently-golden-otter", b"livez"), OTTER] * 10
    pair.hot.sock.sendall(b"".join(requests))
    got = [pair.hot.read() for _ in requests]
    assert got == [pair.plain.ask(request) for request in requests]
    assert pair.servers[0].told() == pair.servers[1].told()


def test_a_request_may_arrive_byte_by_byte(pair: Pair) -> None:
    pair.hot.ask(OTTER)
    for at in range(len(OTTER)):
        pair.hot.sock.sendall(OTTER[at : at + 1])
    assert pair.hot.read() == pair.plain.ask(OTTER)
    for server in pair.servers:
        server.visits.clear()


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"GET /gently-golden-otter HTTP/1.1\r\n\r\n",
        b"GET /gently-golden-otter HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET /gently-golden-otter HTTP/1.1\r\nHost: a\r\nBad Name: b\r\n\r\n",
        b"GET /gently-golden-otter HTTP/1.1\r\nHost a\r\n\r\n",
        b"GET /gently-golden-otter HTTP/1.1\nHost: a\n\n",
        b"GET /gently-golden-otter HTTP/1.0\r\nHost: a\r\n\r\n",
        b"GET  /gently-golden-otter HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET http://a/gently-golden-otter HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET /my party HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /Łódź-2026 HTTP/1.1\r\nHost: a\r\n\r\n".encode(),
        b"GET /gently-golden-otter HTTP/1.1 HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET /gently-golden-otter HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
        b"GET /gently-golden-otter HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"GET /gently-golden-otter HTTP/1.1\r\nHost: a\r\nProxy-Connection: close\r\n\r\n",
        b"GET /gently-golden-otter HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
        b"GET /gently-golden-otter HTTP/1.1\r\nHost: a\r\nConnection: close\r\nConnection: keep-alive\r\n\r\n",
        b"get /gently-golden-otter HTTP/1.1\r\nHost: a\r\n\r\n",
        b"\r\nGET /gently-golden-otter HTTP/1.1\r\nHost: a\r\n\r\n",
    ],
)
def test_unusual_requests_are_answered_as_without_the_hot_path(pair: Pair, request_bytes: bytes) -> None:
    pair.hot.ask(OTTER)
    pair.plain.ask(OTTER)
    answers = []
    for address in pair.addresses:
        with closing(Client(address)) as client:
            answers.append(client.ask(request_bytes))
    assert answers[0] == answers[1]
    assert pair.servers[0].told() == pair.servers[1].told()


def test_redirects_are_counted_by_both_metrics(pair: Pair) -> None:
    def counted() -> tuple[float, float]:
        requests = HTTP_REQUESTS.labels("/{phrase}", "GET", "302")
        return requests._value.get(), REDIRECTS.labels("followed")._value.get()

    path = pair.servers[0].app.redirects
    assert path
    eventually(lambda: not path._measured, "all is counted")
    before = counted()
    for _ in range(3):
        pair.hot.ask(OTTER)
    eventually(lambda: counted() == (before[0] + 3, before[1] + 3), "the redirects are counted")
    pair.servers[0].visits.clear()
