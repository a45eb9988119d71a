"""What the documentation says about sources: every key, every file, and the tutorial's plugin, which is really run."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from support.processes import Processes
from waypost.adapters.sources.fields import PLAIN
from waypost.adapters.sources.files.definition import FilesTable
from waypost.adapters.sources.json_api.tables import JsonApiTable
from waypost.adapters.sources.kinds import make_source
from waypost.adapters.sources.ocpi.tables import OcpiTable
from waypost.importing.definitions import CommonTable, SourceContext, keys_of, read_definition
from waypost.settings import load_settings

DOCS = Path(__file__).resolve().parents[2] / "docs"
HOW_TO = ("import-from-a-json-api", "import-from-ocpi")
ENVIRON = {"LIGHTS_KEY": "hunter2", "PLUGS_TOKEN": "hunter2"}


def blocks(document: Path, language: str) -> list[str]:
    text = document.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def keys_below(heading: str) -> set[str]:
    """The first cells of the tables in one section of the reference, where they are one key."""
    text = (DOCS / "reference" / "sources.md").read_text(encoding="utf-8")
    section = re.split(rf"^## {heading}$", text, flags=re.MULTILINE)[1].split("\n## ")[0]
    first_table = section.split("\n| pagination |")[0]
    return set(re.findall(r"^\| `([a-z_.]+)` \|", first_table, re.MULTILINE))


@pytest.mark.parametrize(
    ("heading", "keys"),
    [
        ("What every file says", set(keys_of(CommonTable))),
        ("json-api", set(keys_of(JsonApiTable))),
        ("ocpi", set(keys_of(OcpiTable))),
        ("files", set(keys_of(FilesTable))),
        ("Fields", {*PLAIN, "attributes"}),
    ],
)
def test_every_key_is_documented_and_no_other(heading: str, keys: set[str]) -> None:
    assert keys_below(heading) == keys


def described(folder: Path, text: str) -> Any:
    (folder / "source.toml").write_text(text, encoding="utf-8")
    definition = read_definition(folder / "source.toml")
    importing = load_settings(environ={}).importing
    return make_source(definition, SourceContext(definition.name, definition.licence, importing, folder, ENVIRON))


@pytest.mark.parametrize("name", HOW_TO)
def test_the_files_that_are_shown_can_be_used(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    whole, *parts = blocks(DOCS / "how-to" / f"{name}.md", "toml")
    described(tmp_path, whole)
    for part in parts:
        given = tomllib.loads(part)
        if "budget" in given:
            continue
        # What is shown alone takes the place of the same table, and stands before all tables where it is none.
        kept = whole
        for table in given:
            kept = re.sub(rf"^\[{table}\]\n(?:.+\n)*", "", kept, flags=re.MULTILINE)
        if "url" in given:
            kept = re.sub(r"^versions = .*\n", "", kept, flags=re.MULTILINE)
        text = part + kept if not part.startswith("[") else f"{kept}\n{part}"
        if "since" in given.get("scope", {}):
            text = text.replace('lon = "position.lon"\n', 'lon = "position.lon"\nupdated_at = "changed"\n')
        described(tmp_path, text)


def test_the_source_of_the_tutorial_has_thirty_lines_and_works(processes: Processes) -> None:
    tutorial = DOCS / "tutorial" / "write-a-source.md"
    (code,), (project, source), (landings,) = (blocks(tutorial, name) for name in ("python", "toml", "text"))
    assert len(code.splitlines()) <= 30
    env = install(processes.folder / "site", code, tomllib.loads(project)["project"])
    (processes.folder / "landings.toml").write_text(source, encoding="utf-8")
    (processes.folder / "landings.txt").write_text(landings, encoding="utf-8")
    listed = processes.json("source", "list", env=env)
    assert {"name": "ferries", "package": "waypost-ferries", "error": None} in listed["kinds"]
    report = processes.json("import", "run", "--source", "landings.toml", env=env)
    assert (report["added"], report["rejected"]) == (2, 1)
    assert processes.json("place", "show", "landings:2", env=env)["name"] == "Blankenese"
    (processes.folder / "landings.txt").write_text(landings.partition("\n")[2], encoding="utf-8")
    again = processes.json("import", "run", "--source", "landings.toml", "--refresh", env=env)
    assert (again["removed"], again["unchanged"]) == (1, 1)


def install(site: Path, code: str, project: dict[str, Any]) -> dict[str, str]:
    """What pip does with a package, without its network; returns the environment in which it is found."""
    info = site / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir(parents=True)
    (site / "ferries.py").write_text(code, encoding="utf-8")
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n", encoding="utf-8"
    )
    points = project["entry-points"]["waypost.sources"]
    lines = ["[waypost.sources]", *(f"{name} = {value}" for name, value in points.items()), ""]
    (info / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
    return {"PYTHONPATH": str(site)}
