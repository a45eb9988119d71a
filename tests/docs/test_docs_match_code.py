"""The documentation is compared with the code, both ways: what is undocumented fails, and so does what is invented."""

import importlib
import pkgutil
import re
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import click
import fastapi
import pytest
from prometheus_client.metrics import MetricWrapperBase
from starlette.applications import Starlette
from starlette.routing import BaseRoute, Route

import waypost
from support.attacks.series import ATTACKS
from waypost.cli.frame import with_settings
from waypost.cli.root import waypost as root_command
from waypost.kernel.errors import TransientError, WaypostError
from waypost.serving.shelf import LiveGeneration, Shelf
from waypost.settings import load_settings
from waypost.sharing.visits.visitors import Observer
from waypost.simulator.app import make_app as make_simulator
from waypost.simulator.generate import generate
from waypost.telemetry import metrics
from waypost.web.app import Places, make_app
from waypost.web.follow.link_cache import LinkCache
from waypost.web.follow.route_dependencies import FollowParts
from waypost.web.http.authentication import WriteGuard
from waypost.web.http.local_trust import LocalTrust
from waypost.web.links.route_dependencies import LinkParts

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
REFERENCE = DOCS / "reference"
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]
each_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))

# Variables that the documentation speaks about because they are not settings.
NOT_SETTINGS = {"WAYPOST_PORT", "WAYPOST_SERVICE_HOST"}


def read(document: Path) -> str:
    return document.read_text(encoding="utf-8")


def rows_of(document: Path) -> dict[str, list[str]]:
    """Table rows by what stands in backquotes in their first cell."""
    rows: dict[str, list[str]] = {}
    for line in read(document).splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `"):
            rows[cells[0].strip("`")] = [cell.strip("`") for cell in cells[1:]]
    return rows


def sections_of(document: Path) -> dict[str, str]:
    """The text below each heading, up to the next one."""
    _, *parts = re.split(r"^#+ (.+)$", read(document), flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def commands_below(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        for name, child in command.commands.items():
            yield from commands_below(child, f"{path} {name}")


COMMANDS = dict(commands_below(root_command, "waypost"))


def flags_of(command: click.Command) -> set[str]:
    options = [option for option in command.params if isinstance(option, click.Option) and not option.hidden]
    return {flag for option in options for flag in option.opts}


COMMON_FLAGS = flags_of(click.command()(with_settings(lambda: None)))


@pytest.mark.parametrize("path", [path for path in COMMANDS if path != "waypost"])
def test_every_command_is_documented_with_its_options(path: str) -> None:
    sections = sections_of(REFERENCE / "commands.md")
    assert path in sections
    for flag in flags_of(COMMANDS[path]) - COMMON_FLAGS:
        assert f"`{flag}`" in sections[path], f"{path} has {flag}"


def test_the_options_that_all_commands_have_are_documented() -> None:
    for flag in COMMON_FLAGS:
        assert f"`{flag}" in read(REFERENCE / "commands.md")


def test_every_setting_is_documented_with_its_variable_and_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = load_settings(environ={}).found
    rows = {name: row for name, row in rows_of(REFERENCE / "settings.md").items() if name in found}
    declared = {
        name: [each.setting.variable, each.setting.default or "*empty*"] for name, each in sorted(found.items())
    }
    assert {name: row[:2] for name, row in sorted(rows.items())} == declared


def error_classes(kind: type[WaypostError] = WaypostError) -> Iterator[type[WaypostError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from error_classes(child)


def every_error() -> list[type[WaypostError]]:
    for module in pkgutil.walk_packages(waypost.__path__, "waypost."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    return [error for error in error_classes() if error.__module__.startswith("waypost.")]


def test_every_error_is_documented_with_its_kind_exit_code_and_status() -> None:
    rows = rows_of(REFERENCE / "errors.md")
    statuses: dict[str, set[str]] = {}
    for error in every_error():
        assert error.slug in rows, f"{error.__name__} has the slug {error.slug}"
        kind, exit_code, _, _ = rows[error.slug]
        if error is not WaypostError:
            assert ("transient" if issubclass(error, TransientError) else "terminal") in kind, error.slug
        assert exit_code == str(error.exit_code), error.slug
        statuses.setdefault(error.slug, set()).add(str(error.http_status))
    # Two errors may share a slug, and the one that only commands meet has a status that nobody sees.
    for slug, possible in statuses.items():
        assert rows[slug][2] in possible, slug


def test_every_slug_that_only_http_has_is_documented() -> None:
    rows = rows_of(REFERENCE / "errors.md")
    sources = [read(path) for path in (ROOT / "src/waypost/web").rglob("*.py")]
    slugs = {found for source in sources for found in re.findall(r'\(\s*(\d{3}), "([a-z]+-[a-z-]+|defect)"', source)}
    assert slugs
    for status, slug in slugs:
        assert slug in rows
        assert status in rows[slug], f"{slug} is answered with {status}"


def test_every_documented_slug_is_in_the_code() -> None:
    code = "\n".join(read(path) for path in (ROOT / "src/waypost").rglob("*") if path.suffix in {".py", ".sql"})
    known = {error.slug for error in every_error()}
    for slug in rows_of(REFERENCE / "errors.md"):
        assert slug in known or re.search(rf"[\"']{slug}[\"']", code), f"nothing has the slug {slug}"


def test_every_metric_is_documented_with_its_kind_and_labels() -> None:
    declared = {}
    for metric in vars(metrics).values():
        if isinstance(metric, MetricWrapperBase):
            name = metric._name + ("_total" if metric._type == "counter" else "")
            declared[name] = [metric._type, ", ".join(f"`{label}`" for label in metric._labelnames).strip("`")]
    rows = rows_of(REFERENCE / "metrics.md")
    assert declared
    assert {name: row[:2] for name, row in rows.items()} == declared


def test_every_dependency_is_documented_and_no_other() -> None:
    project = tomllib.loads(read(ROOT / "pyproject.toml"))
    wanted = [*project["project"]["dependencies"]]
    for extra in project["project"].get("optional-dependencies", {}).values():
        wanted += extra
    for group in project["dependency-groups"].values():
        wanted += [each for each in group if isinstance(each, str)]
    names = {re.split(r"[\s<>=!~;\[]", each)[0] for each in wanted}
    rows = rows_of(REFERENCE / "dependencies.md")
    assert set(rows) == names
    assert all(all(row) for row in rows.values())


def http_app(folder: Path) -> fastapi.FastAPI:
    async def status() -> None: ...

    nothing = cast("Any", None)
    chosen = load_settings(environ={}).redirect
    follow = FollowParts(
        links=nothing,
        reports=nothing,
        blocks=nothing,
        cache=LinkCache(nothing, chosen),
        observer=Observer(nothing),
        record=nothing,
        record_line=nothing,
        passwords=nothing,
        settings=chosen,
    )
    links = LinkParts(
        author=nothing,
        links=nothing,
        visits=nothing,
        vocabularies=nothing,
        edit_tokens=nothing,
        eraser=nothing,
        follow=follow,
    )
    places = Places(LiveGeneration(Shelf(folder)), 1)
    app = make_app(probes={}, guard=WriteGuard(LocalTrust.on("127.0.0.1")), places=places, links=links, status=status)
    return cast("fastapi.FastAPI", app._app)  # what stands inside the bounds


def routes_of(routes: Sequence[BaseRoute]) -> Iterator[str]:
    for route in routes:
        # Newer releases of FastAPI keep an included router as a route of its own.
        if router := getattr(route, "original_router", None):
            yield from routes_of(router.routes)
        elif isinstance(route, Route):
            for method in (route.methods or set()) - {"HEAD"}:
                yield f"`{method} {route.path_format}`"


def test_every_route_is_documented(tmp_path: Path) -> None:
    simulator = cast("Starlette", make_simulator(generate(0, 1), key=None))
    documented = set(re.findall(r"`[A-Z]+ /\S*`", read(REFERENCE / "http.md")))
    assert {*routes_of(http_app(tmp_path).routes), *routes_of(simulator.routes)} == documented


@each_document
def test_links_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", read(document)):
        if target.startswith(("http://", "https://")):
            continue
        name, _, anchor = target.partition("#")
        path = (document.parent / name).resolve() if name else document
        assert path.exists(), f"{target} is not there"
        if anchor:
            assert anchor in {_anchor(heading) for heading in sections_of(path)}, f"{target} has no such heading"


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def test_the_index_names_every_document() -> None:
    index = read(DOCS / "README.md")
    for document in DOCS.rglob("*.md"):
        if document != DOCS / "README.md":
            assert f"({document.relative_to(DOCS)})" in index


@each_document
def test_commands_in_documents_exist_with_their_options(document: Path) -> None:
    for text in shell_lines(document):
        words = text.split()
        path = "waypost"
        while words and f"{path} {words[0]}" in COMMANDS:
            path = f"{path} {words.pop(0)}"
        command = COMMANDS[path]
        assert not isinstance(command, click.Group) or not words or words[0].startswith("-"), f"waypost {text}"
        known = flags_of(command) | {"--help", "--version"}
        assert {word.partition("=")[0] for word in words if word.startswith("--")} <= known, f"waypost {text}"


def shell_lines(document: Path) -> Iterator[str]:
    """What follows `waypost` in commands: in blocks for a shell, and between backquotes."""
    text = read(document)
    for block in re.findall(r"^```(?:sh|console)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        for line in re.findall(r"^(?:\$ )?(?:\w+=\S+ )*waypost (.*)$", block, re.MULTILINE):
            yield line.removesuffix("&")
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    yield from (re.sub(r"[A-Z]+$", "", found) for found in re.findall(r"`waypost ([a-z-][^`]*)`", prose))


@each_document
def test_variables_in_documents_are_settings(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    known = {each.setting.variable for each in load_settings(environ={}).found.values()} | NOT_SETTINGS
    assert set(re.findall(r"\bWAYPOST_[A-Z_]*[A-Z]", read(document))) <= known


@each_document
def test_make_targets_in_documents_exist(document: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", read(ROOT / "Makefile"), re.MULTILINE))
    assert set(re.findall(r"(?:^|`)make ([a-z-]+)", read(document), re.MULTILINE)) <= targets


@each_document
def test_lines_are_not_too_long(document: Path) -> None:
    """Table rows, links and shown output may be; they cannot be broken."""
    text = re.sub(r"^```.*?^```", "", read(document), flags=re.MULTILINE | re.DOTALL)
    free = [line for line in text.splitlines() if not line.startswith(("|", "!["))]
    assert [line for line in free if len(line) > 120] == []


def test_the_picture_is_small_enough_to_load() -> None:
    picture = DOCS / "images" / "map.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size < 300_000
    assert "docs/images/map.png" in read(ROOT / "README.md")


def test_what_is_said_to_be_tried_is_a_test() -> None:
    told = (ROOT / "docs" / "explanation" / "security.md").read_text(encoding="utf-8")
    named = [
        (file, name)
        for file, names in re.findall(r"`(tests/[\w/.]+)` · ((?:`test_\w+`(?:, )?)+)", told)
        for name in re.findall(r"`(test_\w+)`", names)
    ]
    assert len(named) > 20
    for file, name in named:
        assert f"def {name}(" in (ROOT / file).read_text(encoding="utf-8"), f"{file} has no {name}"
    tried = set(re.findall(r"`test_a_server_holds_against` \(([\w-]+)\)", told))
    assert tried == set(ATTACKS)
