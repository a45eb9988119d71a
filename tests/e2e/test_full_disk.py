"""Full disks and folders that refuse: every command that writes says so and harms nothing, and servers go on."""

import asyncio
import os
import random
import resource
import signal
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from support.links import a_link
from support.processes import Processes, Running, eventually, obey_permissions
from support.snapshots import shelve, stations
from waypost.access.keys import make_key
from waypost.bootstrap.stores import open_sharing_stores
from waypost.kernel.clock import utc_now
from waypost.settings import load_settings

KEY, TOKEN = make_key("bob", ["links:read"], utc_now())
WRITING = [
    ["link", "create", "https://example.org/2"],
    ["link", "edit", "kept-otter", "--title", "new"],
    ["link", "disable", "kept-otter"],
    ["link", "delete", "kept-otter", "--yes"],
    ["link", "import", "links.ndjson"],
    ["link", "export", "--output", "out.ndjson"],
    ["link", "rebuild"],
    ["key", "create", "ada", "--scope", "links:read"],
    ["key", "revoke", KEY.id],
    ["db", "migrate", "--data", "fresh"],
    ["snapshot", "export", "--ndjson", "out.ndjson"],
    ["snapshot", "prune"],
]


def fill(folder: Path) -> None:
    settings = load_settings({"data": str(folder / "waypost-data")}, environ={})
    shelve(settings.snapshots, stations(500))

    async def add() -> None:
        async with open_sharing_stores(settings) as stores:
            await stores.links.add(a_link("kept-otter", 1), "test")
            await stores.keys.add(KEY)

    asyncio.run(add())
    lines = [f'{{"target": "https://example.org/{number}", "phrase": "line-{number}"}}' for number in range(300)]
    (folder / "links.ndjson").write_text("\n".join(lines))


def kept(folder: Path) -> list[str]:
    """The links and keys in the store, after a look at whether it is whole."""
    with sqlite3.connect(folder / "waypost-data" / "waypost.db") as connection:
        assert connection.execute("pragma integrity_check").fetchall() == [("ok",)]
        found = [
            line for line in connection.iterdump() if line.startswith(('INSERT INTO "links"', 'INSERT INTO "keys"'))
        ]
    connection.close()
    assert len(found) >= 2
    return found


@pytest.mark.parametrize("command", WRITING, ids=lambda command: " ".join(command[:2]))
def test_a_command_that_finds_no_room_says_so_and_changes_nothing(processes: Processes, command: list[str]) -> None:
    seed = int(os.environ.get("SEED", random.randrange(10**9)))
    room = random.Random(seed).choice((0, 20_000, 40_000, 60_000, 100_000))
    print(f"to repeat it: SEED={seed}")  # noqa: T201 - for whoever repeats it
    fill(processes.folder)
    before = kept(processes.folder)

    def little_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))

    done = processes.run(*command, preexec=little_room)
    assert done.returncode in {0, 1}, done.stderr
    assert "Traceback" not in done.stderr
    assert "defect" not in done.stderr
    if done.returncode:
        assert "next: " in done.stderr
        assert kept(processes.folder) == before


def test_a_store_is_not_made_by_halves(processes: Processes) -> None:
    """However much of it had room; with room for all, the same command makes it."""
    for room in (0, 50_000, 102_400, 200_000):

        def little_room(room: int = room) -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))

        done = processes.run("db", "migrate", preexec=little_room)
        assert done.returncode == 1
        assert "free some space" in done.stderr
    assert processes.run("db", "migrate").returncode == 0


@pytest.mark.parametrize("command", [["config", "show"], ["link", "list"], ["link", "export"]])
def test_an_output_that_is_full_is_a_failure(processes: Processes, command: list[str]) -> None:
    fill(processes.folder)
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = processes.run(*command, stdout=full)
    assert done.returncode == 1
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.fixture
def server(processes: Processes) -> Iterator[tuple[Running, str, Path]]:
    """One that obeys permissions, with a link; and its spool."""
    running = processes.start("serve", "links", "--port", "0", preexec=obey_permissions)
    url = running.wait_for(r"serves at (http://\S+)")[1]
    made = httpx.post(f"{url}/v1/links", json={"target": "https://example.org/", "phrase": "otter"})
    assert made.status_code == 201
    spool = processes.folder / "waypost-data" / "spool"
    yield running, url, spool
    spool.chmod(0o755)


def follow(url: str, times: int) -> None:
    for _ in range(times):
        assert httpx.get(f"{url}/otter").status_code == 302


def lost(url: str) -> float:
    lines = httpx.get(f"{url}/metrics").text.splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("waypost_visits_lost_total "))


def visits(url: str) -> int:
    return int(httpx.get(f"{url}/v1/links/otter").json()["visits"])


def test_a_server_on_a_full_disk_redirects_counts_what_it_loses_and_recovers(
    server: tuple[Running, str, Path],
) -> None:
    running, url, _ = server
    follow(url, 3)
    resource.prlimit(running.process.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    follow(url, 4)
    refused = httpx.post(f"{url}/v1/links", json={"target": "https://example.org/"})
    assert (refused.status_code, refused.json()["type"]) == (503, "urn:waypost:store-full")
    assert httpx.get(f"{url}/v1/links").status_code == 200
    resource.prlimit(running.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    follow(url, 5)
    assert lost(url) == 4
    eventually(lambda: visits(url) == 8, "what was not lost is counted")
    assert httpx.post(f"{url}/v1/links", json={"target": "https://example.org/"}).status_code == 201


def test_visits_are_counted_from_a_spool_that_has_become_immutable(
    processes: Processes, server: tuple[Running, str, Path]
) -> None:
    """Nothing can be added, removed or opened there any more, but for what is open already."""
    running, url, spool = server
    (spool / "of-another-user.visits").write_bytes(b"")
    for path in (*spool.iterdir(), spool):
        path.chmod(0o555 if path.is_dir() else 0o444)
    follow(url, 5)
    eventually(lambda: visits(url) == 5, "they are counted")
    assert lost(url) == 0
    running.signal(signal.SIGTERM)
    assert running.wait() == 0
    assert "Traceback" not in running.rest()
    done = processes.run("serve", "links", "--port", "0", preexec=obey_permissions)
    assert done.returncode == 1
    assert f"the spool {spool} cannot be written" in done.stderr
    assert "Traceback" not in done.stderr
    # Files that nobody can open do not keep a server from its work, either.
    spool.chmod(0o755)
    again = processes.start("serve", "links", "--port", "0", preexec=obey_permissions)
    address = again.wait_for(r"serves at (http://\S+)")[1]
    follow(address, 1)
    eventually(lambda: visits(address) == 6, "the next server counts")
    again.signal(signal.SIGTERM)
    assert again.wait() == 0
    assert "are not counted, for it cannot be opened" in again.rest()
