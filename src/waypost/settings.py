"""All settings in one frozen object, collected from the rooms that they belong to."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from waypost.adapters.sources.ocm.settings import OcmSettings
from waypost.importing.settings import ImportingSettings
from waypost.kernel.configuration import Configuration, Found, SecretUrl, SettingError, setting
from waypost.scaling.jobs.settings import JobsSettings
from waypost.scaling.ratelimit.settings import BudgetSettings
from waypost.serving.settings import ServingSettings
from waypost.sharing.links.settings import SharingSettings
from waypost.telemetry.settings import TelemetrySettings
from waypost.web.settings import WebSettings

DEFAULT_FILE = "waypost.toml"


@dataclass(frozen=True)
class StorageSettings:
    data: str = setting("data", "./waypost-data", explain="folder for everything kept locally")
    store: str = setting("store", "", parse=SecretUrl, explain="sqlite:///path; SQLite in the data folder when empty")

    jobs: str = setting(
        "jobs",
        "",
        parse=SecretUrl,
        explain="another store for jobs alone: postgresql://, mongodb://, redis:// or sqlite:///; the store when empty",
    )

    @property
    def folder(self) -> Path:
        return Path(self.data).absolute()

    @property
    def store_url(self) -> str:
        return self.store or f"sqlite:///{self.folder / 'waypost.db'}"


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
        found=configuration.found,
    )
    configuration.refuse_unknown_names()
    return replace(settings, warnings=tuple(configuration.unknown_variables()))


def _choose_file(file: str | None) -> Path | None:
    if file is not None:
        if not Path(file).is_file():
            raise SettingError(f"there is no file {file}")
        return Path(file)
    return Path(DEFAULT_FILE) if Path(DEFAULT_FILE).is_file() else None
