"""What others have written reaches a person's terminal as letters, never as commands to the terminal."""

import json

import pytest

from support.processes import Processes

# Clears the screen; sets the title; the same in one character (C1); turns the reading direction around.
ESCAPES = "\x1b[2J \x1b]0;owned\x07 \x9b31m \u202eevil\u202c \x7f\r"
HARMFUL = set("\x1b\x07\x9b\u202e\u202c\x7f\r")


@pytest.fixture
def ids(processes: Processes) -> tuple[str, str]:
    """The ids of a place with an evil name, and of the import that brought it."""
    rows = [{"id": f"{number}", "name": f"Harmless{ESCAPES}", "lat": 52.5, "lon": 13.4} for number in range(8)]
    rows.append({"id": "8", "name": ESCAPES, "lat": 95, "lon": 13.4})
    (processes.folder / "evil.ndjson").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (processes.folder / "evil.toml").write_text(
        'name = "evil"\nkind = "files"\npaths = ["evil.ndjson"]\nlicence = { name = "CC0", attribution = "x" }\n'
        'fields.id = "id"\nfields.name = "name"\nfields.country = { value = "DE" }\n'
        'fields.lat = "lat"\nfields.lon = "lon"\n'
    )
    report = processes.json("import", "run", "--source", "evil.toml")
    exported = processes.run("place", "export").stdout
    assert (report["added"], report["rejected"]) == (8, 1)
    return json.loads(exported.splitlines()[0])["id"], report["id"]


def test_names_are_printed_without_what_terminals_obey(processes: Processes, ids: tuple[str, str]) -> None:
    place, import_id = ids
    for arguments in (
        ("place", "show", place),
        ("place", "show", place, "--json"),
        ("import", "report", import_id),
        ("source", "check", "evil.toml"),
    ):
        done = processes.run(*arguments)
        assert not HARMFUL & set(done.stdout + done.stderr), (arguments, done.stdout)
    shown = processes.run("place", "show", place, "--json").stdout
    assert json.loads(shown)["name"] == f"Harmless{ESCAPES}".strip()


@pytest.mark.parametrize(
    "arguments",
    [
        (f"{ESCAPES}",),
        ("link", "show", f"otter{ESCAPES}"),
        ("link", "create", f"https://example.org/{ESCAPES}"),
        ("link", "create", "https://example.org/", "--phrase", f"otter{ESCAPES}"),
        ("place", "show", f"evil:{ESCAPES}"),
        ("link", "list", "--from", ESCAPES),
        ("config", "show", "--config", f"nothing{ESCAPES}"),
        ("import", "run", "--source", f"nothing{ESCAPES}.toml"),
        ("snapshot", "use", ESCAPES),
        ("key", "revoke", ESCAPES),
    ],
    ids=lambda arguments: " ".join(arguments[:2]) if len(arguments) > 1 else "command",
)
def test_errors_are_printed_without_what_terminals_obey(processes: Processes, arguments: tuple[str, ...]) -> None:
    done = processes.run(*arguments)
    assert done.returncode in {1, 2}
    assert not HARMFUL & set(done.stdout + done.stderr), done.stderr
