"""Links and keys from the command line, beside a server that follows them."""

import subprocess
import sys
from pathlib import Path

import httpx
import msgspec

from support.processes import Processes

TARGET = "https://example.org/page"


def test_a_links_life_from_the_command_line(processes: Processes) -> None:
    made = processes.json(
        *("link", "create", TARGET, "--phrase", "summer-party", "--title", "Party", "--tag", "One", "--tag", "two"),
        *("--expires", "30d", "--max-visits", "7", "--forward-query"),
    )
    assert (made["phrase"], made["tags"], made["max_visits"]) == ("summer-party", ["one", "two"], 7)
    drawn = processes.json("link", "create", TARGET, "--language", "pl", "--format", "pascal", "--reuse")
    assert (drawn["language"], drawn["phrase"].isalnum()) == ("pl", True)
    assert processes.json("link", "create", TARGET, "--reuse")["id"] == drawn["id"]

    listed = processes.json("link", "list", "--tag", "ONE", "--search", "party", "--limit", "5")["links"]
    assert [link["id"] for link in listed] == [made["id"]]
    edited = processes.json(
        *("link", "edit", "summer-party", "--target", f"{TARGET}/2", "--no-expires", "--no-max-visits", "--no-tags")
    )
    assert (edited["target"], edited["expires_at"], edited["max_visits"], edited["tags"]) == (
        f"{TARGET}/2",
        None,
        None,
        [],
    )
    assert processes.json("link", "disable", "summer-party")["disabled"] is True
    assert processes.json("link", "enable", "http://go.example/Summer-Party/")["disabled"] is False
    stats = processes.json("link", "stats", "summer-party", "--zone", "Europe/Berlin", "--step", "hour")
    assert (stats["visits"], stats["series"]["zone"]) == (0, "Europe/Berlin")

    asked = processes.run("link", "delete", "summer-party")
    assert (asked.returncode, "--yes" in asked.stderr) == (2, True)
    assert processes.run("link", "delete", "summer-party", "--yes").stdout == "deleted summer-party\n"
    assert processes.run("link", "show", "summer-party").returncode == 1
    assert processes.run("link", "create", TARGET, "--phrase", "summerparty").returncode == 1


def test_a_password_comes_from_the_standard_input_and_is_never_printed(processes: Processes) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "waypost", "link", "create", TARGET, "--phrase", "otter", "--password-stdin", "--json"],
        cwd=processes.folder,
        input="hunter2\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert msgspec.json.decode(done.stdout)["protected"] is True
    assert "hunter2" not in done.stdout + done.stderr
    empty = processes.run("link", "create", TARGET, "--password-stdin")
    assert (empty.returncode, "standard input" in empty.stderr) == (2, True)


def test_what_is_asked_wrongly_ends_with_two_and_says_what_to_do(processes: Processes) -> None:
    processes.run("link", "create", TARGET, "--phrase", "otter")
    for arguments, said in (
        (("link", "create", "javascript:alert(1)"), "http"),
        (("link", "create", TARGET, "--expires", "soon"), "--expires"),
        (("link", "create", TARGET, "--expires", "2001-01-01"), "past"),
        (("link", "create", TARGET, "--format", "camel"), "kebab"),
        (("link", "edit", "otter"), "what to change"),
        (("link", "edit", "otter", "--tag", "x", "--no-tags"), "exclude"),
        (("link", "stats", "otter", "--zone", "Mars/Crater"), "time zone"),
        (("link", "stats", "otter", "--from", "2026-02-22", "--to", "2026-02-21"), "later"),
        (("key", "create", "me", "--scope", "everything"), "links:read"),
        (("key", "create", "me"), "--scope"),
    ):
        done = processes.run(*arguments)
        assert (done.returncode, said in done.stderr) == (2, True), (arguments, done.stderr)


def test_links_move_from_a_file_and_back_into_one(processes: Processes) -> None:
    file = processes.folder / "short_urls.csv"
    file.write_text(f"shortCode,longUrl,title\notter,{TARGET},One\napi,{TARGET},Two\n", encoding="utf-8")
    tried = processes.run("link", "import", "short_urls.csv", "--dry-run")
    assert (tried.returncode, "1 would be made" in tried.stdout, "line 3 (api)" in tried.stderr) == (1, True, True)
    assert processes.json("link", "list")["links"] == []
    report = msgspec.json.decode(processes.run("link", "import", "short_urls.csv", "--json").stdout)
    assert (report["made"], [each["slug"] for each in report["refused"]]) == (1, ["phrase-refused"])
    exported = processes.run("link", "export", "--format", "csv", "--output", "out.csv")
    assert exported.returncode == 0
    again = processes.json("link", "import", "out.csv")
    assert (again["made"], again["there"]) == (0, 1)
    [line] = processes.run("link", "export").stdout.splitlines()
    assert msgspec.json.decode(line)["phrase"] == "otter"


def test_a_key_opens_a_server_that_listens_to_everybody_until_it_is_revoked(processes: Processes) -> None:
    made = processes.json("key", "create", "newsletter", "--scope", "links:write", "--scope", "links:read")
    token = made["token"]
    [listed] = processes.json("key", "list")["keys"]
    assert (listed["id"], listed["name"], "token" in listed) == (made["id"], "newsletter", False)
    assert token.split("_", 2)[2] not in processes.run("key", "list").stdout

    url = processes.serve("links", "--host", "0.0.0.0").replace("0.0.0.0", "127.0.0.1")
    with httpx.Client(base_url=url) as client:
        assert client.post("/v1/links", json={"target": TARGET}).status_code == 403
        client.headers["Authorization"] = f"Bearer {token}"
        answer = client.post("/v1/links", json={"target": TARGET, "phrase": "otter"})
        assert (answer.status_code, answer.json()["owner"]) == (201, made["id"])
        bulk = client.post(
            "/v1/links/bulk",
            content=b'{"target": "https://example.org/"}\n' * 1500,
            headers={"Content-Type": "application/x-ndjson"},
        )
        assert len(bulk.text.splitlines()) == 1500
        assert client.get("/v1/links?limit=1000").json()["next"]
        assert processes.run("key", "revoke", made["id"]).returncode == 0
        refused = client.get("/v1/links")
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
    assert processes.run("key", "revoke", "nobody").returncode == 1


def test_what_is_no_text_is_refused_and_not_looked_for(processes: Processes) -> None:
    refused = processes.run("link", "list", "--search", "\udcff")
    assert (refused.returncode, "'\\udcff' is not text in UTF-8" in refused.stderr) == (2, True)


def test_reports_are_listed_shown_and_answered(processes: Processes) -> None:
    processes.run("link", "create", TARGET, "--phrase", "cheap-watches")
    url = processes.serve("links")
    for number in range(2):
        form = {"phrase": "cheap-watches", "text": f"\x1b[2Jbad {number}"}
        assert httpx.post(f"{url}/-/report", data=form).status_code == 200
    first, second = processes.json("report", "list")["reports"]
    assert "\x1b" not in processes.run("report", "list").stdout
    assert "[2Jbad 0" in processes.run("report", "show", first["id"]).stdout
    assert "still leads somewhere" in processes.run("report", "close", first["id"]).stdout
    assert "is disabled" in processes.run("report", "close", second["id"], "--disable").stdout
    assert processes.run("report", "list").stdout == ""
    closed = processes.json("report", "list", "--status", "closed")["reports"]
    assert [each["outcome"] for each in closed] == ["dismissed", "disabled"]
    assert processes.run("report", "show", "nobody").returncode == 1


def test_a_host_is_blocked_while_servers_run(processes: Processes) -> None:
    processes.run("link", "create", "https://www.bad.example/page", "--phrase", "cheap-watches")
    links, redirects = processes.serve("links"), processes.serve("redirect")

    def followed() -> set[int]:
        return {httpx.get(f"{url}/cheap-watches").status_code for url in (links, redirects)}

    assert followed() == {302}
    assert processes.json("block", "add", "host", "BAD.example")["value"] == "bad.example"
    while followed() != {410}:
        pass
    assert processes.run("link", "create", "https://bad.example").returncode == 2
    refused = processes.run("link", "edit", "cheap-watches", "--target", "https://bad.example/2")
    assert (refused.returncode, "blocked" in refused.stderr) == (2, True)
    processes.run("block", "add", "word", "casino")
    assert [each["value"] for each in processes.json("block", "list")["blocks"]] == ["bad.example", "casino"]
    assert processes.run("link", "create", TARGET, "--phrase", "grand-casino").returncode == 2
    assert "allowed again" in processes.run("block", "remove", "host", "bad.example").stdout
    while followed() != {302}:
        pass


def test_erased_visits_are_in_no_file_any_more(processes: Processes) -> None:
    processes.run("link", "create", TARGET, "--phrase", "summer-party")
    url = processes.serve("links")

    def files_with(marker: str) -> list[str]:
        data = processes.folder / "waypost-data"
        return [path.name for path in data.rglob("*") if path.is_file() and marker in _content(path)]

    for number in range(3):
        headers = {"User-Agent": f"xyzzy/{number}", "Referer": "https://xyzzy.example/xyzzy"}
        assert httpx.get(f"{url}/summer-party", headers=headers).status_code == 302
    while processes.json("link", "show", "summer-party")["visits"] < 3:
        pass
    assert files_with("xyzzy")
    refused = processes.run("link", "erase", "summer-party")
    assert (refused.returncode, "--yes" in refused.stderr) == (2, True)
    erased = processes.json("link", "erase", "summer-party", "--yes")
    assert (erased["visits"], erased["overwritten"], erased["spools_held"]) == (3, True, 1)
    while files_with("xyzzy"):
        pass
    assert processes.json("link", "show", "summer-party")["visits"] == 0
    kinds = [msgspec.json.decode(line)["kind"] for line in _everything(processes)]
    assert kinds == ["link", "edit", "event", "count"]


def _content(path: Path) -> str:
    """Files of the spool come and go."""
    try:
        return path.read_bytes().decode("latin-1")
    except FileNotFoundError:
        return ""


def _everything(processes: Processes) -> list[str]:
    return processes.run("link", "show", "summer-party", "--everything").stdout.splitlines()
