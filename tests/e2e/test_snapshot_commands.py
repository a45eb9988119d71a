"""The verbs of `waypost snapshot` as real processes, killed, stopped and run side by side."""

import json
import os
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import httpx
import pyarrow.parquet as pq
import pytest

from support.processes import Processes, eventually
from support.servers.nginx import Nginx
from support.servers.private import private_nginx
from support.servers.sharing import free_port
from support.snapshots import shelve, stations
from waypost.serving.format import FEATURES, MANIFEST, SECTIONS
from waypost.serving.pulling.arrivals import PULLING
from waypost.serving.reading.reader import Generation
from waypost.serving.shelf import Shelf


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    folder = tmp_path / "remote"
    folder.mkdir()
    return folder


@pytest.fixture
def nginx(remote: Path) -> Iterator[Nginx]:
    with private_nginx(remote) as server:
        yield server


@pytest.fixture
def shelf(processes: Processes) -> Shelf:
    """Where commands look by default."""
    return Shelf(processes.folder / "waypost-data" / "snapshots")


def test_looking_at_generations_and_choosing_among_them(processes: Processes, shelf: Shelf) -> None:
    assert processes.json("snapshot", "list") == []
    nothing = processes.run("snapshot", "info")
    assert (nothing.returncode, "waypost snapshot build" in nothing.stderr) == (1, True)
    old, new = shelve(shelf.folder, stations(10)), shelve(shelf.folder, stations(12)[1:], hours=1)
    listed = processes.run("snapshot", "list").stdout.splitlines()
    assert [line.split()[0] for line in listed] == [old, "*"]
    assert [each["current"] for each in processes.json("snapshot", "list")] == [False, True]
    info = processes.run("snapshot", "info", old).stdout
    assert all(name in info for name in (old, "Somebody's data", *SECTIONS))
    assert processes.json("snapshot", "info")["manifest"]["generation"] == new
    assert processes.json("snapshot", "verify", old) == {"generation": old, "whole": True, "places": 10}
    assert "2 added, 0 changed, 1 removed" in processes.run("snapshot", "diff").stdout
    assert "1 added, 0 changed, 2 removed" in processes.run("snapshot", "diff", new, old).stdout
    assert len(processes.run("snapshot", "diff", "--ids").stdout.splitlines()) == 3
    *changes, counts = map(json.loads, processes.run("snapshot", "diff", "--json").stdout.splitlines())
    assert sorted(each["change"] for each in changes) == ["added", "added", "removed"]
    assert counts == {"from": old, "to": new, "added": 2, "changed": 0, "removed": 1}
    assert processes.json("snapshot", "use", old) == {"generation": old}
    assert shelf.current() == shelf.folder / old
    unknown = processes.run("snapshot", "use", old[:-1])
    assert (unknown.returncode, f"Did you mean {old}?" in unknown.stderr) == (1, True)
    assert processes.json("snapshot", "prune", "--keep", "1") == {"removed": [], "kept": [old, new]}
    assert processes.run("snapshot", "prune", "--keep", "0").returncode == 2


def test_a_server_goes_back_with_use(processes: Processes, shelf: Shelf) -> None:
    old, new = shelve(shelf.folder, stations(10)), shelve(shelf.folder, stations(20), hours=1)
    url = processes.serve("places")

    def serves(places: int) -> bool:
        return bool(httpx.get(f"{url}/v1/places").json()["numberMatched"] == places)

    for name, places in ((old, 10), (new, 20), (old, 10)):
        assert processes.run("snapshot", "use", name).returncode == 0
        eventually(partial(serves, places), f"it serves {places} places")


@pytest.mark.parametrize("arguments", [(), ("--quick",)])
def test_verify_names_the_broken_file(processes: Processes, shelf: Shelf, arguments: tuple[str, ...]) -> None:
    name = shelve(shelf.folder, stations(10))
    path = shelf.folder / name / "points.bin"
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    told = processes.run("snapshot", "verify", *arguments)
    assert (told.returncode, f"{path} is damaged" in told.stderr) == (1, True)
    told = processes.run("snapshot", "verify", *arguments, "--json")
    assert told.returncode == 1
    assert json.loads(told.stdout)["file"] == "points.bin"
    assert processes.run("snapshot", "use", name).returncode == 1


def test_exports_to_files_and_to_the_standard_output(processes: Processes, shelf: Shelf) -> None:
    name = shelve(shelf.folder, stations(100))
    done = processes.json("snapshot", "export", "--geoparquet", "all.parquet")
    assert done == {"generation": name, "places": 100, "format": "geoparquet", "file": "all.parquet"}
    assert pq.read_metadata(processes.folder / "all.parquet").num_rows == 100
    lines = processes.run("snapshot", "export", name, "--ndjson", "-")
    assert len([json.loads(line) for line in lines.stdout.splitlines()]) == 100
    assert lines.stderr == f"100 places of {name}\n"
    assert len(json.loads(processes.run("snapshot", "export", "--geojson", "-").stdout)["features"]) == 100
    for wrong in (
        (),
        ("--ndjson", "a", "--geojson", "b"),
        ("--geoparquet", "a.parquet.gz"),
        ("--ndjson", "-", "--json"),
    ):
        assert processes.run("snapshot", "export", *wrong).returncode == 2
    assert processes.run("snapshot", "export", "--ndjson", "no/such/folder").returncode == 2


def test_without_pyarrow_it_is_said_what_to_install(processes: Processes, shelf: Shelf) -> None:
    shelve(shelf.folder, stations(10))
    (processes.folder / "pyarrow.py").write_text("raise ImportError('not installed')")
    told = processes.run("snapshot", "export", "--geoparquet", "a.parquet", env={"PYTHONPATH": str(processes.folder)})
    assert (told.returncode, "pip install 'waypost[files]'" in told.stderr) == (1, True)
    assert not list(processes.folder.glob("*a.*"))


def test_a_killed_pull_goes_on_where_it_was(processes: Processes, shelf: Shelf, nginx: Nginx, remote: Path) -> None:
    name = shelve(remote, stations(5000))
    whole = (remote / name / FEATURES).stat().st_size
    part = shelf.folder / PULLING / name / f"{FEATURES}.part"
    running = processes.start("snapshot", "pull", f"{nginx.url}/slow")
    eventually(lambda: part.exists() and part.stat().st_size > 300_000, "a part of the file is here")
    running.signal(signal.SIGKILL)
    assert running.wait() == -signal.SIGKILL
    left = part.stat().st_size
    assert left < whole
    assert shelf.generations() == []
    eventually(lambda: any(sent.path.endswith(FEATURES) for sent in nginx.sent()), "nginx has noticed")
    asked = len(nginx.sent())
    pulled = processes.json("snapshot", "pull", nginx.url)
    [sent] = [sent for sent in nginx.sent()[asked:] if sent.path.endswith(FEATURES)]
    assert (sent.status, sent.size) == (206, whole - left)
    assert pulled["received"] == pulled["size"] - left
    assert Generation.open(shelf.find()).count == 5000
    assert processes.run("snapshot", "verify").returncode == 0


def test_a_stopped_pull_says_that_it_goes_on(processes: Processes, shelf: Shelf, nginx: Nginx, remote: Path) -> None:
    name = shelve(remote, stations(5000))
    part = shelf.folder / PULLING / name / f"{FEATURES}.part"
    running = processes.start("snapshot", "pull", f"{nginx.url}/slow")
    eventually(lambda: part.exists() and part.stat().st_size > 0, "a part of the file is here")
    running.signal(signal.SIGINT)
    assert running.wait() == 130
    assert "what has arrived is kept" in running.rest()
    assert processes.run("snapshot", "pull", nginx.url).returncode == 0


def test_two_pulls_at_once_bring_it_once(processes: Processes, shelf: Shelf, nginx: Nginx, remote: Path) -> None:
    name = shelve(remote, stations(5000))
    pulls = [processes.start("snapshot", "pull", nginx.url) for _ in range(4)]
    assert [running.wait() for running in pulls] == [0] * 4
    assert len([sent for sent in nginx.sent() if sent.path.endswith(FEATURES)]) == 1
    assert shelf.current() == shelf.folder / name
    assert [path.name for path in shelf.generations()] == [name]


def test_a_full_disk_is_said_and_the_old_generation_stays(
    processes: Processes, shelf: Shelf, nginx: Nginx, remote: Path
) -> None:
    old = shelve(remote, stations(10))
    assert processes.run("snapshot", "pull", nginx.url).returncode == 0
    name = shelve(remote, stations(3000), hours=1)

    def little_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))

    told = processes.run("snapshot", "pull", nginx.url, preexec=little_room)
    assert told.returncode == 1
    assert f"cannot be written to {shelf.folder}: File too large; what has arrived is kept" in told.stderr
    assert "make room" in told.stderr
    assert shelf.current() == shelf.folder / old
    pulled = processes.json("snapshot", "pull", nginx.url)
    assert pulled["generation"] == name
    assert pulled["received"] < pulled["size"]


def test_it_keeps_looking_until_it_is_stopped(processes: Processes, shelf: Shelf, nginx: Nginx, remote: Path) -> None:
    running = processes.start("snapshot", "pull", nginx.url, "--every", "50ms", "--json")
    running.wait_for("CURRENT is not there")
    for hours in range(3):
        name = shelve(remote, stations(10 + hours), hours=hours)
        pulled = json.loads(running.wait_for(r"^\{\"generation.*")[0])
        assert (pulled["generation"], pulled["places"]) == (name, 10 + hours)
        assert shelf.current() == shelf.folder / name
    running.signal(signal.SIGTERM)
    assert running.wait() == 0


def test_a_plain_python_server_will_do(processes: Processes, shelf: Shelf, remote: Path) -> None:
    name, port = shelve(remote, stations(500)), free_port()
    server = subprocess.Popen(
        [sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1", "--directory", str(remote)],
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    try:
        eventually(lambda: listens(port), "it listens")
        left = shelf.folder / PULLING / name / f"{FEATURES}.part"
        left.parent.mkdir(parents=True)
        left.write_bytes((remote / name / FEATURES).read_bytes()[:5000])
        pulled = processes.json("snapshot", "pull", f"http://127.0.0.1:{port}/")
    finally:
        server.kill()
        server.wait()
    assert pulled["received"] == pulled["size"]
    assert sorted(path.name for path in (shelf.folder / name).iterdir()) == sorted([*SECTIONS, MANIFEST])


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_pulled_generations_are_pruned(processes: Processes, shelf: Shelf, nginx: Nginx, remote: Path) -> None:
    names = []
    for hours in range(4):
        names.append(shelve(remote, stations(10 + hours), hours=hours))
        assert processes.run("snapshot", "pull", nginx.url).returncode == 0
        for path in shelf.generations():
            os.utime(path, (0, 0))
    assert [path.name for path in shelf.generations()] == names[1:]
    env = {"WAYPOST_SNAPSHOT_KEEP": "2"}
    assert processes.run("snapshot", "pull", nginx.url, env=env).returncode == 0
    assert [path.name for path in shelf.generations()] == names[2:]


def test_pulling_is_refused_what_makes_no_sense(processes: Processes) -> None:
    for wrong in (
        ("nowhere",),
        ("http://127.0.0.1:9", "--every", "often"),
        ("http://127.0.0.1:9", "--generation", "../.."),
        ("http://127.0.0.1:9", "--every", "1s", "--generation", "20261115T093640Z-ab4d41cc"),
    ):
        told = processes.run("snapshot", "pull", *wrong)
        assert told.returncode == 2, told.stderr
    away = processes.run("snapshot", "pull", "http://127.0.0.1:9")
    assert (away.returncode, "check the address and the network" in away.stderr) == (1, True)
