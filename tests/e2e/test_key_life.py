"""The life of a key, with real servers: it expires, it is rotated, and its last use is known."""

import re
import sqlite3
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from support.processes import Processes

SCOPES = ("--scope", "links:write", "--scope", "links:read")


def status(address: str, token: str) -> tuple[int, str]:
    answer = httpx.get(f"{address}/v1/links", headers={"Authorization": f"Bearer {token}"}, timeout=30)
    return answer.status_code, answer.json().get("type", "")


def back_date(processes: Processes, column: str, **age: float) -> None:
    """As if the moment in this column of all keys had been reached so long ago."""
    moment = datetime.now(UTC) - timedelta(**age)
    with sqlite3.connect(processes.folder / "waypost-data" / "waypost.db") as database:
        database.execute(f"update keys set {column} = ?", (round(moment.timestamp() * 1e6),))
    database.close()


@pytest.mark.parametrize("role", ["links", "all"])
def test_an_expired_key_is_refused_and_its_owner_is_told_what_to_do(processes: Processes, role: str) -> None:
    made = processes.json("key", "create", "newsletter", *SCOPES, "--expires", "90d")
    left = datetime.fromisoformat(made["expires_at"]) - datetime.now(UTC)
    assert timedelta(days=89) < left < timedelta(days=90)
    processes.run("snapshot", "build")
    address = processes.serve(role, "--host", "0.0.0.0")
    assert status(address, made["token"])[0] == 200
    back_date(processes, "expires_at", seconds=1)
    answer = httpx.get(f"{address}/v1/links", headers={"X-API-Key": made["token"]}, timeout=30)
    problem = answer.json()
    assert (answer.status_code, problem["type"]) == (401, "urn:waypost:key-expired")
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert f"waypost key rotate {made['id']} --expires 90d" in problem["detail"]
    # Those without the secret learn nothing about the key.
    assert status(address, made["token"][:-3] + "xxx") == (401, "urn:waypost:key-refused")
    [listed] = processes.json("key", "list")["keys"]
    assert (listed["state"], listed["name"]) == ("expired", "newsletter")
    assert "expired" in processes.run("key", "list").stdout


def test_a_key_is_not_made_to_end_in_the_past(processes: Processes) -> None:
    done = processes.run("key", "create", "late", *SCOPES, "--expires", "2020-01-01")
    assert (done.returncode, "in the past" in done.stderr) == (2, True)
    assert not (processes.folder / "waypost-data").exists()


def test_the_last_use_of_a_key_is_known_once_its_server_has_stopped(processes: Processes) -> None:
    used, idle = (processes.json("key", "create", name, *SCOPES) for name in ("used", "idle"))
    server = processes.start("serve", "links", "--port", "0", "--host", "0.0.0.0")
    address = server.wait_for(r"serves at (http://\S+)")[1]
    before = datetime.now(UTC)
    assert status(address, used["token"])[0] == 200
    assert status(address, f"wp_{idle['id']}_{'x' * 43}")[0] == 401
    server.process.terminate()
    assert server.wait() == 0
    first, second = processes.json("key", "list")["keys"]
    assert first["used_at"]
    assert abs(datetime.fromisoformat(first["used_at"]) - before) < timedelta(minutes=2)
    assert (second["name"], second["used_at"]) == ("idle", None)
    shown = processes.run("key", "list").stdout
    assert re.search(r"used \d{4}-\d\d-\d\d \d\d:\d\d", shown)
    assert "never used" in shown


def test_a_rotated_key_has_two_secrets_until_the_older_one_ends(processes: Processes) -> None:
    made = processes.json("key", "create", "newsletter", *SCOPES)
    address = processes.serve("links", "--host", "0.0.0.0")
    done = processes.run("key", "rotate", "newsletter", "--overlap", "1h", "--expires", "90d")
    assert done.returncode == 0, done.stderr
    token = done.stdout.strip()
    assert token.startswith(f"wp_{made['id']}_")
    assert "is valid until" in done.stderr
    assert token.split("_", 2)[2] not in done.stderr
    assert [status(address, each)[0] for each in (made["token"], token)] == [200, 200]
    assert "older secret is valid until" in processes.run("key", "list").stdout
    refused = processes.run("key", "rotate", made["id"])
    assert (refused.returncode, "--overlap 0" in refused.stderr) == (1, True)
    back_date(processes, "old_until", seconds=1)
    assert status(address, made["token"]) == (401, "urn:waypost:key-expired")
    assert status(address, token)[0] == 200
    last = processes.json("key", "rotate", made["id"], "--overlap", "0")["token"]
    assert [status(address, each)[0] for each in (token, last)] == [401, 200]
