"""Bad input: a clear message, the right exit code, nothing lost."""

import resource
import signal
import socket
import sqlite3

import pytest

from support.processes import Processes, obey_permissions


def last_line(text: str) -> str:
    return text.strip().splitlines()[-1]


@pytest.mark.parametrize(
    ("country", "hint"),
    [("XX", "is not a country code"), ("UK", "Did you mean GB?"), ("germany", "Did you mean DE?"), (",", "no country")],
)
def test_an_unknown_country(processes: Processes, country: str, hint: str) -> None:
    done = processes.run("import", "run", "--country", country)
    assert (done.returncode, done.stdout) == (2, "")
    assert hint in done.stderr
    assert not (processes.folder / "waypost-data").exists()


def test_an_unknown_source(processes: Processes) -> None:
    done = processes.run("import", "run", "--source", "ocn", "--country", "DE")
    assert done.returncode == 2
    assert "Did you mean ocm?" in done.stderr


@pytest.mark.parametrize(("setting", "choice"), [("LANGUAGE", "de, en, pl"), ("THEME", "animals, ")])
def test_an_unknown_language_or_theme_of_phrases(processes: Processes, setting: str, choice: str) -> None:
    variable = f"WAYPOST_LINKS_{setting}"
    done = processes.run("serve", "links", "--port", "0", env={variable: "xx"})
    assert (done.returncode, done.stdout) == (2, "")
    assert f"links.{setting.lower()} ({variable}): " in done.stderr
    assert choice in done.stderr


def test_an_unreachable_provider(processes: Processes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    done = processes.run("import", "run", "--country", "DE", env={"WAYPOST_OCM_URL": url})
    assert done.returncode == 1
    assert f"the provider at {url} does not answer" in done.stderr
    assert "WAYPOST_OCM_URL" in last_line(done.stderr)
    assert processes.json("job", "list") == []


@pytest.mark.parametrize("key", ["", "wrong-key-123"])
def test_a_wrong_key(processes: Processes, key: str) -> None:
    provider = processes.simulator("--places", "50", "--key", "sesame")
    env = {"WAYPOST_OCM_URL": provider, "WAYPOST_OCM_KEY": key}
    done = processes.run("import", "run", "--country", "DE,FR", env=env)
    assert done.returncode == 1
    assert "refuses our key (403)" in done.stderr
    assert "WAYPOST_OCM_KEY" in last_line(done.stderr)
    assert "wrong-key-123" not in done.stdout + done.stderr
    # No job is dead: with the right key the same command just works.
    assert processes.json("import", "run", "--country", "DE,FR", env=env | {"WAYPOST_OCM_KEY": "sesame"})["added"] > 0


def test_a_broken_database_file(processes: Processes) -> None:
    path = processes.folder / "waypost-data" / "waypost.db"
    path.parent.mkdir()
    path.write_bytes(b"this is not a database " * 1000)
    for command in (["link", "create", "https://example.org"], ["up", "--port", "0"], ["db", "status"], ["doctor"]):
        done = processes.run(*command)
        assert done.returncode == 1
        assert "not a database" in done.stderr + done.stdout
        assert f"mv '{path}'" in done.stderr + done.stdout
    assert path.read_bytes() == b"this is not a database " * 1000


def test_a_database_of_a_newer_release(processes: Processes) -> None:
    assert processes.run("db", "migrate").returncode == 0
    with sqlite3.connect(processes.folder / "waypost-data" / "waypost.db") as database:
        database.execute("insert into migrations values (999, 'from the future', 999, '', 0)")
    database.close()
    done = processes.run("link", "create", "https://example.org")
    assert done.returncode == 1
    assert "a newer Waypost" in done.stderr


def test_a_database_of_a_development_version_says_how_to_go_on(processes: Processes) -> None:
    path = processes.folder / "waypost-data" / "waypost.db"
    path.parent.mkdir()
    with sqlite3.connect(path) as database:
        database.execute("create table migrations (version integer primary key, name text, oldest_code integer)")
        database.execute("insert into migrations values (1, 'start', 1), (8, 'rejects', 1)")
    database.close()
    for command in (
        ["link", "create", "https://example.org"],
        ["db", "migrate"],
        ["db", "status"],
        ["up", "--port", "0"],
    ):
        done = processes.run(*command)
        assert done.returncode == 1
        assert "development version" in done.stderr
        assert "another --data folder" in last_line(done.stderr)


@pytest.mark.parametrize("command", [["up", "--port", "0"], ["link", "create", "https://example.org"]])
def test_a_read_only_data_folder(processes: Processes, command: list[str]) -> None:
    folder = processes.folder / "waypost-data"
    folder.mkdir()
    folder.chmod(0o555)
    done = processes.run(*command, preexec=obey_permissions)
    assert done.returncode == 1
    assert str(folder) in done.stderr
    assert "--data" in last_line(done.stderr)
    assert list(folder.iterdir()) == []


def test_a_folder_that_becomes_read_only_keeps_what_it_has(processes: Processes) -> None:
    url = processes.run("link", "create", "https://example.org", "--phrase", "kept-safe").stdout
    folder = processes.folder / "waypost-data"
    for path in (*folder.iterdir(), folder):
        path.chmod(0o555 if path.is_dir() else 0o444)
    done = processes.run("link", "create", "https://example.org/2", preexec=obey_permissions)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    for path in (folder, *folder.iterdir()):
        path.chmod(0o755 if path.is_dir() else 0o644)
    assert processes.json("link", "show", url.strip())["target"] == "https://example.org"


def limit_file_size() -> None:
    """For a child process: a disk that is full after a few hundred KiB."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))


def test_a_disk_that_fills_up_during_an_import(processes: Processes) -> None:
    provider = processes.simulator("--places", "2000")
    env = {"WAYPOST_OCM_URL": provider, "WAYPOST_BUDGET": "100/s", "WAYPOST_JOBS_STORE_PATIENCE": "2s"}
    done = processes.run("import", "run", "--country", "DE,FR,NL,US", env=env, preexec=limit_file_size)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    # With space again, the same command goes on to the end: no job is at fault, so none is dead.
    report = processes.json("import", "run", "--country", "DE,FR,NL,US", env=env)
    assert report["shards"] == {"done": 4}


@pytest.mark.parametrize("command", [["serve", "places"], ["serve", "links"], ["simulator", "run"], ["up"]])
def test_an_explicit_port_in_use(processes: Processes, command: list[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = processes.run(*command, "--port", port)
    assert done.returncode == 1
    assert f"port {port} on 127.0.0.1 is in use" in done.stderr
    assert "--port" in last_line(done.stderr)


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["imprt"], "Did you mean import?"),
        (["import", "rnu"], "Did you mean run?"),
        (["import", "run"], "--country"),
        (["up", "--port", "70000"], "70000"),
        (["serve", "places", "--host", "192.0.2.1"], "cannot listen"),
        (["link", "create", "javascript:alert(1)"], "http:// or https://"),
        (["link", "create", "https://example.org", "--phrase", "metrics"], "metrics"),
        (["link", "show"], "PHRASE"),
        (["job", "revive"], "--all"),
        (["config", "show", "--config", "nowhere.toml"], "nowhere.toml"),
        (["simulator", "run", "--file", "nowhere.jsonl"], "nowhere.jsonl"),
    ],
)
def test_asked_wrongly(processes: Processes, arguments: list[str], hint: str) -> None:
    done = processes.run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert hint in done.stderr
    assert "Traceback" not in done.stderr


def test_a_misspelt_setting(processes: Processes) -> None:
    (processes.folder / "waypost.toml").write_text('leese = "1m"\n')
    done = processes.run("config", "show")
    assert done.returncode == 2
    assert "Did you mean lease?" in done.stderr
    (processes.folder / "waypost.toml").write_text('lease = "1m"\n')
    shown = processes.run("config", "show", env={"WAYPOST_LEESE": "2m", "WAYPOST_OCM_KEY": "sesame"})
    assert shown.returncode == 0
    assert "Did you mean WAYPOST_LEASE?" in shown.stderr
    assert "waypost.toml" in shown.stdout
    assert "sesame" not in shown.stdout + shown.stderr


def test_an_unknown_phrase(processes: Processes) -> None:
    assert "there is no store" in processes.run("link", "show", "nobody-made-this").stderr
    processes.run("link", "create", "https://example.org")
    done = processes.run("link", "show", "nobody-made-this")
    assert done.returncode == 1
    assert "no link has the phrase" in done.stderr


def test_a_traceback_only_when_asked_for(processes: Processes) -> None:
    command = ["link", "create", "ftp://example.org"]
    assert "Traceback" not in processes.run(*command).stderr
    assert "Traceback" in processes.run(*command, "--debug").stderr
