"""Files of sources: what they must say, how they are found, and what is told about those that are wrong."""

import sys
from collections.abc import Iterator, Mapping
from importlib import invalidate_caches
from pathlib import Path
from typing import Any

import pytest

from waypost.adapters.sources.kinds import kinds, make_source
from waypost.bootstrap.sources import UnknownSource, find_definition, open_source
from waypost.importing.base import BaseSource
from waypost.importing.definitions import (
    BadDefinition,
    CommonTable,
    SourceContext,
    load_definitions,
    read_definition,
    read_table,
)
from waypost.importing.settings import ImportingSettings
from waypost.kernel.configuration import SettingError
from waypost.places.licence import Licence
from waypost.scaling.ratelimit.settings import BudgetSettings
from waypost.settings import Settings, load_settings

LICENCE = '[licence]\nname = "CC0"\nattribution = "Keepers"\n'
GOOD = f"""
name = "lights"
kind = "json-api"
budget = "5/s"
url = "https://lights.example/v1"
{LICENCE}
[fields]
id = "id"
lat = "lat"
lon = "lon"
"""


def write(folder: Path, text: str = GOOD, name: str = "lights.toml") -> Path:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    return folder / name


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def load(environ: Mapping[str, str] | None = None, **flags: str) -> Settings:
    return load_settings(flags, environ or {})


def test_a_file_says_what_every_source_says_and_the_rest_is_for_its_kind(tmp_path: Path) -> None:
    found = read_definition(write(tmp_path))
    assert (found.name, found.kind, found.budget, found.licence) == (
        "lights",
        "json-api",
        "5/s",
        Licence("CC0", "Keepers"),
    )
    assert set(found.rest) == {"url", "fields"}
    assert read_definition(write(tmp_path, GOOD.replace('budget = "5/s"\n', ""))).budget == "2/s"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("name = ", "cannot be read"),
        ("\xff", "cannot be read"),
        ("", "missing required field `name`"),
        (f'name = "lights"\n{LICENCE}', "missing required field `kind`"),
        ('name = "lights"\nkind = "json-api"', "missing required field `licence`"),
        (GOOD.replace('"lights"', '"Lights"'), "'Lights' is not a name"),
        (GOOD.replace('"lights"', '"1lights"'), "is not a name"),
        (GOOD.replace('"lights"', '"li/ghts"'), "is not a name"),
        (GOOD.replace('"lights"', f'"{"a" * 41}"'), "is not a name"),
        (GOOD.replace('"lights"', '"ocm"'), "'ocm' is the name of a source that is built in"),
        (GOOD.replace('"lights"', '"waypost"'), "'waypost' is the name of a source that is built in"),
        (GOOD.replace('"lights"', "7"), "name: Expected `str`, got `int`"),
        (GOOD.replace('"5/s"', '"fast"'), "'fast' is not a limit"),
        (GOOD.replace('"5/s"', "5"), "budget: Expected `str`, got `int`"),
        (
            GOOD.replace("attribution", "atribution"),
            r"there is no key licence\.atribution; .*Did you mean attribution\?",
        ),
        (GOOD.replace('"CC0"', "[]"), r"licence\.name: Expected `str`, got `array`"),
    ],
)
def test_a_file_that_is_wrong_is_told_by_its_path_and_key(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "lights.toml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(BadDefinition, match=reason) as refusal:
        read_definition(path)
    assert str(path) in str(refusal.value)


def test_files_are_found_by_path_and_pattern_and_each_once(tmp_path: Path) -> None:
    write(tmp_path, name="sources/lights.toml")
    write(tmp_path, GOOD.replace('"lights"', '"towers"'), "sources/towers.toml")
    found = load_definitions(["sources/*.toml", "sources/lights.toml", f"{tmp_path}/sources/*.toml", "none/*.toml"])
    assert set(found) == {"lights", "towers"}
    with pytest.raises(BadDefinition, match=r"none\.toml cannot be read: No such file"):
        load_definitions(["none.toml"])


def test_two_files_of_one_name_are_an_error_that_names_both(tmp_path: Path) -> None:
    write(tmp_path, name="one.toml")
    write(tmp_path, name="two.toml")
    with pytest.raises(BadDefinition, match=r"two\.toml: one\.toml has the name 'lights' already"):
        load_definitions(["*.toml"])


def test_settings_have_the_sources_and_what_is_allowed_for_each(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "waypost.toml").write_text('sources = "lights.toml"\n[budget.lights]\nglobal = "100/min"\n')
    settings = load()
    assert list(settings.sources) == ["lights"]
    assert {name: [limit.name for limit in limits] for name, limits in settings.budget.limits.items()} == {
        "ocm": ["2/s"],
        "lights": ["5/s", "100/min"],
    }
    assert [limit.shared for limit in settings.budget.limits["lights"]] == [False, True]
    assert set(settings.budget.rules) == {"ocm", "lights"}
    assert settings.found["budget.lights.limit"].origin == "default"


def test_waypost_toml_changes_what_is_allowed_and_the_variable_wins(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "waypost.toml").write_text('sources = ["lights.toml"]\n[budget.lights]\nlimit = "3/s"\n')
    assert [limit.name for limit in load().budget.limits["lights"]] == ["3/s"]
    both = load({"WAYPOST_BUDGET": "7/s", "WAYPOST_BUDGET_LIGHTS_GLOBAL": "9/s"})
    assert {name: [limit.name for limit in limits] for name, limits in both.budget.limits.items()} == {
        "ocm": ["7/s"],
        "lights": ["7/s", "9/s"],
    }
    assert both.warnings == ()


def test_a_budget_of_a_source_that_is_not_configured_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "waypost.toml").write_text('[budget.lights]\nlimit = "3/s"\n')
    with pytest.raises(SettingError, match=r"there is no setting budget\.lights\.limit"):
        load()


def test_a_file_that_is_asked_for_joins_the_configured_ones(tmp_path: Path) -> None:
    write(tmp_path)
    write(tmp_path, GOOD.replace('"lights"', '"towers"'), "towers.toml")
    settings = load({"WAYPOST_SOURCES": "towers.toml"}, source="./lights.toml")
    assert set(settings.sources) == {"lights", "towers"}
    assert find_definition("lights.toml", settings).name == "lights"
    assert find_definition(f"{tmp_path}/lights.toml", settings).name == "lights"
    assert set(load({"WAYPOST_SOURCES": "towers.toml"}, source="lights").sources) == {"towers"}


def test_limits_of_one_source_can_be_exchanged() -> None:
    budget = BudgetSettings(600, 0.05, 1.0, 600, "closed", {"ocm": load().budget.limits["ocm"]})
    assert [
        limit.name
        for limit in budget.allowing("ocm", load({"WAYPOST_BUDGET": "9/s"}).budget.limits["ocm"]).limits["ocm"]
    ] == ["9/s"]


@pytest.mark.anyio
async def test_sources_are_opened_by_name_and_by_file(tmp_path: Path) -> None:
    write(tmp_path)
    settings = load(source="lights.toml")
    for name in ("lights", "lights.toml"):
        async with open_source(name, settings) as source:
            assert (source.name, source.provider) == ("lights", "https://lights.example/v1")
            assert source.budget_key
            assert source.budget_key.startswith("lights:")


@pytest.mark.anyio
async def test_an_unknown_source_is_told_with_what_there_is(tmp_path: Path) -> None:
    write(tmp_path)
    with pytest.raises(
        UnknownSource, match=r"no source 'light'; there is ocm, lights\. Did you mean lights\?"
    ) as refusal:
        async with open_source("light", load(source="lights.toml")):
            pass
    assert "WAYPOST_SOURCES" in str(refusal.value.next_step)


def open_now(tmp_path: Path, text: str, environ: Mapping[str, str] | None = None) -> Any:
    definition = read_definition(write(tmp_path, text))
    importing = ImportingSettings(100, 1, 1, 100, 0.2, 0.2)
    return make_source(
        definition, SourceContext(definition.name, definition.licence, importing, tmp_path, environ or {})
    )


def test_an_unknown_kind_is_told_with_those_that_there_are(tmp_path: Path) -> None:
    with pytest.raises(BadDefinition, match=r"no kind 'json'; there is files, json-api, ocpi") as refusal:
        open_now(tmp_path, GOOD.replace('"json-api"', '"json"'))
    assert "lights.toml" in str(refusal.value)


def test_what_a_kind_does_not_understand_is_told_with_the_file(tmp_path: Path) -> None:
    with pytest.raises(BadDefinition, match=r"lights\.toml: there is no key urll; .*Did you mean url\?"):
        open_now(tmp_path, GOOD.replace("url =", "urll ="))
    with pytest.raises(SettingError, match=r"lights\.toml: the variable K is not set"):
        open_now(tmp_path, f'{GOOD}\n[auth]\nvariable = "K"')


PLUGIN = """
from waypost.importing.base import BaseSource

class Tower(BaseSource):
    def __init__(self, context):
        self.name, self.licence, self.provider = context.name, context.licence, "towers"

    async def fetch(self, shard, cursor): ...

def make(definition, context):
    if "height" in definition:
        return Tower(context)
    raise ValueError("height is missing")

def crash(definition, context):
    return 1 / 0

def nothing(definition, context):
    return object()

def renamed(definition, context):
    context = type("C", (), {"name": "other", "licence": None})
    return Tower(context)

NOT_CALLABLE = 7
"""


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package of somebody else's, as pip would have installed it."""
    site = tmp_path / "site"
    info = site / "towers-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "towers_plugin.py").write_text(PLUGIN)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: towers\nVersion: 1.0\n")
    points = {
        "towers": "towers_plugin:make",
        "crash": "towers_plugin:crash",
        "nothing": "towers_plugin:nothing",
        "renamed": "towers_plugin:renamed",
        "value": "towers_plugin:NOT_CALLABLE",
        "gone": "no_such_module_here:make",
        "lacking": "towers_plugin:lacking",
    }
    lines = [f"{name} = {value}" for name, value in points.items()]
    (info / "entry_points.txt").write_text("\n".join(["[waypost.sources]", *lines, ""]))
    monkeypatch.syspath_prepend(str(site))
    invalidate_caches()
    yield
    sys.modules.pop("towers_plugin", None)


@pytest.mark.usefixtures("plugin")
def test_a_plugin_brings_a_kind_of_its_own(tmp_path: Path) -> None:
    source = open_now(tmp_path, GOOD.replace('"json-api"', '"towers"') + "\n[height]\n")
    assert isinstance(source, BaseSource)
    assert (source.name, source.provider, list(source.plans)) == ("lights", "towers", ["all"])
    with pytest.raises(BadDefinition, match=r"lights\.toml: height is missing"):
        open_now(tmp_path, GOOD.replace('"json-api"', '"towers"'))


@pytest.mark.usefixtures("plugin")
def test_plugins_that_do_not_work_are_told_and_break_no_others(tmp_path: Path) -> None:
    found = {kind.name: kind for kind in kinds()}
    assert found["towers"].error is None
    assert found["towers"].package == "towers"
    assert found["json-api"].error is None
    assert "ModuleNotFoundError" in str(found["gone"].error)
    assert "AttributeError" in str(found["lacking"].error)
    assert "cannot be called" in str(found["value"].error)
    assert open_now(tmp_path, GOOD).name == "lights"


@pytest.mark.usefixtures("plugin")
@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("gone", "the kind gone of the package towers does not work: ModuleNotFoundError"),
        ("crash", "the kind crash failed: ZeroDivisionError"),
        ("nothing", "made something that is not a source: it has no name"),
        ("renamed", "made something that is not a source: it calls itself 'other'"),
    ],
)
def test_what_a_plugin_does_wrong_is_told_with_the_file(tmp_path: Path, kind: str, reason: str) -> None:
    with pytest.raises(BadDefinition, match=reason) as refusal:
        open_now(tmp_path, GOOD.replace('"json-api"', f'"{kind}"'))
    assert "lights.toml" in str(refusal.value)


def test_a_table_of_no_keys_is_read_too() -> None:
    with pytest.raises(ValueError, match="missing required field"):
        read_table({}, CommonTable)


def test_the_environment_is_in_no_text_form() -> None:
    context = SourceContext("a", Licence("a", "b"), load().importing, Path(), {"K": "hunter2"})
    assert "hunter2" not in repr(context)
