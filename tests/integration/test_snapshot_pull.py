"""Pulling a generation over HTTP: from a real nginx, from servers without ranges, and from some that lie."""

import errno
import json
import random
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from support.hostile_origin import HostileOrigin, hostile_origin, send, send_for_ever
from support.servers.nginx import Nginx
from support.servers.private import private_nginx
from support.snapshots import shelve, stations
from waypost.adapters.http.origin import HttpOrigin
from waypost.kernel.errors import AskedWrongly, WaypostError
from waypost.serving.format import FEATURES, MANIFEST, SECTIONS, SnapshotNotWritten, SnapshotTooNew
from waypost.serving.pulling.arrivals import PULLING, Arrival
from waypost.serving.pulling.origin import BadOrigin, NotAtOrigin, OriginAway, OriginBroken
from waypost.serving.pulling.pulling import Pulled, Puller, PullUnderWay
from waypost.serving.reading.reader import Generation
from waypost.serving.shelf import CURRENT, Shelf

pytestmark = pytest.mark.anyio


class Hasty(random.Random):
    """Every pause is as short as it may be."""

    def uniform(self, a: float, _b: float) -> float:
        return a


async def pull(url: str, shelf: Shelf, name: str | None = None) -> Pulled:
    async with HttpOrigin(url) as origin:
        return await Puller(origin, shelf, rng=Hasty()).pull(name)


async def refusal(url: str, shelf: Shelf, name: str | None = None) -> WaypostError:
    with pytest.raises(WaypostError) as refused:
        await pull(url, shelf, name)
    return refused.value


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    return tmp_path / "remote"


@pytest.fixture
def local(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path / "local")


@pytest.fixture
def nginx(remote: Path) -> Iterator[Nginx]:
    remote.mkdir()
    with private_nginx(remote) as server:
        yield server


@pytest.fixture
def hostile(remote: Path) -> Iterator[HostileOrigin]:
    remote.mkdir()
    with hostile_origin(remote) as server:
        yield server


FILES = (*SECTIONS, MANIFEST)


@contextmanager
def leaving(local: Shelf, name: str) -> Iterator[Path]:
    """The folder of a pull that was broken off, for a test to put something into."""
    arrival = Arrival.claim(local, name)
    assert arrival
    with arrival:
        yield arrival.path


def same_bytes(remote: Path, local: Shelf, name: str) -> bool:
    return all((remote / name / file).read_bytes() == (local.folder / name / file).read_bytes() for file in FILES)


def sizes(generation: Path) -> int:
    return sum((generation / name).stat().st_size for name in SECTIONS)


async def test_a_generation_arrives_whole_and_becomes_current(nginx: Nginx, remote: Path, local: Shelf) -> None:
    name = shelve(remote, stations(500))
    pulled = await pull(nginx.url, local)
    assert pulled == Pulled(
        generation=name, places=500, size=sizes(remote / name), received=sizes(remote / name), moved=True
    )
    assert local.current() == local.folder / name
    assert same_bytes(remote, local, name)
    assert sorted(path.name for path in local.folder.iterdir()) == [".lock", name, CURRENT]
    assert sorted(path.name for path in (local.folder / name).iterdir()) == sorted(FILES)
    asked = len(nginx.sent())
    again = await pull(nginx.url + "/", local)
    assert (again.received, again.moved) == (0, False)
    assert [sent.path for sent in nginx.sent()[asked:]] == [f"/{CURRENT}"]


async def test_only_files_that_are_not_here_are_fetched(nginx: Nginx, remote: Path, local: Shelf) -> None:
    shelve(remote, stations(300))
    await pull(nginx.url, local)
    asked = len(nginx.sent())
    name = shelve(remote, stations(300, name="Renamed"), hours=1)
    pulled = await pull(nginx.url, local)
    fetched = {sent.path.rpartition("/")[2]: sent.size for sent in nginx.sent()[asked:]}
    assert FEATURES in fetched
    assert not fetched.keys() & {"points.bin", "ids.bin", "slots.bin", "keys.bin", "boxes.bin", "country.bin"}
    assert pulled.received == sum(fetched[name] for name in SECTIONS if name in fetched)
    assert same_bytes(remote, local, name)
    assert (local.folder / name / "ids.bin").stat().st_nlink == 2


async def test_a_damaged_file_here_is_not_taken_for_the_same(nginx: Nginx, remote: Path, local: Shelf) -> None:
    first = shelve(remote, stations(300))
    await pull(nginx.url, local)
    (local.folder / first / "ids.bin").write_bytes(b"\0" * (local.folder / first / "ids.bin").stat().st_size)
    name = shelve(remote, stations(300, name="Renamed"), hours=1)
    await pull(nginx.url, local)
    assert same_bytes(remote, local, name)
    await pull(nginx.url, local, first)
    assert same_bytes(remote, local, first)
    assert local.current() == local.folder / first


async def test_the_origin_may_go_back_and_this_shelf_follows_without_fetching(
    nginx: Nginx, remote: Path, local: Shelf
) -> None:
    old = shelve(remote, stations(10))
    await pull(nginx.url, local)
    shelve(remote, stations(11), hours=1)
    await pull(nginx.url, local)
    Shelf(remote).use(old)
    pulled = await pull(nginx.url, local)
    assert (pulled.generation, pulled.received, pulled.moved) == (old, 0, True)
    assert local.current() == local.folder / old


async def test_a_part_goes_on_where_it_ended(nginx: Nginx, remote: Path, local: Shelf) -> None:
    name = shelve(remote, stations(2000))
    features = (remote / name / FEATURES).read_bytes()
    with leaving(local, name) as folder:
        (folder / f"{FEATURES}.part").write_bytes(features[:100_000])
    pulled = await pull(nginx.url, local)
    [sent] = [sent for sent in nginx.sent() if sent.path.endswith(FEATURES)]
    assert (sent.status, sent.size) == (206, len(features) - 100_000)
    assert pulled.received == pulled.size - 100_000
    assert same_bytes(remote, local, name)


@pytest.mark.parametrize("left", [b"x" * 1000, b"x" * 10_000_000], ids=["other bytes", "too many bytes"])
async def test_a_part_that_does_not_fit_is_thrown_away(nginx: Nginx, remote: Path, local: Shelf, left: bytes) -> None:
    name = shelve(remote, stations(2000))
    with leaving(local, name) as folder:
        (folder / f"{FEATURES}.part").write_bytes(left)
    await pull(nginx.url, local)
    assert same_bytes(remote, local, name)


async def test_another_tag_begins_the_file_again(nginx: Nginx, remote: Path, local: Shelf) -> None:
    name = shelve(remote, stations(2000))
    with leaving(local, name) as folder:
        (folder / f"{FEATURES}.part").write_bytes(b"x" * 1000)
        (folder / f"{FEATURES}.tag").write_text('"of-another-file"')
    pulled = await pull(nginx.url, local)
    [sent] = [sent for sent in nginx.sent() if sent.path.endswith(FEATURES)]
    assert sent.status == 200
    assert pulled.received == pulled.size


async def test_a_server_without_ranges_begins_the_file_again(nginx: Nginx, remote: Path, local: Shelf) -> None:
    name = shelve(remote, stations(2000))
    with leaving(local, name) as folder:
        (folder / f"{FEATURES}.part").write_bytes((remote / name / FEATURES).read_bytes()[:1000])
    pulled = await pull(f"{nginx.url}/whole", local)
    assert pulled.received == pulled.size
    assert same_bytes(remote, local, name)


async def test_a_file_that_had_arrived_before_is_not_fetched_again(nginx: Nginx, remote: Path, local: Shelf) -> None:
    name = shelve(remote, stations(100))
    with leaving(local, name) as folder:
        shutil.copy(remote / name / FEATURES, folder)
        (folder / "ids.bin").write_bytes(b"rubbish")
        (folder / "stray.bin.part").write_bytes(b"rubbish")
    await pull(nginx.url, local)
    fetched = [sent.path.rpartition("/")[2] for sent in nginx.sent()]
    assert FEATURES not in fetched
    assert "ids.bin" in fetched
    assert sorted(path.name for path in (local.folder / name).iterdir()) == sorted(FILES)


async def test_what_arrived_of_another_generation_is_used_and_its_folder_goes(
    nginx: Nginx, remote: Path, local: Shelf
) -> None:
    old = shelve(remote, stations(100))
    with leaving(local, old) as folder:
        shutil.copy(remote / old / "ids.bin", folder)
    shelve(remote, stations(100, name="Renamed"), hours=1)
    await pull(nginx.url, local)
    assert "ids.bin" not in {sent.path.rpartition("/")[2] for sent in nginx.sent()}
    assert not (local.folder / PULLING).exists()


async def test_over_tls_a_certificate_that_nobody_trusts_is_refused(
    nginx: Nginx, remote: Path, local: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = shelve(remote, stations(10))
    refused = await refusal(nginx.tls_url, local)
    assert isinstance(refused, OriginAway)
    assert "certificate" in str(refused)
    monkeypatch.setenv("SSL_CERT_FILE", str(nginx.certificate))
    assert (await pull(nginx.tls_url, local)).generation == name


async def test_redirects_are_followed_on_the_same_server_only(nginx: Nginx, remote: Path, local: Shelf) -> None:
    shelve(remote, stations(10))
    for path, words in (("elsewhere", "another server, http://localhost"), ("round", "from one address to the next")):
        refused = await refusal(f"{nginx.url}/{path}", local)
        assert isinstance(refused, OriginBroken)
        assert words in str(refused)
    assert (await pull(f"{nginx.url}/moved", local)).places == 10


async def test_without_snapshots_there_or_anybody_there_it_is_said(nginx: Nginx, remote: Path, local: Shelf) -> None:
    refused = await refusal(nginx.url, local)
    assert (type(refused), "CURRENT is not there (404)" in str(refused)) == (NotAtOrigin, True)
    assert isinstance(await refusal(f"{nginx.url}/failing", local), OriginAway)
    assert isinstance(await refusal("http://127.0.0.1:9", local), OriginAway)
    name = shelve(remote, stations(10))
    other = "20200101T000000Z-00000000"
    refused = await refusal(nginx.url, local, other)
    assert (type(refused), other in str(refused)) == (NotAtOrigin, True)
    (remote / name / "ids.bin").unlink()
    refused = await refusal(nginx.url, local)
    assert isinstance(refused, OriginBroken)
    assert f"CURRENT names {name}" in str(refused)
    assert local.generations() == []


@pytest.mark.parametrize(
    "url",
    ["", "example.org", "ftp://example.org/", "http://", "http://h:99999/", "http://h/?x=1", "http://h/\n", "file:///"],
)
async def test_an_address_that_is_none_is_refused(url: str, local: Shelf) -> None:
    assert isinstance(await refusal(url, local), BadOrigin)


@pytest.mark.parametrize("name", ["../../etc", "/etc/passwd", "CURRENT", "", "20261115T093640Z-ab4d41cc/.."])
async def test_a_generation_that_is_no_name_is_refused(name: str, local: Shelf) -> None:
    assert isinstance(await refusal("http://127.0.0.1:9", local, name), AskedWrongly)
    assert not local.folder.exists()


async def test_a_password_in_the_address_is_sent_and_not_shown(hostile: HostileOrigin, local: Shelf) -> None:
    heard: list[str | None] = []

    def listen(request: BaseHTTPRequestHandler) -> None:
        heard.append(request.headers["Authorization"])
        send(b"", status=401)(request)

    hostile.answers[f"/{CURRENT}"] = listen
    refused = await refusal(hostile.url.replace("//", "//me:h%75nter2@"), local)
    assert heard == ["Basic bWU6aHVudGVyMg=="]
    assert "hunter2" not in str(refused)
    assert "401" in str(refused)
    assert "hunter2" not in str(await refusal("ftp://me:hunter2@example.org", local))


async def test_a_generation_that_is_pruned_half_way_gives_way_to_the_new_one(
    hostile: HostileOrigin, remote: Path, local: Shelf
) -> None:
    old = shelve(remote, stations(100))

    def move_on(request: BaseHTTPRequestHandler) -> None:
        shelve(remote, stations(100, name="Newer"), hours=1)
        Shelf(remote).prune(1, grace=0)
        send(b"", status=404)(request)

    hostile.answers[f"/{old}/{FEATURES}"] = move_on
    pulled = await pull(hostile.url, local)
    assert pulled.generation != old
    assert same_bytes(remote, local, pulled.generation)
    assert not (local.folder / PULLING).exists()


async def test_a_server_that_hangs_up_is_asked_again_for_the_rest(
    hostile: HostileOrigin, remote: Path, local: Shelf
) -> None:
    name = shelve(remote, stations(2000))
    features = (remote / name / FEATURES).read_bytes()
    cut = iter((50_000, 120_000, 121_000, len(features)))

    def hang_up(request: BaseHTTPRequestHandler) -> None:
        begin = int((request.headers["Range"] or "bytes=0-")[6:-1])
        part = features[begin : next(cut)]
        whole = f"bytes {begin}-{len(features) - 1}/{len(features)}"
        status = 206 if begin else 200
        send(part, status=status, size=len(features) - begin, Content_Range=whole)(request)

    hostile.answers[f"/{name}/{FEATURES}"] = hang_up
    pulled = await pull(hostile.url, local)
    assert [asked for path, asked in hostile.asked if path.endswith(FEATURES)] == [
        None,
        "bytes=50000-",
        "bytes=120000-",
        "bytes=121000-",
    ]
    assert pulled.received == pulled.size
    assert same_bytes(remote, local, name)


async def test_a_server_that_always_hangs_up_is_given_up_and_what_came_is_kept(
    hostile: HostileOrigin, remote: Path, local: Shelf
) -> None:
    name = shelve(remote, stations(2000))
    features = (remote / name / FEATURES).read_bytes()
    hostile.answers[f"/{name}/{FEATURES}"] = send(features[:1000], size=len(features))
    assert isinstance(await refusal(hostile.url, local), OriginAway)
    assert len([path for path, _ in hostile.asked if path.endswith(FEATURES)]) == 5
    assert (local.folder / PULLING / name / f"{FEATURES}.part").read_bytes() == features[:1000]


def flip(features: bytes) -> bytes:
    return features[:-5] + bytes([features[-5] ^ 1]) + features[-4:]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (flip, "is damaged: its checksum"),
        (lambda features: features[:-1], "bytes, and its manifest says"),
        (lambda features: features + b" ", "bytes, and its manifest says"),
        (lambda _: b"", "bytes, and its manifest says"),
    ],
    ids=["a bit flipped", "truncated", "longer", "empty"],
)
async def test_a_file_that_is_not_what_the_manifest_says_is_refused(
    nginx: Nginx, remote: Path, local: Shelf, change: Callable[[bytes], bytes], words: str
) -> None:
    before = shelve(remote, stations(10))
    await pull(nginx.url, local)
    name = shelve(remote, stations(100), hours=1)
    path = remote / name / FEATURES
    whole = path.read_bytes()
    path.write_bytes(change(whole))
    refused = await refusal(nginx.url, local)
    assert isinstance(refused, OriginBroken)
    assert f"{name}/{FEATURES}" in str(refused)
    assert words in str(refused)
    assert local.current() == local.folder / before
    path.write_bytes(whole)
    assert (await pull(nginx.url, local)).generation == name
    assert same_bytes(remote, local, name)


async def test_files_that_lie_about_nothing_but_do_not_belong_together_are_refused(
    hostile: HostileOrigin, remote: Path, local: Shelf
) -> None:
    name, other = shelve(remote, stations(100)), shelve(remote, stations(101), hours=1)
    manifest = json.loads((remote / name / MANIFEST).read_bytes())
    foreign = {each["name"]: each for each in json.loads((remote / other / MANIFEST).read_bytes())["sections"]}
    manifest["sections"] = [foreign["ids.bin"] if each["name"] == "ids.bin" else each for each in manifest["sections"]]
    hostile.answers[f"/{name}/{MANIFEST}"] = send(json.dumps(manifest).encode())
    hostile.answers[f"/{name}/ids.bin"] = send((remote / other / "ids.bin").read_bytes())
    refused = await refusal(hostile.url, local, name)
    assert isinstance(refused, OriginBroken)
    assert hostile.url in str(refused)
    assert local.generations() == []


def rename(section: str, name: str) -> Callable[[dict[str, Any]], None]:
    def change(manifest: dict[str, Any]) -> None:
        next(each for each in manifest["sections"] if each["name"] == section)["name"] = name

    return change


def resize(size: int) -> Callable[[dict[str, Any]], None]:
    def change(manifest: dict[str, Any]) -> None:
        manifest["sections"][0]["size"] = size

    return change


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (rename(FEATURES, "../../../etc/passwd"), OriginBroken),
        (rename(FEATURES, "/etc/passwd"), OriginBroken),
        (rename(FEATURES, "ids.bin"), OriginBroken),
        (rename(FEATURES, "lock"), OriginBroken),
        (lambda manifest: manifest["sections"].append(manifest["sections"][0]), OriginBroken),
        (lambda manifest: manifest["sections"].clear(), OriginBroken),
        (lambda manifest: manifest.update(generation="../../x"), OriginBroken),
        (lambda manifest: manifest.update(format=7), SnapshotTooNew),
        (lambda manifest: manifest.update(count=-1), OriginBroken),
        (lambda manifest: manifest["sections"][0].update(xxh3="../x"), OriginBroken),
        (resize(-1), OriginBroken),
        (resize(10**15), SnapshotNotWritten),
        (resize(10**30), OriginBroken),
        (resize(0), OriginBroken),
        (resize(17), OriginBroken),
    ],
)
async def test_a_hostile_manifest_is_refused(
    hostile: HostileOrigin,
    remote: Path,
    local: Shelf,
    change: Callable[[dict[str, Any]], None],
    kind: type[WaypostError],
) -> None:
    name = shelve(remote, stations(10))
    manifest = json.loads((remote / name / MANIFEST).read_bytes())
    change(manifest)
    hostile.answers[f"/{name}/{MANIFEST}"] = send(json.dumps(manifest).encode())
    before = {path for path in local.folder.parent.rglob("*") if local.folder not in path.parents}
    refused = await refusal(hostile.url, local)
    assert type(refused) is kind, refused
    assert local.generations() == []
    assert not (local.folder / CURRENT).exists()
    assert {path for path in local.folder.parent.rglob("*") if local.folder not in path.parents} == {
        *before,
        local.folder,
    }


@pytest.mark.parametrize(
    "content",
    [b"", b"../../etc", b"20261115T093640Z-ab4d41cc/../..", b"\xff\xfe", b"20261115T093640Z-ab4d41cc\n" * 100],
)
async def test_a_hostile_pointer_is_refused(hostile: HostileOrigin, local: Shelf, content: bytes) -> None:
    hostile.answers[f"/{CURRENT}"] = send(content)
    assert isinstance(await refusal(hostile.url, local), OriginBroken)
    assert not local.folder.exists()


@pytest.mark.parametrize("content", [b"", b"{}", b"[" * 100_000, b'{"format":1,"x":' + b"[" * 100_000, b"\xff"])
async def test_a_manifest_that_is_none_is_refused(
    hostile: HostileOrigin, remote: Path, local: Shelf, content: bytes
) -> None:
    name = shelve(remote, stations(10))
    hostile.answers[f"/{name}/{MANIFEST}"] = send(content)
    refused = await refusal(hostile.url, local)
    assert isinstance(refused, OriginBroken)
    assert f"{hostile.url}/{name}/{MANIFEST}" in str(refused)


@pytest.mark.parametrize("path", [CURRENT, MANIFEST, FEATURES])
async def test_an_endless_answer_is_not_read_to_its_end(
    hostile: HostileOrigin, remote: Path, local: Shelf, path: str
) -> None:
    name = shelve(remote, stations(10))
    hostile.answers[f"/{path}" if path == CURRENT else f"/{name}/{path}"] = send_for_ever
    refused = await refusal(hostile.url, local)
    assert isinstance(refused, OriginBroken)
    assert "more" in str(refused)
    written = [each.stat().st_size for each in local.folder.rglob("*") if each.is_file()]
    assert sum(written) <= 2 * sizes(remote / name)


@pytest.mark.parametrize(
    ("begin", "status"), [(999, 206), (0, 416), (1001, 206)], ids=["from before", "no such range", "from after"]
)
async def test_a_range_that_was_not_asked_for_is_not_appended(
    hostile: HostileOrigin, remote: Path, local: Shelf, begin: int, status: int
) -> None:
    name = shelve(remote, stations(2000))
    features = (remote / name / FEATURES).read_bytes()
    with leaving(local, name) as folder:
        (folder / f"{FEATURES}.part").write_bytes(features[:1000])

    def answer(request: BaseHTTPRequestHandler) -> None:
        if request.headers["Range"]:
            whole = f"bytes {begin}-{len(features) - 1}/{len(features)}"
            send(features[begin:], status=status, Content_Range=whole)(request)
        else:
            send(features)(request)

    hostile.answers[f"/{name}/{FEATURES}"] = answer
    await pull(hostile.url, local)
    assert same_bytes(remote, local, name)


async def test_packed_answers_are_refused(hostile: HostileOrigin, remote: Path, local: Shelf) -> None:
    name = shelve(remote, stations(10))
    hostile.answers[f"/{name}/{FEATURES}"] = send(b"\x1f\x8b", Content_Encoding="gzip")
    refused = await refusal(hostile.url, local)
    assert "packed" in str(refused)


async def test_a_shelf_that_cannot_be_written_is_our_error(nginx: Nginx, remote: Path, tmp_path: Path) -> None:
    shelve(remote, stations(10))
    (tmp_path / "file").touch()
    refused = await refusal(nginx.url, Shelf(tmp_path / "file" / "snapshots"))
    assert isinstance(refused, SnapshotNotWritten)
    assert "Not a directory" in str(refused)


async def test_what_was_pulled_opens(nginx: Nginx, remote: Path, local: Shelf) -> None:
    shelve(remote, stations(50))
    await pull(nginx.url, local)
    found = Generation.open(local.find())
    assert found.count == 50
    assert found.manifest.attribution == ("Somebody's data",)


async def test_where_files_cannot_be_linked_they_are_copied(
    nginx: Nginx, remote: Path, local: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(*_: object) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    monkeypatch.setattr("os.link", no_links)
    shelve(remote, stations(300))
    await pull(nginx.url, local)
    name = shelve(remote, stations(300, name="Renamed"), hours=1)
    pulled = await pull(nginx.url, local)
    assert pulled.received < pulled.size
    assert same_bytes(remote, local, name)
    assert (local.folder / name / "ids.bin").stat().st_nlink == 1


async def test_who_waits_too_long_for_another_pull_is_told_so(
    nginx: Nginx, remote: Path, local: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = shelve(remote, stations(10))
    monkeypatch.setattr("waypost.serving.pulling.pulling._PATIENCE", 0.0)
    with leaving(local, name):
        assert isinstance(await refusal(nginx.url, local), PullUnderWay)
    assert (await pull(nginx.url, local)).generation == name


async def test_what_another_process_brought_meanwhile_is_not_replaced(
    nginx: Nginx, remote: Path, local: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, claim = shelve(remote, stations(10)), Arrival.claim

    def too_late(shelf: Shelf, wanted: str) -> Arrival | None:
        shutil.copytree(remote / wanted, shelf.folder / wanted)
        return claim(shelf, wanted)

    monkeypatch.setattr(Arrival, "claim", too_late)
    pulled = await pull(nginx.url, local)
    assert (pulled.received, pulled.moved) == (0, True)
    assert sorted(path.name for path in local.folder.iterdir()) == [".lock", name, CURRENT]


async def test_a_server_that_drips_is_given_up(
    hostile: HostileOrigin, remote: Path, local: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelve(remote, stations(10))
    monkeypatch.setattr("waypost.adapters.http.origin._STRETCH_SECONDS", 0.0)
    refused = await refusal(hostile.url, local)
    assert isinstance(refused, OriginAway)
    assert "bytes a minute" in str(refused)


async def test_a_server_that_says_nothing_is_given_up(
    hostile: HostileOrigin, local: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    given_up = threading.Event()

    def say_nothing(_request: BaseHTTPRequestHandler) -> None:
        given_up.wait(60)

    hostile.answers[f"/{CURRENT}"] = say_nothing
    monkeypatch.setattr("waypost.adapters.http.origin._READ_SECONDS", 0.05)
    refused = await refusal(hostile.url, local)
    given_up.set()
    assert isinstance(refused, OriginAway)
