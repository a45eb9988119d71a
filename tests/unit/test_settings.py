"""All settings together: where they are found, and that nothing secret comes back out."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from waypost.kernel.configuration import SettingError
from waypost.settings import Settings, load_settings

SECRET = "hunter2"
STORE = f"postgresql://ada:{SECRET}@db/waypost"


def load(
    flags: dict[str, str] | None = None, environ: dict[str, str] | None = None, file: str | None = None
) -> Settings:
    return load_settings(flags, environ or {}, file)


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_without_anything_the_defaults_are_in_force() -> None:
    settings = load()
    assert {found.origin for found in settings.found.values()} == {"default"}
    assert settings.storage.store_url == f"sqlite:///{Path.cwd() / 'waypost-data' / 'waypost.db'}"
    assert settings.snapshots == Path.cwd() / "waypost-data" / "snapshots"
    assert settings.spool == Path.cwd() / "waypost-data" / "spool"
    assert (settings.jobs.lease, settings.ocm.url, settings.warnings) == (30, "https://api.openchargemap.io", ())
    assert [(limit.count, limit.period) for limit in settings.budget.limits["ocm"]] == [(2, 1)]


def test_waypost_toml_in_this_folder_is_read_where_it_is_there(tmp_path: Path) -> None:
    (tmp_path / "waypost.toml").write_text('lease = "1m"\n[ocm]\nkey = "from the file"\n')
    settings = load()
    assert (settings.jobs.lease, settings.ocm.key.reveal()) == (60, "from the file")
    assert load(environ={"WAYPOST_LEASE": "2m"}).jobs.lease == 120
    assert load({"lease": "3m"}, {"WAYPOST_LEASE": "2m"}).found["lease"].origin == "flag"


def test_another_file_is_read_instead_and_must_exist(tmp_path: Path) -> None:
    (tmp_path / "waypost.toml").write_text('lease = "1m"')
    (tmp_path / "other.toml").write_text('data = "elsewhere"')
    settings = load(file="other.toml")
    assert (settings.jobs.lease, settings.storage.data) == (30, "elsewhere")
    with pytest.raises(SettingError, match=r"there is no file nowhere\.toml"):
        load(file="nowhere.toml")


def test_the_environment_is_asked_when_no_other_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAYPOST_LEASE", "7s")
    assert load_settings().jobs.lease == 7


def test_settings_cannot_be_changed() -> None:
    settings = load()
    with pytest.raises(dataclasses.FrozenInstanceError):
        settings.jobs = settings.jobs  # type: ignore[misc]


def test_a_misspelt_name_in_the_file_is_an_error_and_a_misspelt_variable_a_warning(tmp_path: Path) -> None:
    assert load(environ={"WAYPOST_LEESE": "1m"}).warnings == (
        "there is no setting WAYPOST_LEESE. Did you mean WAYPOST_LEASE?",
    )
    (tmp_path / "waypost.toml").write_text('[ocm]\nkye = "x"')
    with pytest.raises(SettingError, match=r"there is no setting ocm\.kye\. Did you mean ocm\.key\?"):
        load()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("lease", "soon"),
        ("lease", "99ms"),
        ("lease", "25h"),
        ("jobs.concurrency", "0"),
        ("jobs.max_attempts", "-1"),
        ("budget.ocm.limit", "fast"),
        ("budget.max_wait", "for ever"),
        ("import.page_size", "1001"),
        ("import.timeout", "0s"),
        ("import.timeout", "99ms"),
        ("import.timeout", "9999h"),
        ("import.max_answer", "all"),
        ("ocm.url", "ftp://example.org"),
        ("ocm.url", "https://example.org?key=hunter2"),
        ("ocm.url", "https://ada:hunter2@example.org"),
        ("ocm.url", "https://:hunter2@example.org"),
        ("ocm.url", "ada:hunter2@example.org"),
        ("ocm.url", "https://[hunter2"),
        ("public_url", "ftp://ada:hunter2@example.org"),
        ("public_url", "https://ada:hunter2@example.org"),
        ("public_url", "go.example.org"),
        ("listen.port", "65536"),
        ("log.level", "loud"),
        ("snapshot.keep", "0"),
        ("serving.max_limit", "none"),
        ("visits.spool_max", "-1"),
    ],
)
def test_a_value_that_makes_no_sense_is_refused_by_name_and_without_its_secrets(name: str, value: str) -> None:
    variable = load().found[name].setting.variable
    with pytest.raises(SettingError) as refusal:
        load(environ={variable: value})
    assert str(refusal.value).startswith(f"{name} ({variable}): ")
    assert refusal.value.parameter == name
    assert SECRET not in str(refusal.value) + repr(refusal.value)


@pytest.mark.parametrize(
    "form", [repr, str, lambda settings: repr(settings.found), lambda settings: repr(settings.storage)]
)
@pytest.mark.parametrize("secret", [{"ocm.key": SECRET}, {"store": STORE}])
def test_no_secret_is_in_any_text_form_of_the_settings(form: Any, secret: dict[str, str]) -> None:
    assert SECRET not in form(load(secret))


@pytest.mark.parametrize("name", ["jobs.retention", "events.retention"])
def test_what_is_kept_is_kept_for_a_day_at_least_or_for_ever(name: str) -> None:
    assert load_settings({name: "1d"}, environ={}).found[name].shown() == "1d"
    with pytest.raises(SettingError, match="shorter than a day"):
        load_settings({name: "23h"}, environ={})
    forever = load_settings({"jobs.retention": "", "events.retention": ""}, environ={})
    assert (forever.jobs.retention, forever.events.retention) == (None, None)
