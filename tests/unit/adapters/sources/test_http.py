"""The HTTP client of all sources, against a real server: what it sends, what it takes, and what it never tells."""

import asyncio
import gzip
import sys
import traceback
import tracemalloc
import zlib
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any, TypeVar

import pytest

from support.told_provider import Provider, Told, dripping, endless, http, provider, silent
from waypost import __version__
from waypost.adapters.sources.access import Access, AuthTable, read_access
from waypost.adapters.sources.http import ProviderAnswer, ProviderClient, ProviderRejected
from waypost.adapters.sources.paging import next_link
from waypost.adapters.sources.reading import read_array, read_json
from waypost.adapters.sources.unpacking import BadlyPacked, TooLarge, Unpacker
from waypost.importing.source import AccessDenied, OutsideScope, ProviderRefused, ProviderUnavailable
from waypost.kernel.configuration import Secret, SettingError
from waypost.kernel.errors import WaypostError
from waypost.scaling.ratelimit.budget import Advice

KEY = "Hunter2-and/more"
Result = TypeVar("Result")


def access(value: str = f"Token {KEY}") -> Access:
    return Access("Authorization", Secret(value), "LIGHTS_KEY", (Secret(KEY),))


def ask(
    *answers: Told,
    timeout: float = 30,
    max_answer: int = 1_000_000,
    path: str = "",
    work: Callable[[ProviderClient], Awaitable[Result]],
) -> tuple[Result, Provider]:
    async def main() -> tuple[Result, Provider]:
        async with provider(*answers) as told:
            client = ProviderClient(
                "lights",
                told.url + path,
                access(),
                configured="lights.toml",
                timeout=timeout,
                max_answer=max_answer,
            )
            try:
                return await work(client), told
            finally:
                await client.close()

    return asyncio.run(main())


async def get(client: ProviderClient) -> ProviderAnswer:
    return await client.get()


FIRST = """
import asyncio, sys
from waypost.adapters.sources.http import ProviderClient

async def main():
    client = ProviderClient("x", sys.argv[1], None, configured="x.toml", timeout=30, max_answer=1000)
    known = set(sys.modules)
    await client.get()
    print(sorted(set(sys.modules) - known))
    await client.close()

asyncio.run(main())
"""


@pytest.mark.anyio
async def test_the_first_request_of_a_process_loads_nothing_before_it_leaves() -> None:
    async with provider(http(b"[]")) as told:
        done = await asyncio.create_subprocess_exec(
            sys.executable, "-c", FIRST, told.url, stdout=asyncio.subprocess.PIPE
        )
        said, _ = await done.communicate()
    assert said == b"[]\n"


def failure(*answers: Told, work: Callable[[ProviderClient], Awaitable[object]] = get, **more: Any) -> WaypostError:
    with pytest.raises(WaypostError) as caught:
        ask(*answers, work=work, **more)
    return caught.value


def told_anywhere(error: BaseException) -> str:
    """Everything that a log could show of an error and of all errors behind it."""
    shown = "".join(traceback.format_exception(error)).split("Traceback")[0]
    texts = [shown]
    seen: BaseException | None = error
    while seen:
        texts += [str(seen), repr(seen), str(getattr(seen, "next_step", ""))]
        seen = seen.__cause__ or seen.__context__
    return "\n".join(texts).lower()


def test_it_says_who_it_is_and_what_it_takes() -> None:
    _, told = ask(http([]), work=get)
    assert told.header("User-Agent") == [f"waypost/{__version__}"]
    assert told.header("Accept-Encoding") == ["gzip"]
    assert told.header("Authorization") == [f"Token {KEY}"]


def test_one_connection_serves_several_requests() -> None:
    async def twice(client: ProviderClient) -> None:
        for _ in range(3):
            await client.get()

    _, told = ask(http([], keep_alive=True), work=twice)
    assert (told.connections, len(told.requests)) == (1, 3)


@pytest.mark.parametrize(
    ("url_path", "path", "params", "address"),
    [
        ("", "", {}, "/"),
        ("/v1/lights", "", {}, "/v1/lights"),
        ("/v1/lights/", "", {}, "/v1/lights/"),
        ("/v1/", "/lights", {"a": "b c&d"}, "/v1/lights?a=b+c%26d"),
        ("/v1?format=json", "", {"page": "2"}, "/v1?format=json&page=2"),
        ("/v1?format=json", "", {}, "/v1?format=json"),
    ],
)
def test_parameters_join_what_the_address_has(url_path: str, path: str, params: dict[str, str], address: str) -> None:
    async def get_it(client: ProviderClient) -> None:
        assert client.address(path, params) == address
        await client.get(path, params)

    _, told = ask(http([]), path=url_path, work=get_it)
    assert told.addresses() == [address]


def test_headers_come_with_the_answer_in_lower_case() -> None:
    answer, _ = ask(http([], headers={"Link": "<a>; rel=next", "X-Total-Count": "7", "ETag": '"x"'}), work=get)
    assert {name: answer.headers[name] for name in ("link", "x-total-count", "etag")} == {
        "link": "<a>; rel=next",
        "x-total-count": "7",
        "etag": '"x"',
    }


def test_what_has_not_changed_is_not_sent_again() -> None:
    async def get_again(client: ProviderClient) -> ProviderAnswer:
        return await client.get(etag='"x"')

    answer, told = ask(http(b"", status=304), work=get_again)
    assert (answer.not_modified, answer.body) == (True, b"")
    assert told.header("If-None-Match") == ['"x"']


def test_not_modified_is_no_answer_for_who_did_not_ask_so() -> None:
    assert isinstance(failure(http(b"", status=304)), ProviderRejected)


def test_cookies_are_not_kept() -> None:
    async def twice(client: ProviderClient) -> None:
        await client.get()
        await client.get()

    _, told = ask(http([], headers={"Set-Cookie": "a=b; Path=/"}), work=twice)
    assert told.header("Cookie") == [None, None]


@pytest.mark.parametrize("encoding", ["gzip", "x-gzip", "GZIP"])
def test_a_packed_answer_is_unpacked(encoding: str) -> None:
    body = b"[" + b"1," * 5000 + b"1]"
    answer, _ = ask(http(gzip.compress(body), headers={"Content-Encoding": encoding}), work=get)
    assert answer.body == body


def test_several_packed_parts_are_one_text() -> None:
    packed = gzip.compress(b"[1,") + gzip.compress(b"") + gzip.compress(b"2]")
    answer, _ = ask(http(packed, headers={"Content-Encoding": "gzip"}), work=get)
    assert answer.body == b"[1,2]"


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip", "deflate", KEY])
def test_what_is_packed_in_another_way_is_refused(encoding: str) -> None:
    error = failure(http(b"x", headers={"Content-Encoding": encoding}))
    assert isinstance(error, ProviderRejected)
    assert KEY.lower() not in told_anywhere(error)


@pytest.mark.parametrize(
    "body",
    [gzip.compress(b"[1,2,3]")[:-9], b"not gzip", gzip.compress(b"[]") + b"more"],
    ids=["cut off", "not gzip", "more behind it"],
)
def test_what_is_not_the_gzip_it_claims_to_be_is_worth_another_try(body: bytes) -> None:
    assert isinstance(failure(http(body, headers={"Content-Encoding": "gzip"})), ProviderUnavailable)


def bomb(size: int) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    packed = b"".join(packer.compress(b" " * 1_000_000) for _ in range(size // 1_000_000))
    return packed + packer.flush()


def test_a_bomb_takes_no_more_memory_than_the_bound() -> None:
    packed, most = bomb(100_000_000), 2_000_000

    def blow() -> WaypostError:
        return failure(http(packed, headers={"Content-Encoding": "gzip"}), max_answer=most)

    blow()  # imports and caches are not what is measured
    tracemalloc.start()
    try:
        error = blow()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "larger than 2000000 bytes" in str(error)
    assert peak < 3 * most


def test_packed_parts_that_hold_nothing_end_too() -> None:
    with pytest.raises(TooLarge):
        Unpacker("gzip", 10_000).feed(gzip.compress(b"") * 1000)
    with pytest.raises(BadlyPacked, match="more than 1000 parts"):
        Unpacker("gzip", 1_000_000).feed(gzip.compress(b"") * 1001)


def test_a_bound_is_reached_and_not_passed() -> None:
    unpacker = Unpacker("gzip", 5)
    unpacker._packed = -1000  # the packed form of so little is longer than it
    unpacker.feed(gzip.compress(b"12345"))
    assert unpacker.finish() == b"12345"
    with pytest.raises(TooLarge):
        unpacker.feed(gzip.compress(b"6"))
    with pytest.raises(BadlyPacked):
        Unpacker("gzip", 100).feed(b"\x1f\x8b\x08broken header")


@pytest.mark.parametrize("answer", [endless, http(b" " * 10_001)])
def test_an_answer_larger_than_the_bound_is_refused(answer: Told) -> None:
    assert isinstance(failure(answer, max_answer=10_000), ProviderRejected)


@pytest.mark.parametrize("answer", [dripping, silent])
def test_an_answer_that_takes_too_long_is_cut_off(answer: Told) -> None:
    error = failure(answer, timeout=0.2)
    assert isinstance(error, ProviderUnavailable)
    assert "lights.toml" in str(error.next_step)


REDIRECTS = [
    ("https://elsewhere.example/path?key=1", "elsewhere.example"),
    (f"https://elsewhere.example/{KEY}", "elsewhere.example"),
    (f"https://{KEY}@elsewhere.example/", "elsewhere.example"),
    (f"https://{KEY}.example/", ".example"),
    (f"//{KEY}", "***"),
    (f"/{KEY}", "the same host"),
    ("http://[", "the same host"),
    ("", "the same host"),
]


@pytest.mark.parametrize(("location", "host"), REDIRECTS)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_told_by_its_host_alone(location: str, host: str, status: int) -> None:
    error = failure(http(b"", status=status, headers={"Location": location}))
    assert isinstance(error, ProviderRejected)
    assert "hunter2" not in told_anywhere(error)
    if location:
        assert host in str(error)


@pytest.mark.parametrize(
    "answer",
    [
        http({KEY: KEY}, status=401, headers={KEY.replace("/", ""): KEY}),
        http({KEY: KEY}, status=403, headers={"WWW-Authenticate": KEY}),
        http({KEY: KEY}, status=429, headers={"Retry-After": KEY}),
        http({KEY: KEY}, status=500),
        http({KEY: KEY}, status=400),
        f"HTTP/1.1 200 OK\r\n{KEY}\r\n\r\n".encode(),
        f"{KEY} is what you sent\r\n\r\n".encode(),
        f"HTTP/1.1 {KEY} OK\r\n\r\n".encode(),
        f"HTTP/1.1 200 OK\r\nContent-Length: {KEY}\r\n\r\n".encode(),
        f"HTTP/1.1 200 OK\r\nTransfer-Encoding: {KEY}\r\n\r\n".encode(),
        f"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{KEY}\r\n".encode(),
    ],
)
def test_a_key_that_a_provider_repeats_is_in_no_error(answer: bytes) -> None:
    assert "hunter2" not in told_anywhere(failure(answer))


def test_the_key_is_in_no_text_of_the_client() -> None:
    async def show(client: ProviderClient) -> str:
        return f"{client!r} {client._access!r} {vars(client)} {client.shown('/x?key=' + KEY)}"

    shown, _ = ask(http([]), work=show)
    assert "hunter2" not in shown.lower()


def test_a_key_is_hidden_however_it_is_spelt() -> None:
    assert access().hide(f"<{KEY.upper()}> <hunter2-and%2Fmore> <Token {KEY}> <hunter>") == "<***> <***> <***> <hunter>"


@pytest.mark.parametrize(
    ("link", "address"),
    [
        ("?page=2", "/v1/lights?page=2"),
        ("more", "/v1/more"),
        ("/other?x=1", "/other?x=1"),
        ("{origin}/v1/lights?page=2#there", "/v1/lights?page=2"),
        ("{origin}", "/"),
        ("{origin}//evil.example/", "//evil.example/"),
    ],
)
def test_links_lead_on_at_the_provider(link: str, address: str) -> None:
    async def follow(client: ProviderClient) -> str:
        answer = await client.get()
        target = client.follow(answer, link.replace("{origin}", client._url.removesuffix("/v1/lights")))
        await client.get_at(target)
        return target

    target, told = ask(http([]), path="/v1/lights", work=follow)
    assert target == address
    assert told.addresses()[1] == address


@pytest.mark.parametrize(
    "link",
    [
        "http://elsewhere.example/",
        "//elsewhere.example/",
        "https://127.0.0.1:{port}/",
        "http://127.0.0.1:1/",
        "http://127.0.0.1/",
        "http://someone@127.0.0.1:{port}/",
        "http://127.0.0.1:{port}@elsewhere.example/",
        "http://127.0.0.1:{port}.elsewhere.example/",
        "http://localhost:{port}/",
        "http://[::1]:{port}/",
        "http://[",
        "file:///etc/passwd",
        "ftp://127.0.0.1:{port}/",
        f"http://{KEY}/",
    ],
)
def test_links_that_lead_elsewhere_are_not_followed_with_our_key(link: str) -> None:
    async def follow(client: ProviderClient) -> None:
        port = str(client._split.port)
        client.follow(await client.get(), link.replace("{port}", port))

    error = failure(http([]), work=follow)
    assert isinstance(error, OutsideScope)
    assert "hunter2" not in told_anywhere(error)


@pytest.mark.parametrize("link", [f"/next?key={KEY}", "/next?key=Hunter2-and%2Fmore", "/" + "x" * 10_000])
def test_a_link_that_cannot_be_kept_is_refused(link: str) -> None:
    async def follow(client: ProviderClient) -> None:
        client.follow(await client.get(), link)

    error = failure(http([]), work=follow)
    assert isinstance(error, ProviderRejected)
    assert "hunter2" not in told_anywhere(error)


def test_an_address_that_is_none_of_the_providers_is_not_asked() -> None:
    async def get_elsewhere(client: ProviderClient) -> None:
        await client.get_at(".elsewhere.example/")

    assert isinstance(failure(http([]), work=get_elsewhere), OutsideScope)


def test_who_is_denied_is_told_which_variable_to_set() -> None:
    error = failure(http(status=401))
    assert isinstance(error, AccessDenied)
    assert "set LIGHTS_KEY to a key that it knows" in str(error.next_step)


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 10_000_000,
        b'{"a":' * 1_000_000,
        b'[{"a":' + b"[" * 1_000_000,
        b'["\xff\xfe"',
        b"\x00",
        b"[1e]",
        b"",
        b"[" + b"0," * 5_000_001 + b"0]",
    ],
)
def test_what_is_no_json_is_worth_another_try(body: bytes) -> None:
    with pytest.raises(ProviderUnavailable):
        read_array(body)
    with pytest.raises(ProviderUnavailable):
        read_json(body)


@pytest.mark.parametrize(
    ("header", "target"),
    [
        ('<https://x/?page=2>; rel="next"', "https://x/?page=2"),
        ("<a>; rel=next", "a"),
        ('<a>; rel="prev", <b>; rel="next"', "b"),
        ('<a,b;c>; title="x, <y>; rel=next"; rel="last next"', "a,b;c"),
        ('<a>; title="no; rel=next"', None),
        ('<a>; REL="NEXT"', "a"),
        ('<a>; type="x" ; rel = "next"', "a"),
        ("<>; rel=next", ""),
        ("<a>; rel=nextish", None),
        ("a; rel=next", None),
        ("<a; rel=next", None),
        ("", None),
        (None, None),
    ],
)
def test_the_next_link_is_found(header: str | None, target: str | None) -> None:
    assert next_link(header) == target


def test_a_long_link_header_is_read_in_no_time() -> None:
    assert next_link('<a>; rel="' + ";=" * 50_000) is None
    assert next_link("<" * 100_000) is None
    assert next_link('<a>; a="' + "\\" * 50_000) is None


def test_keys_come_from_the_environment() -> None:
    environ = {"LIGHTS_KEY": KEY}
    plain = read_access(AuthTable(header="X-Key", variable="LIGHTS_KEY"), environ)
    assert (plain.header, plain.value.reveal(), plain.variable) == ("X-Key", KEY, "LIGHTS_KEY")
    filled = read_access(AuthTable(value="Token {LIGHTS_KEY}"), environ)
    assert (filled.header, filled.value.reveal()) == ("Authorization", f"Token {KEY}")
    assert KEY not in repr(filled)


@pytest.mark.parametrize("environ", [{}, {"LIGHTS_KEY": ""}])
def test_a_variable_that_is_missing_is_named(environ: dict[str, str]) -> None:
    with pytest.raises(SettingError, match="the variable LIGHTS_KEY is not set"):
        read_access(AuthTable(value="Token {LIGHTS_KEY}"), environ)


@pytest.mark.parametrize(
    "table",
    [AuthTable(), AuthTable(value="a", variable="B"), AuthTable(value=f"Token {KEY}"), AuthTable(variable=f"{KEY}")],
)
def test_a_key_in_the_file_is_refused_without_repeating_it(table: AuthTable) -> None:
    with pytest.raises(ValueError, match="auth") as refusal:
        read_access(table, {})
    assert KEY not in str(refusal.value)


@pytest.mark.parametrize("value", ["a\nb", "ä", "a\0", " a "])
def test_a_key_that_no_header_can_carry_is_refused(value: str) -> None:
    with pytest.raises(SettingError, match="copy it again"):
        access(value)
    with pytest.raises(SettingError, match="not the name of a header"):
        Access("X Key", Secret("a"), "B")


def test_an_answer_that_repeats_our_key_does_not_have_it() -> None:
    sent = f'[{{"id": 1, "echo": "Token {KEY}", "name": "{KEY}!"}}]'.encode()
    answer, _ = ask(http(sent), work=get)
    assert answer.body == b'[{"id": 1, "echo": "***", "name": "***!"}]'


@pytest.mark.parametrize("key", ["lamp", "12345678"])
def test_what_may_be_anything_is_left_in_an_answer(key: str) -> None:
    body = b'[{"id": 12345678, "name": "lamp"}]'
    assert Access("X-Key", Secret(key), "LIGHTS_KEY").hide_in(body) == body


# Their clock and ours


@pytest.mark.parametrize("behind", [timedelta(hours=2), timedelta(days=-2)])
@pytest.mark.parametrize("status", [429, 503])
def test_a_time_to_wait_until_is_compared_with_the_answers_own_clock(status: int, behind: timedelta) -> None:
    theirs = (datetime.now(UTC) - behind).replace(microsecond=0)
    headers = {"Date": format_datetime(theirs, usegmt=True)}
    headers["Retry-After"] = format_datetime(theirs + timedelta(seconds=90), usegmt=True)
    refusal = failure(http([], status=status, headers=headers))
    assert isinstance(refusal, ProviderRefused)
    assert refusal.retry_after == 90


def test_so_is_a_time_at_which_their_count_starts_again() -> None:
    theirs = (datetime.now(UTC) - timedelta(hours=2)).replace(microsecond=0)
    headers = {
        "Date": format_datetime(theirs, usegmt=True),
        "X-RateLimit-Remaining": "0",
        "X-RateLimit-Reset": str(int(theirs.timestamp()) + 90),
    }
    answer, _ = ask(http([], headers=headers), work=get)
    assert answer.advice == Advice(0, 90)
    refusal = failure(http([], status=429, headers=headers))
    assert isinstance(refusal, ProviderRefused)
    assert refusal.retry_after == 90
