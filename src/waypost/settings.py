"""All settings in one frozen object, collected from the rooms that they belong to."""

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from waypost.access.settings import KeysSettings
from waypost.importing.definitions import DEFAULT_BUDGET, Definition, load_definitions
from waypost.importing.schedules import FullSchedule, WindowsSchedule
from waypost.importing.settings import ImportingSettings, OcmSettings
from waypost.kernel.configuration import Configuration, Found, SecretUrl, SettingError, setting
from waypost.kernel.suggesting import did_you_mean
from waypost.scaling.event_outbox import EventsSettings
from waypost.scaling.jobs.settings import JobsSettings
from waypost.scaling.ratelimit.settings import BudgetRoom, BudgetSettings, limit_settings
from waypost.scaling.schedules.schedule import PruneSchedule, Schedule
from waypost.serving.settings import ServingSettings, SnapshotSchedule
from waypost.sharing.links.settings import SharingSettings
from waypost.sharing.visits.settings import VisitsSettings
from waypost.telemetry.logs import TelemetrySettings
from waypost.web.settings import RedirectSettings, WebSettings

DEFAULT_FILE = "waypost.toml"


# For one server, for a cluster, and for servers that sentinels watch over; rediss is Redis over TLS.
REDIS_SCHEMES = tuple(f"{tls}{kind}" for tls in ("redis", "rediss") for kind in ("", "+cluster", "+sentinel"))


def _read_redis(text: str) -> SecretUrl:
    if text and text.partition(":")[0] not in REDIS_SCHEMES:
        raise ValueError("this is not the URL of a Redis; write it like redis://user:password@host:6379/0")
    return SecretUrl(text)


def is_mongodb(url: str) -> bool:
    return url.partition(":")[0] in {"mongodb", "mongodb+srv"}


def is_postgres(url: str) -> bool:
    return url.partition(":")[0] in {"postgresql", "postgres"}


@dataclass(frozen=True)
class StorageSettings:
    data: str = setting("data", "./waypost-data", "folder for everything kept locally")
    store: str = setting(
        "store",
        "",
        "sqlite:///path, postgresql://… or, to import alone, mongodb://…; SQLite in the data folder when empty",
        SecretUrl,
    )

    jobs: str = setting(
        "jobs",
        "",
        "another store for jobs alone: postgresql://, mongodb://, redis:// or sqlite:///; the store when empty",
        SecretUrl,
    )

    analytics: str = setting(
        "analytics",
        "",
        "another store for visits and their counts: postgresql://… or sqlite:///path; the store when empty",
        SecretUrl,
    )

    redis: str = setting(
        "redis",
        "",
        "redis://…, redis+cluster://… or redis+sentinel://… for what a fleet shares in memory: budgets, so far",
        _read_redis,
    )

    @property
    def folder(self) -> Path:
        return Path(self.data).absolute()

    @property
    def store_url(self) -> str:
        return self.store or f"sqlite:///{self.folder / 'waypost.db'}"

    @property
    def on_server(self) -> bool:
        """Whether the store is on a server, which many machines may share, and not a file on this one."""
        return self.in_mongodb or is_postgres(self.store_url)

    @property
    def in_mongodb(self) -> bool:
        """Whether the store is MongoDB, which has all that importing needs, but no links."""
        return is_mongodb(self.store_url)


def _read_patterns(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


@dataclass(frozen=True)
class SourcesSettings:
    """Sources that are described in files; Open Charge Map is there without one."""

    patterns: tuple[str, ...] = setting(
        "sources", "", "files of sources, such as sources/*.toml; several with commas", _read_patterns
    )


_KINDS: Mapping[str, type[WindowsSchedule | FullSchedule | SnapshotSchedule | PruneSchedule]] = {
    kind.what: kind for kind in (WindowsSchedule, FullSchedule, SnapshotSchedule, PruneSchedule)
}


def _read_kind(text: str) -> str:
    if text not in _KINDS:
        raise ValueError(
            f"{text[:40]!r} cannot be scheduled; choose one of {', '.join(_KINDS)}.{did_you_mean(text, _KINDS)}"
        )
    return text


@dataclass(frozen=True)
class ScheduleKind:
    """What every table of a schedule begins with; the kind says which other fields it has."""

    what: str = setting("what", "", "what is scheduled", _read_kind)


@dataclass(frozen=True)
class Settings:
    storage: StorageSettings
    jobs: JobsSettings
    events: EventsSettings
    budget: BudgetSettings
    importing: ImportingSettings
    ocm: OcmSettings
    sources: Mapping[str, Definition]
    serving: ServingSettings
    sharing: SharingSettings
    visits: VisitsSettings
    keys: KeysSettings
    web: WebSettings
    redirect: RedirectSettings
    telemetry: TelemetrySettings
    schedules: Mapping[str, Schedule]
    found: Mapping[str, Found] = field(repr=False, compare=False)
    warnings: tuple[str, ...] = field(default=(), repr=False, compare=False)
    file: Path | None = None

    @property
    def snapshots(self) -> Path:
        return Path(self.serving.snapshots) if self.serving.snapshots else self.storage.folder / "snapshots"

    @property
    def spool(self) -> Path:
        return self.storage.folder / "spool"


def load_settings(
    flags: Mapping[str, str] | None = None, environ: Mapping[str, str] | None = None, file: str | None = None
) -> Settings:
    """`flags` are by setting name. `file` must exist; without it, waypost.toml is read if there is one.

    A flag `source` that is the path of a file adds that source to the configured ones.
    """
    flags = flags or {}
    chosen = _choose_file(file)
    configuration = Configuration(flags, os.environ if environ is None else environ, chosen)
    sources = _read_sources(configuration, flags.get("source", ""))
    settings = Settings(
        storage=configuration.room(StorageSettings),
        jobs=configuration.room(JobsSettings),
        events=configuration.room(EventsSettings),
        budget=_read_budgets(configuration, sources),
        importing=configuration.room(ImportingSettings),
        ocm=configuration.room(OcmSettings),
        sources=sources,
        serving=configuration.room(ServingSettings),
        sharing=configuration.room(SharingSettings),
        visits=configuration.room(VisitsSettings),
        keys=configuration.room(KeysSettings),
        web=configuration.room(WebSettings),
        redirect=configuration.room(RedirectSettings),
        telemetry=configuration.room(TelemetrySettings),
        schedules={name: _read_schedule(configuration, name) for name in configuration.tables("schedule")},
        found=configuration.found,
        file=chosen,
    )
    configuration.refuse_unknown_names()
    return replace(settings, warnings=tuple(configuration.unknown_variables()))


def is_source_file(name: str) -> bool:
    """Whether a source is given as the path of its file, and not by its name."""
    return name.endswith(".toml")


def _read_sources(configuration: Configuration, asked: str) -> Mapping[str, Definition]:
    patterns = configuration.room(SourcesSettings).patterns
    return load_definitions([*patterns, asked] if is_source_file(asked) else patterns)


def _read_budgets(configuration: Configuration, sources: Mapping[str, Definition]) -> BudgetSettings:
    defaults = {"ocm": DEFAULT_BUDGET, **{name: source.budget for name, source in sources.items()}}
    rooms = {name: configuration.room(limit_settings(name, default)) for name, default in defaults.items()}
    limits = {name: (*room.limit, *room.all_keys) for name, room in rooms.items()}
    return BudgetSettings(**asdict(configuration.room(BudgetRoom)), limits=limits)


def _read_schedule(configuration: Configuration, name: str) -> Schedule:
    table = f"schedule.{name}"
    return configuration.room(_KINDS[configuration.room(ScheduleKind, table).what], table)


def _choose_file(file: str | None) -> Path | None:
    if file is not None:
        if not Path(file).is_file():
            raise SettingError(f"there is no file {file}")
        return Path(file)
    return Path(DEFAULT_FILE) if Path(DEFAULT_FILE).is_file() else None
