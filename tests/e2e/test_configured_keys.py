"""Keys from a file or from the environment, for automation: no command has to be run against the store."""

from pathlib import Path

import httpx
import pytest

from support.processes import Processes, eventually
from waypost.access.keys import make_key
from waypost.kernel.clock import utc_now

TARGET = {"target": "https://example.org/"}


def make(address: str, token: str) -> int:
    answer = httpx.post(f"{address}/v1/links", json=TARGET, headers={"X-API-Key": token}, timeout=30)
    return answer.status_code


def test_keys_come_from_a_file_that_is_read_again_when_it_changes(processes: Processes) -> None:
    file = processes.folder / "keys.toml"
    first = processes.run("key", "create", "ci", "--scope", "links:write", "--file", "keys.toml")
    token = first.stdout.strip()
    assert (first.returncode, file.stat().st_mode & 0o777) == (0, 0o600)
    assert token.split("_", 2)[2] not in file.read_text() + first.stderr
    server = processes.start(
        *("serve", "links", "--port", "0", "--host", "0.0.0.0"), env={"WAYPOST_KEYS_FILE": str(file)}
    )
    address = server.wait_for(r"serves at (http://\S+)")[1]
    assert make(address, token) == 201

    second = processes.run("key", "create", "backup", "--scope", "admin", "--file", "keys.toml").stdout.strip()
    eventually(lambda: make(address, second) == 201, "the second key opens")
    assert make(address, token) == 201
    listed = processes.json("key", "list", env={"WAYPOST_KEYS_FILE": str(file)})["keys"]
    assert [(key["name"], key["kept"]) for key in listed] == [("ci", "file"), ("backup", "file")]

    # What cannot be read leaves the keys as they are, and is told once.
    whole = file.read_text()
    file.write_text(whole + "[[key]]\nname = 'half'\n")
    told = server.wait_for("the keys of the file stay as they were")
    assert "wp_" not in told.string
    assert make(address, token) == 201
    # As Kubernetes does it: another file under the same name.
    other = processes.folder / "other.toml"
    other.touch(mode=0o600)
    other.write_text(whole[whole.rindex("[[key]]") :])
    other.replace(file)
    eventually(lambda: make(address, token) == 401, "the first key is refused")
    assert make(address, second) == 201
    server.process.terminate()
    assert server.wait() == 0
    assert token.split("_", 2)[2] not in server.rest()


def test_one_key_comes_from_the_environment_and_is_shown_nowhere(processes: Processes) -> None:
    token = make_key("bootstrap", ["admin"], utc_now())[1]
    env = {"WAYPOST_KEYS_BOOTSTRAP": token}
    assert make(processes.serve("links", "--host", "0.0.0.0", env=env), token) == 201
    shown = processes.run("config", "show", env=env).stdout + processes.run("key", "list", env=env).stdout
    assert token.split("_", 2)[2] not in shown
    assert "environment" in shown
    checks = {check["name"]: check for check in processes.json("doctor", env=env)}
    assert (checks["configured keys"]["ok"], checks["configured keys"]["found"]) == (True, "1 can be used")
    wrong = processes.run("serve", "links", env={"WAYPOST_KEYS_BOOTSTRAP": "hunter2"})
    assert (wrong.returncode, "hunter2" in wrong.stderr, "keys.bootstrap" in wrong.stderr) == (2, False, True)


def test_a_file_of_keys_opens_closed_places_without_any_store(processes: Processes) -> None:
    token = processes.run("key", "create", "map", "--scope", "places:read", "--file", "keys.toml").stdout.strip()
    env = {
        "WAYPOST_KEYS_FILE": "keys.toml",
        "WAYPOST_PLACES_OPEN": "off",
        "WAYPOST_STORE": "mongodb://127.0.0.1:9/waypost",
    }
    address = processes.serve("places", "--host", "0.0.0.0", env=env)
    statuses = [
        httpx.get(f"{address}/v1/places", headers=headers, timeout=30).status_code
        for headers in ({}, {"X-API-Key": token})
    ]
    # There is no snapshot.
    assert statuses == [401, 503]
    del env["WAYPOST_KEYS_FILE"]
    refused = processes.run("serve", "places", env=env)
    assert (refused.returncode, "WAYPOST_KEYS_FILE" in refused.stderr) == (2, True)


@pytest.mark.parametrize(
    ("text", "mode", "told"),
    [
        ("", 0o644, "chmod"),
        ("", 0o620, "chmod"),
        ("[[key]\n", 0o600, "line 1"),
        ("[[key]]\nname = 'a'\nscopes = ['admin']\n", 0o600, "key 1"),
        ("[[key]]\nname = 'a'\nscopes = ['admin']\ntoken = 'hunter2'\n", 0o600, "key 1"),
        ("[[key]]\nname = 'a'\nscopes = ['nothing']\ntoken = 'hunter2'\n", 0o600, "key 1"),
        ("[[keys]]\n", 0o600, "keys"),
    ],
)
def test_a_file_that_is_wrong_or_open_to_others_is_refused(
    processes: Processes, text: str, mode: int, told: str
) -> None:
    file: Path = processes.folder / "keys.toml"
    file.write_text(text)
    file.chmod(mode)
    done = processes.run("serve", "links", "--port", "0", env={"WAYPOST_KEYS_FILE": str(file)})
    assert (done.returncode, told in done.stderr, "hunter2" in done.stderr) == (2, True, False), done.stderr
