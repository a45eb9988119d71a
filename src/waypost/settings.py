"""All settings in one frozen object, collected from the rooms that they belong to."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from waypost.adapters.sources.ocm.settings import OcmSettings
from waypost.importing.schedules import FullSchedule, WindowsSchedule
from waypost.importing.settings import ImportingSettings
from waypost.kernel.configuration import Configuration, Found, SecretUrl, SettingError, setting
from waypost.kernel.suggesting import did_you_mean
from waypost.scaling.chores import PruneSchedule, SnapshotSchedule
from waypost.scaling.jobs.settings import JobsSettings
from waypost.scaling.ratelimit.settings import BudgetSettings
from waypost.scaling.schedules import Schedule
from waypost.serving.settings import ServingSettings
from waypost.sharing.links.settings import SharingSettings
from waypost.telemetry.settings import TelemetrySettings
from waypost.web.settings import WebSettings

DEFAULT_FILE = "waypost.toml"


def _read_redis(text: str) -> SecretUrl:
    if text and text.partition(":")[0] not in {"redis", "rediss"}:
        raise ValueError("this is not the URL of a Redis; write it like redis://user:password@host:6379/0")
    return SecretUrl(text)


@dataclass(frozen=True)
class StorageSettings:
    data: str = setting("data", "./waypost-data", explain="folder for everything kept locally")
    store: str = setting(
        "store", "", parse=SecretUrl, explain="sqlite:///path or postgresql://…; SQLite in the data folder when empty"
    )

    jobs: str = setting(
        "jobs",
        "",
        parse=SecretUrl,
        explain="another store for jobs alone: postgresql://, mongodb://, redis:// or sqlite:///; the store when empty",
    )

    redis: str = setting(
        "redis", "", parse=_read_redis, explain="redis://… for what a fleet shares in memory: budgets, so far"
    )

    @property
    def folder(self) -> Path:
        return Path(self.data).absolute()

    @property
    def store_url(self) -> str:
        return self.store or f"sqlite:///{self.folder / 'waypost.db'}"

    @property
    def on_server(self) -> bool:
        """Whether the store is a PostgreSQL, which many machines may share, and not a file of this one."""
        return self.store_url.partition(":")[0] in {"postgresql", "postgres"}


_KINDS: Mapping[str, type[WindowsSchedule | FullSchedule | SnapshotSchedule | PruneSchedule]] = {
    kind.what: kind for kind in (WindowsSchedule, FullSchedule, SnapshotSchedule, PruneSchedule)
}


def _read_kind(text: str) -> str:
    if text not in _KINDS:
        raise ValueError(
            f"{text[:40]!r} is nothing that can be scheduled; choose one of {', '.join(_KINDS)}."
            f"{did_you_mean(text, _KINDS)}"
        )
    return text


@dataclass(frozen=True)
class ScheduleKind:
    """What every table of a schedule begins with; the kind says which other fields it has."""

    what: str = setting("what", "", parse=_read_kind, explain="what is scheduled")


@dataclass(frozen=True)
class Settings:
    storage: StorageSettings
    jobs: JobsSettings
    budget: BudgetSettings
    importing: ImportingSettings
    ocm: OcmSettings
    serving: ServingSettings
    sharing: SharingSettings
    web: WebSettings
    telemetry: TelemetrySettings
    schedules: Mapping[str, Schedule]
    found: Mapping[str, Found] = field(repr=False, compare=False)
    warnings: tuple[str, ...] = field(default=(), repr=False, compare=False)

    @property
    def snapshots(self) -> Path:
        return Path(self.serving.snapshots) if self.serving.snapshots else self.storage.folder / "snapshots"

    @property
    def spool(self) -> Path:
        return self.storage.folder / "spool"


def load_settings(
    flags: Mapping[str, str] | None = None, environ: Mapping[str, str] | None = None, file: str | None = None
) -> Settings:
    """`flags` by setting name. `file` must exist; without it, waypost.toml is read where it is there."""
    configuration = Configuration(flags or {}, os.environ if environ is None else environ, _choose_file(file))
    settings = Settings(
        storage=configuration.room(StorageSettings),
        jobs=configuration.room(JobsSettings),
        budget=configuration.room(BudgetSettings),
        importing=configuration.room(ImportingSettings),
        ocm=configuration.room(OcmSettings),
        serving=configuration.room(ServingSettings),
        sharing=configuration.room(SharingSettings),
        web=configuration.room(WebSettings),
        telemetry=configuration.room(TelemetrySettings),
        schedules={name: _read_schedule(configuration, name) for name in configuration.tables("schedule")},
        found=configuration.found,
    )
    configuration.refuse_unknown_names()
    return replace(settings, warnings=tuple(configuration.unknown_variables()))


def _read_schedule(configuration: Configuration, name: str) -> Schedule:
    table = f"schedule.{name}"
    return configuration.room(_KINDS[configuration.room(ScheduleKind, table).what], table)


def _choose_file(file: str | None) -> Path | None:
    if file is not None:
        if not Path(file).is_file():
            raise SettingError(f"there is no file {file}")
        return Path(file)
    return Path(DEFAULT_FILE) if Path(DEFAULT_FILE).is_file() else None
