"""The hot path answers as FastAPI does behind it: the same bytes for whatever is asked, on a real socket."""

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from support.processes import eventually
from support.raw_client import Client
from support.snapshots import shelve, stations
from support.web_server import places_app, served
from waypost.places.place import place_id
from waypost.telemetry.logs import get_logger
from waypost.telemetry.metrics import HOT_PATH_DEFECTS, HTTP_REQUESTS
from waypost.telemetry.rated_log import RatedLog
from waypost.web.http import connection
from waypost.web.places.hot_path import HotPath

PLACES = stations(1200)
OLD = [str(place_id(f"sim:{number}")) for number in range(0, 30, 7)]


class Pair:
    """Two servers on one folder, one with the hot path and one without it."""

    def __init__(self, hot: str, plain: str, older: str, front: HotPath) -> None:
        self.addresses, self.older, self.front = (hot, plain), older, front
        self.hot, self.plain = Client(hot), Client(plain)

    def compare(self, target: str, *, method: str = "GET", headers: tuple[str, ...] = ()) -> tuple[bytes, bytes]:
        # The same Host for both: it is in the links.
        lines = [f"{method} {target} HTTP/1.1", "Host: places.example.org", *headers, "", ""]
        request = "\r\n".join(lines).encode()
        hot, plain = self.hot.ask(request), self.plain.ask(request)
        assert hot == plain
        return hot


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    folder: Path = tmp_path_factory.mktemp("snapshots")
    older = shelve(folder, PLACES[:600])
    shelve(folder, PLACES, hours=1)
    hot, plain = (
        places_app(folder, most=1000, cors=("https://map.example.org",)),
        places_app(folder, most=1000, cors=("https://map.example.org",)),
    )
    plain.hot = None
    assert hot.hot
    with served(hot) as one, served(plain) as two:
        both = Pair(one, two, older, hot.hot)
        with closing(both.hot), closing(both.plain):
            yield both


@pytest.fixture
def addresses(pair: Pair) -> tuple[str, str]:
    return pair.addresses


def numbers(least: float, most: float) -> st.SearchStrategy[str]:
    return st.floats(least, most).map(repr) | st.integers(int(least), int(most)).map(str)


def joined(*parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(*parts).map(",".join)


LON, LAT = numbers(-200, 200), numbers(-95, 95)
ANYTHING = st.text(max_size=20).map(lambda text: quote(text, safe="/:,."))
PARAMETERS = {
    "bbox": joined(LON, LAT, LON, LAT),
    "near": joined(LAT, LON),
    "radius": numbers(-10, 10_000_000),
    "q": st.sampled_from(["stat", "koln", "K%C3%B6ln", "station+1", "%21", ""]),
    "datetime": st.sampled_from(["2026-11-01", "2026-11-01/..", "../2026-11-01T00:00:00Z", "../..", "2026"]),
    "country": st.sampled_from(["DE", "de", "DE,FR", "XX", "D"]),
    "operator": st.sampled_from([quote("Łódź Power"), "nobody"]),
    "status": st.sampled_from(["operational", "closed", "open"]),
    "source": st.sampled_from(["sim", "ocm"]),
    "category": st.sampled_from(["charging", "parking"]),
    "power_from": numbers(-1, 400),
    "limit": st.integers(-1, 2000).map(str),
    "cursor": st.integers(0, 1500).map(str),
    "f": st.sampled_from(["json", "html", "xml"]),
}


@st.composite
def queries(draw: st.DrawFn) -> str:
    names = draw(st.lists(st.sampled_from(sorted(PARAMETERS)), max_size=4))
    pairs = [f"{name}={draw(PARAMETERS[name] | ANYTHING)}" for name in names]
    if draw(st.integers(0, 9)) == 0:
        pairs.append(f"{draw(ANYTHING)}={draw(ANYTHING)}")
    return "&".join(pairs)


PATHS = st.sampled_from(
    [
        "/v1/places",
        "/collections/places/items",
        "/v1/places/counts",
        "/v1/places/",
        "/v1/places/a/b",
        "/v1/places/link",
        "/v1/places/sim:3/link",
        "/v1/places/sim:3/",
        "/collections/places/items/link",
        "/collections/places/items/",
        *(f"{path}/{place}" for path in ("/v1/places", "/collections/places/items") for place in (*OLD, "sim:3", "x")),
        "/v1/places/sim%3A3",
        "/tiles/0/0/0.mvt",
        "/tiles/3/4/2.mvt",
        "/tiles/3/9/2.mvt",
        "/tiles/25/0/0.mvt",
        "/tiles/a/0/0.mvt",
        "/tiles/0/0.mvt",
        "//v1/places",
    ]
)
HEADERS = st.lists(
    st.sampled_from(
        [
            "Accept: text/html",
            "Accept: application/geo+json;q=0.5, text/html",
            "Accept: */*",
            "Accept-Encoding: gzip, deflate, br, zstd",
            "Accept-Encoding: gzip",
            "Accept-Encoding: gzip;q=0, zstd;q=0",
            "Origin: https://map.example.org",
            "Origin: https://elsewhere.example.org",
            "If-None-Match: *",
            'If-None-Match: "another"',
            "Content-Length: 0",
        ]
    ),
    max_size=3,
    unique_by=lambda line: line.partition(":")[0],
).map(tuple)


@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(path=PATHS, query=queries(), headers=HEADERS, method=st.sampled_from(["GET", "GET", "HEAD", "POST"]))
def test_both_give_the_same_bytes(pair: Pair, path: str, query: str, headers: tuple[str, ...], method: str) -> None:
    if method == "POST":
        headers = tuple(line for line in headers if not line.startswith("Content-Length"))
    pair.compare(f"{path}?{query}" if query else path, method=method, headers=headers)


@pytest.mark.parametrize("headers", [(), ("Accept-Encoding: zstd",), ("Accept-Encoding: gzip",)])
@pytest.mark.parametrize("limit", [1, 100, 1000])
def test_both_give_the_same_answers_of_every_size(pair: Pair, limit: int, headers: tuple[str, ...]) -> None:
    _, body = pair.compare(f"/v1/places?limit={limit}", headers=headers)
    assert body


def test_both_answer_from_a_generation_that_was_not_open(pair: Pair) -> None:
    head, body = pair.compare(f"/v1/places?generation={pair.older}&cursor=100&limit=3")
    assert head.startswith(b"HTTP/1.1 200")
    assert pair.older.encode() in body
    head, _ = pair.compare("/v1/places?generation=20200101T000000Z-00000000")
    assert head.startswith(b"HTTP/1.1 410")


def test_both_know_what_a_client_has(pair: Pair) -> None:
    head, _ = pair.compare("/v1/places?limit=50", headers=("Accept-Encoding: gzip",))
    tag = re.search(rb"etag: (\S+)", head)
    assert tag
    assert tag[1].endswith(b'-gzip"')
    again, body = pair.compare("/v1/places?limit=50", headers=(f"If-None-Match: {tag[1].decode()}",))
    assert again.startswith(b"HTTP/1.1 304")
    assert body == b""


def test_requests_in_one_write_are_answered_in_their_order(pair: Pair) -> None:
    """Also where those of the hot path come between others, and where their answers are more than is sent at once."""
    targets = ["/v1/places/sim:1", "/conformance", "/v1/places?limit=900", "/v1/places/sim:2", "/livez"] * 8
    requests = b"".join(f"GET {target} HTTP/1.1\r\nHost: places.example.org\r\n\r\n".encode() for target in targets)
    pair.hot.sock.sendall(requests)
    got = [pair.hot.read() for _ in targets]
    for target, answer in zip(targets, got, strict=True):
        assert answer == pair.plain.ask(f"GET {target} HTTP/1.1\r\nHost: places.example.org\r\n\r\n".encode())


def test_a_request_may_arrive_byte_by_byte(pair: Pair) -> None:
    request = b"GET /v1/places/sim:1 HTTP/1.1\r\nHost: places.example.org\r\n\r\n"
    for at in range(len(request)):
        pair.hot.sock.sendall(request[at : at + 1])
    assert pair.hot.read() == pair.plain.ask(request)


def test_the_hot_path_counts_its_requests(pair: Pair) -> None:
    def counted() -> float:
        return float(HTTP_REQUESTS.labels("/v1/places/{place}", "GET", "200")._value.get())

    # They are counted about once a second; nothing of what others asked is to come.
    eventually(lambda: not pair.front._measured, "all is counted")
    before = counted()
    pair.hot.ask(b"GET /v1/places/sim:1 HTTP/1.1\r\nHost: places.example.org\r\n\r\n")
    eventually(lambda: counted() == before + 1, "the request is counted")


def test_these_requests_really_take_the_hot_path(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the comparisons above would compare one path with itself."""
    taken: list[bytes] = []
    answer = HotPath.answer

    def watched(self: HotPath, data: bytes, *more: object) -> object:
        given = answer(self, data, *more)  # type: ignore[arg-type] # passed on as they came
        if given:
            taken.append(data.split()[1])
        return given

    monkeypatch.setattr(HotPath, "answer", watched)
    targets = ["/v1/places/sim:1", "/v1/places?limit=5", "/collections/places/items?limit=5&f=html", "/tiles/0/0/0.mvt"]
    for headers in ((), ("Connection: keep-alive", "Accept: */*"), ("If-None-Match: *",)):
        taken.clear()
        for target in targets:
            pair.compare(target, headers=headers)
        assert taken == [target.encode() for target in targets]


def test_more_kinds_of_headers_than_are_remembered_are_answered_all_the_same(pair: Pair) -> None:
    for at in range(1100):
        request = f"GET /v1/places/sim:1 HTTP/1.1\r\nHost: localhost\r\nX-Number: {at}\r\n\r\n"
        head, _ = pair.hot.ask(request.encode())
        assert head.startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"GET /v1/places/sim:1 HTTP/1.1\r\n\r\n",
        b"GET /v1/places/sim:1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        b"GET /v1/places/sim:1 HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET /v1/places/sim:1 HTTP/1.1\r\nHost: a\r\nAccept-Encoding:\r\n gzip\r\n\r\n",
        b"GET /v1/places/sim:1 HTTP/1.1\r\nHost a\r\n\r\n",
        b"GET /v1/places/sim:1 HTTP/1.1\r\nHost: a\r\nBad Name: b\r\n\r\n",
        b"GET /v1/places/sim:1 HTTP/1.1\nHost: a\n\n",
        b"GET /v1/places/sim:1 HTTP/1.0\r\nHost: a\r\n\r\n",
        b"GET  /v1/places/sim:1 HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET http://a/v1/places/sim:1 HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET /v1/places?q=\xc3\xb6 HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET /v1/places#x HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET /v1/places/sim:1 HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
        b"GET /v1/places/sim:1 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"GET /v1/places/sim:1 HTTP/1.1\r\nHost: a\r\nProxy-Connection: close\r\n\r\n",
        b"GET /v1/places/sim:1 HTTP/1.1\r\nHost: a\r\nProxy-Connection: keep-alive\r\n\r\n",
        b"GET /v1/places/sim:1 HTTP/1.1\r\nHost: a\r\nConnection: TE, close\r\n\r\n",
        b"GET /v1/places/sim:1 HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
        b"\r\nGET /v1/places/sim:1 HTTP/1.1\r\nHost: a\r\n\r\n",
    ],
)
def test_unusual_requests_are_answered_as_without_the_hot_path(
    addresses: tuple[str, str], request_bytes: bytes
) -> None:
    answers = []
    for address in addresses:
        with closing(Client(address)) as client:
            answers.append(client.ask(request_bytes))
    assert answers[0] == answers[1]


def test_a_defect_in_it_is_logged_and_the_request_is_answered_all_the_same(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    defect = ValueError("nobody foresaw this")

    def fail(*_given: object) -> None:
        raise defect

    def counted() -> float:
        return float(HOT_PATH_DEFECTS._value.get())

    monkeypatch.setattr(connection, "rated", RatedLog(get_logger("web")))
    monkeypatch.setattr(pair.front, "answer", fail)
    before = counted()
    with capture_logs() as logs:
        for _ in range(3):
            head, _body = pair.compare(f"/v1/places/{OLD[0]}")
            assert head.startswith(b"HTTP/1.1 200 ")
    assert counted() == before + 3
    assert [line["exc_info"] for line in logs] == [defect]
