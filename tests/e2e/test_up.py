"""`waypost up`: everything in one process, stopped, killed, started twice, and seen from elsewhere."""

import signal
import socket
import sqlite3
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from support.processes import Processes, eventually


def status(url: str) -> Any:
    return httpx.get(f"{url}/-/status").json()


def imported(url: str) -> Any:
    return eventually(lambda: (found := status(url))["import"]["status"] == "done" and found, "the import is done")


def create(url: str, target: str = "https://example.org/", **more: str) -> httpx.Response:
    return httpx.post(f"{url}/v1/links", json={"target": target, **more})


def has_visits(url: str, phrase: str, visits: int) -> bool:
    return bool(httpx.get(f"{url}/v1/links/{phrase}").json()["visits"] == visits)


def test_with_nothing_configured_it_imports_builds_and_serves(processes: Processes) -> None:
    running, url = processes.up("--places", "300")
    assert imported(url)["places"] == 300
    assert httpx.get(f"{url}/readyz").status_code == 200
    assert httpx.get(f"{url}/v1/places").json()["numberMatched"] == 300
    assert httpx.get(f"{url}/", headers={"Accept": "text/html"}).headers["location"] == "/-/"
    assert httpx.get(f"{url}/").json()["title"] == "Waypost"
    link = create(url).json()
    assert httpx.get(link["url"]).headers["location"] == "https://example.org/"
    running.signal(signal.SIGINT)
    assert running.wait() == 130
    assert "Traceback" not in running.rest()


def test_a_second_start_goes_on_instead_of_starting_over(processes: Processes) -> None:
    running, url = processes.up("--places", "300")
    first = imported(url)
    phrase = create(url, phrase="still-here").json()["phrase"]
    running.signal(signal.SIGTERM)
    assert running.wait() == 0
    _, url = processes.up()
    # The old generation is served from the first moment, and nothing is asked for again.
    assert status(url)["generation"] == first["generation"]
    second = imported(url)
    assert (second["generation"], second["import"]["places"]) == (first["generation"], 0)
    assert httpx.get(f"{url}/{phrase}").status_code == 302


def test_a_second_copy_on_the_same_folder_is_refused(processes: Processes) -> None:
    running, _ = processes.up("--places", "50")
    second = processes.run("up", "--port", "0")
    assert second.returncode == 1
    assert f"another Waypost (process {running.process.pid}) is up on" in second.stderr
    assert "--data" in second.stderr


def test_other_commands_run_beside_it(processes: Processes) -> None:
    _, url = processes.up("--places", "50")
    imported(url)
    made = processes.run("link", "create", "https://example.org/beside")
    assert made.returncode == 0
    assert made.stdout.startswith(url)
    assert httpx.get(made.stdout.strip()).headers["location"] == "https://example.org/beside"


def test_another_size_of_provider_would_mix_up_ids_and_is_refused(processes: Processes) -> None:
    running, url = processes.up("--places", "50")
    imported(url)
    running.signal(signal.SIGTERM)
    running.wait()
    for arguments, env in (
        (("--places", "60"), {}),
        (("--country", "DE"), {"WAYPOST_OCM_URL": "http://127.0.0.1:9", "WAYPOST_OCM_KEY": "k"}),
    ):
        refused = processes.run("up", "--port", "0", *arguments, env=env)
        assert refused.returncode == 2
        assert "come from another provider" in refused.stderr


def test_a_real_provider_needs_a_scope(processes: Processes) -> None:
    refused = processes.run("up", "--port", "0", env={"WAYPOST_OCM_KEY": "k"})
    assert refused.returncode == 2
    assert "waypost up --country" in refused.stderr


def test_an_explicit_port_that_is_taken_fails_and_only_the_default_moves_on(processes: Processes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = processes.run("up", "--port", str(port))
        assert refused.returncode == 1
        assert f"port {port} on 127.0.0.1 is in use" in refused.stderr
        assert "--port" in refused.stderr


def test_two_by_default_take_two_ports(processes: Processes) -> None:
    addresses = [
        processes.start("up", "--data", folder, "--places", "5").wait_for(r"Waypost is up at (http://\S+)")[1]
        for folder in ("one", "two")
    ]
    assert len(set(addresses)) == 2


def test_beyond_loopback_everything_is_read_only(processes: Processes) -> None:
    _, url = processes.up("--places", "20", "--host", "0.0.0.0")
    assert status(url)["writable"] is False
    refused = create(url)
    assert (refused.status_code, refused.json()["type"]) == (403, "urn:waypost:loopback-only")


def test_killed_at_any_moment_it_loses_nothing_that_was_acknowledged(processes: Processes) -> None:
    """Links and visits are acknowledged while it imports; then it is killed, several times over."""
    links: dict[str, int] = {}
    for round_number in range(3):
        running, url = processes.up("--places", "4000")
        for number in range(5):
            phrase = create(url, f"https://example.org/{round_number}/{number}").json()["phrase"]
            links[phrase] = 0
        for phrase in links:
            assert httpx.get(f"{url}/{phrase}").status_code == 302
            links[phrase] += 1
        running.signal(signal.SIGKILL)
        running.wait()
    _, url = processes.up()
    assert imported(url)["places"] == 4000
    assert httpx.get(f"{url}/v1/places", params={"limit": 1}).json()["numberMatched"] == 4000
    for phrase, visits in links.items():
        eventually(
            partial(has_visits, url, phrase, visits),
            f"{phrase} has {visits} visits",
        )


def test_a_job_that_kills_it_at_every_start_goes_dead_and_the_others_are_done(
    processes: Processes, tmp_path: Path
) -> None:
    env = {"WAYPOST_BUDGET": "5/s"}
    running, url = processes.up("--places", "300", env=env)
    eventually(lambda: processes.json("job", "list", "--status", "leased"), "it holds leases")
    running.signal(signal.SIGKILL)
    running.wait()
    # As after the fifth start that ended like this, with one of those jobs.
    with sqlite3.connect(tmp_path / "waypost-data" / "waypost.db") as database:
        killing = "select shard from jobs where status = 'leased' order by shard limit 1"
        [(shard,)] = database.execute(
            f"update jobs set attempts = 5 where shard = ({killing}) returning shard"
        ).fetchall()
    database.close()
    _, url = processes.up()
    eventually(lambda: status(url)["import"]["status"] == "failed", "the import has ended")
    [dead] = processes.json("job", "list", "--status", "dead")
    assert (dead["shard"], dead["last_error_code"]) == (shard, "lease-expired")
    assert processes.json("job", "list", "--status", "pending") == []


def test_ended_in_the_middle_of_a_request_it_still_ends_soon(processes: Processes, tmp_path: Path) -> None:
    running, url = processes.up("--places", "20")
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as slow:
        slow.sendall(b"POST /v1/links HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
        imported(url)
        running.signal(signal.SIGINT)
        assert running.wait() == 130
    # Nothing is left locked or half-written.
    with sqlite3.connect(tmp_path / "waypost-data" / "waypost.db") as database:
        assert database.execute("pragma integrity_check").fetchone() == ("ok",)
        assert database.execute("select count(*) from jobs where status = 'leased'").fetchone() == (0,)
    database.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_during_the_import_it_gives_its_jobs_back(
    processes: Processes, tmp_path: Path, number: signal.Signals
) -> None:
    running, url = processes.up("--places", "3000", env={"WAYPOST_BUDGET": "5/s"})
    eventually(lambda: status(url)["import"]["shards_done"] > 0, "some shards are done")
    running.signal(number)
    running.wait()
    with sqlite3.connect(tmp_path / "waypost-data" / "waypost.db") as database:
        found = dict(database.execute("select status, count(*) from jobs group by status"))
    database.close()
    assert set(found) == {"done", "pending"}
