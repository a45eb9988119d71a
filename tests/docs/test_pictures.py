"""The pictures of the architecture are what the code says now, can be read by everybody, and are shown."""

import ast
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from tools.pictures.__main__ import pictures
from tools.pictures.modules import ROOT, SOURCE, Modules, read_modules
from tools.pictures.ports import Port, read_ports
from tools.pictures.process_check import TableWrong
from tools.pictures.processes import draw_processes
from tools.pictures.rooms import read_house, reduced
from tools.pictures.svg import Drawing, TooWide
from tools.pictures.threads import Nameless, named_threads, roles, serve_verbs

IMAGES = ROOT / "docs" / "images"
NAMES = ("architecture.svg", "processes.svg")
each_picture = pytest.mark.parametrize("name", NAMES)
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def modules() -> Modules:
    return read_modules()


def ports_of(modules: Modules) -> list[Port]:
    return read_ports(modules, {room.name for layer in read_house(modules).layers for room in layer if room.is_inside})


def texts_in(name: str) -> list[str]:
    return [text.text or "" for text in ET.parse(IMAGES / name).iter(f"{SVG}text")]


def planted(modules: Modules, module: str, code: str) -> Modules:
    return {**modules, module: ast.parse(code)}


def test_the_pictures_are_what_would_be_drawn_now(modules: Modules) -> None:
    drawn = pictures(modules)
    assert tuple(drawn) == NAMES
    for name, picture in drawn.items():
        assert (IMAGES / name).read_text(encoding="utf-8") == picture, f"{name} is old; run: make pictures"


def test_every_room_and_every_port_with_its_backends_is_drawn(modules: Modules) -> None:
    texts = texts_in("architecture.svg")
    rooms = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()}
    assert rooms <= set(texts)
    for port in ports_of(modules):
        at = texts.index(port.name)
        assert texts[at + 1 : at + 1 + len(port.backends)] == list(port.backends)


def test_ports_and_backends_are_found_in_the_code(modules: Modules) -> None:
    found = {port.name: list(port.backends) for port in ports_of(modules)}
    assert found["JobStore"] == ["SQLite", "PostgreSQL", "MongoDB", "Redis"]
    assert found["LinkStore"] == ["SQLite", "PostgreSQL"]
    assert found["Source"] == ["files", "json-api", "ocm", "ocpi"]
    code = "class CouchFacts:\n    async def get(self): ...\n    async def set(self): ...\n"
    assert ports_of(planted(modules, "adapters.couch.facts", code)) == ports_of(modules)
    complete = planted(modules, "adapters.couch.facts", f"{code}    async def replace(self): ...\n")
    [facts] = [port for port in ports_of(complete) if port.name == "Facts"]
    assert facts.backends == ("SQLite", "PostgreSQL", "MongoDB", "couch")


def test_every_port_that_is_drawn_is_explained(modules: Modules) -> None:
    page = (ROOT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
    rows = {name: row for row in page.splitlines() if row.startswith("| `") for name in re.findall(r"`(\w+)`", row)}
    assert [port.name for port in ports_of(modules) if f"| {port.room} |" not in rows.get(port.name, "")] == []


def test_imports_that_another_room_brings_along_are_left_out() -> None:
    imports = {"cli": {"roles", "kernel"}, "roles": {"places", "kernel"}, "places": {"kernel"}, "kernel": set[str]()}
    assert reduced(imports) == {"cli": ("roles",), "roles": ("places",), "places": ("kernel",), "kernel": ()}


def test_every_role_and_every_thread_is_drawn(modules: Modules) -> None:
    said = ET.parse(IMAGES / "processes.svg").findtext(f"{SVG}desc") or ""
    texts = texts_in("processes.svg")
    assert roles(modules) == {"scheduler", "serve", "simulator", "up", "worker"}
    assert roles(modules) <= {word for text in texts for word in text.split()}
    assert [verb for verb in serve_verbs(modules) if f"serve {verb}" not in said] == []
    assert set(named_threads(modules)) <= set(texts)


PLANTED = [
    ("roles.relay", "", "roles in the code"),
    ("kernel.clock", "Thread(name='ticker')", "threads in the code"),
    ("kernel.clock", "subprocess.Popen(['date'])", "starters of child processes in the code"),
    ("roles.scheduler", "from waypost.scaling.jobs.renewer import Renewer", "threads of scheduler in the code"),
    ("roles.simulator", "", "simulator has no way to the provider"),
    ("cli.serve", "group.command('tiles')", "does not tell of: waypost serve tiles"),
]


@pytest.mark.parametrize(("module", "code", "told"), PLANTED)
def test_what_the_table_of_processes_does_not_know_is_told(modules: Modules, module: str, code: str, told: str) -> None:
    with pytest.raises(TableWrong, match=told):
        draw_processes(planted(modules, module, code))


def test_a_thread_without_a_name_is_refused(modules: Modules) -> None:
    with pytest.raises(Nameless, match=r"kernel\.clock, line 1"):
        named_threads(planted(modules, "kernel.clock", "threading.Thread(target=print)"))


@each_picture
def test_a_picture_can_be_read_by_everybody(name: str) -> None:
    root = ET.parse(IMAGES / name).getroot()
    first = [child.tag.removeprefix(SVG) for child in root][:4]
    assert first == ["title", "desc", "style", "rect"]  # the last is a background, for pages of any colour
    assert all((root.findtext(f"{SVG}{tag}") or "").strip() for tag in ("title", "desc"))
    assert "sans-serif" in (root.findtext(f"{SVG}style") or "")
    assert len(texts_in(name)) > 50


@each_picture
def test_nothing_is_outside_of_a_picture(name: str) -> None:
    root = ET.parse(IMAGES / name).getroot()
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for box in root.iter(f"{SVG}rect"):
        x, y = float(box.get("x", 0)), float(box.get("y", 0))
        assert 0 <= x <= x + float(box.attrib["width"]) <= width
        assert 0 <= y <= y + float(box.attrib["height"]) <= height


def test_text_that_does_not_fit_is_refused() -> None:
    drawing = Drawing(200, 100, "title", "told")
    with pytest.raises(TooWide):
        drawing.text(0, 10, "wider than its box", room=40)
    with pytest.raises(TooWide):
        drawing.text(150, 10, "beyond the edge of the page", room=200)


@pytest.mark.parametrize(
    ("page", "shown"),
    [
        ("README.md", "docs/images/architecture.svg"),
        ("docs/explanation/architecture.md", "../images/architecture.svg"),
        ("docs/explanation/architecture.md", "../images/processes.svg"),
    ],
)
def test_the_pictures_are_shown_and_described(page: str, shown: str) -> None:
    text = Path(ROOT / page).read_text(encoding="utf-8")
    assert re.search(rf"^!\[[^\]]{{40,}}\]\({re.escape(shown)}\)$", text, re.MULTILINE)
