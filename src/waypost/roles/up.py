"""`waypost up`: everything in one process, on the embedded defaults if nothing is configured."""

import asyncio
import socket
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Literal

import msgspec

from waypost.bootstrap.budgets import open_budget
from waypost.bootstrap.keys import open_key_ring
from waypost.bootstrap.sharing import ADDRESS
from waypost.bootstrap.sources import open_source
from waypost.bootstrap.stores import Stores, open_sharing_stores
from waypost.importing.imports import ImportReport
from waypost.importing.plan import plan_import
from waypost.importing.progress import Progress
from waypost.importing.source import Scope
from waypost.importing.start import PROVIDER, SIMULATED
from waypost.kernel.clock import utc_now
from waypost.kernel.errors import AskedWrongly, TransientError, WaypostError
from waypost.kernel.ids import new_id
from waypost.kernel.stopping import Stop
from waypost.kernel.tasks import background
from waypost.roles.kit.background_upkeep import retention
from waypost.roles.kit.file_limit import room_for_connections
from waypost.roles.kit.folder_lock import alone_in
from waypost.roles.kit.health_port import store_probe
from waypost.roles.kit.http_server import OnUp, address, answer, listen
from waypost.roles.kit.importer_assembly import make_importer
from waypost.roles.kit.link_parts_assembly import link_parts
from waypost.roles.kit.simulated_provider import simulated
from waypost.roles.kit.snapshot_build import build_snapshot
from waypost.roles.kit.snapshot_watcher import SnapshotWatcher
from waypost.scaling.fact_store import Facts
from waypost.scaling.ratelimit.limits import parse_limits
from waypost.settings import Settings
from waypost.simulator.geography import COUNTRIES
from waypost.telemetry.logs import get_logger
from waypost.web.app import make_app
from waypost.web.http.authentication import WriteGuard
from waypost.web.http.local_trust import LocalTrust
from waypost.web.http.open_connections import ConnectionLimits

log = get_logger("up")

_SEED = 1
_DEFAULT_PLACES = 2000
_SIMULATED_BUDGET = "50/s"
_SIMULATED_ATTRIBUTION = "Simulated places, invented by Waypost"
_RETRY_SECONDS = 30.0
_REBUILD_SECONDS = 15.0


class MixedProviders(AskedWrongly):
    """The folder's places come from somewhere else; ids of two providers would be mixed up."""


class ScopeNeeded(AskedWrongly):
    """A real provider is not asked for the whole world by default."""


class ImportState(msgspec.Struct):
    """How the import stands, as the page shows it."""

    status: Literal["waiting", "running", "done", "failed"] = "waiting"
    shards_done: int = 0
    shards_total: int = 0
    places: int = 0
    error: str | None = None

    def on_progress(self, progress: Progress) -> None:
        self.shards_done, self.shards_total = progress.shards_done, progress.shards_total
        self.places = progress.places


class PageStatus(msgspec.Struct, rename={"importing": "import"}):
    generation: str | None
    places: int
    importing: ImportState
    writable: bool
    attribution: tuple[str, ...]


@dataclass(frozen=True)
class Wish:
    """What was asked for on the command line."""

    scope: Scope | None
    places: int | None
    moves_on: bool


async def up(settings: Settings, wish: Wish, stop: Stop, on_up: OnUp) -> None:
    opening = open_sharing_stores(settings)
    async with AsyncExitStack() as stack:
        stack.enter_context(alone_in(settings.storage.folder))
        sock = stack.enter_context(listen(settings.web.host, settings.web.port, moves_on=wish.moves_on))
        stores = await stack.enter_async_context(opening)
        settings, scope = await _choose_provider(settings, wish, stores.facts, stack)
        # The lock says that no other `up` runs on this folder: no process works on what an earlier one held.
        # What kills `up` goes dead sooner than what loses workers of a fleet: a person has to start it each time.
        await stores.jobs.release_owner(_owner(settings), max_vanished=settings.jobs.max_attempts)
        await stores.facts.set(ADDRESS, address(sock))

        watcher, state = SnapshotWatcher(settings), ImportState()
        await watcher.look()
        links = await stack.enter_async_context(link_parts(settings, stores))
        keys = await stack.enter_async_context(open_key_ring(settings.keys, stores.keys))
        guard = WriteGuard(LocalTrust.of(settings.web), keys)

        async def status() -> PageStatus:
            generation = watcher.live.generation if watcher.live.is_open else None
            name, count = (generation.name, generation.count) if generation else (None, 0)
            attribution = generation.manifest.attribution if generation else ()
            return PageStatus(name, count, state, guard.writable, attribution)

        app = make_app(
            probes={"snapshot": watcher.probe, "store": store_probe(stores.facts)},
            guard=guard,
            places=watcher.part,
            links=links,
            status=status,
        )
        bringing = Bringing(settings, stores, watcher, state, stop)
        await stack.enter_async_context(background(bringing.bring(scope)))
        await stack.enter_async_context(background(watcher.keep_looking()))
        await stack.enter_async_context(background(retention(settings, stores).keep_forgetting()))
        limits = ConnectionLimits.of(settings.web, room_for_connections(settings.web.connections))
        await answer(app, sock, stop, on_up, limits)


@dataclass(frozen=True)
class Bringing:
    """Imports and builds while the role serves; whatever fails here is shown on the page and takes nothing down."""

    settings: Settings
    stores: Stores
    watcher: SnapshotWatcher
    state: ImportState
    stop: Stop

    async def bring(self, scope: Scope) -> None:
        while not self.stop.is_set():
            try:
                await self._bring_once(scope)
            except TransientError as error:
                self.state.error = error.outside
                log.warning("the import waits for the provider", message=str(error), again_in=_RETRY_SECONDS)
                await asyncio.wait([asyncio.create_task(self.stop.wait())], timeout=_RETRY_SECONDS)
            except WaypostError as error:
                self.state.status, self.state.error = "failed", error.outside
                log.error("the import failed", error=error.slug, message=str(error), next_step=error.next_step)  # noqa: TRY400 - expected, and told
                return
            else:
                return

    async def _bring_once(self, scope: Scope) -> None:
        self.state.status, self.state.error = "running", None
        async with (
            open_source("ocm", self.settings) as source,
            background(self._rebuild_now_and_then()),
            open_budget(self.settings) as budget,
        ):
            planned = plan_import(source, scope, import_id=str(new_id()), now=utc_now())
            importer = make_importer(self.settings, self.stores, source, budget, owner=_owner(self.settings))
            report = await importer.run(planned, self.stop, self.state.on_progress)
        if self.stop.is_set():
            return
        await self._build()
        self._conclude(report)

    async def _rebuild_now_and_then(self) -> None:
        """Builds a snapshot every few seconds, so that a long import shows what it has."""
        while True:
            await asyncio.sleep(_REBUILD_SECONDS)
            await self._build()

    async def _build(self) -> None:
        await build_snapshot(self.settings, self.stores)
        await self.watcher.look()

    def _conclude(self, report: ImportReport) -> None:
        dead = report.shards.get("dead", 0)
        self.state.status = "failed" if dead else "done"
        self.state.error = f"{dead} shards failed; see: waypost job list --status dead" if dead else None
        log.info("the import ended", **{name: count for name, count in msgspec.structs.asdict(report).items() if count})


def _owner(settings: Settings) -> str:
    """The name that leases are held under: the same at the next start, and different for folders that share a store."""
    return f"up@{socket.gethostname()}:{settings.storage.folder}"


async def _choose_provider(
    settings: Settings, wish: Wish, facts: Facts, stack: AsyncExitStack
) -> tuple[Settings, Scope]:
    """Returns settings and scope for the simulated provider, or for the real one if a key or an address was given.

    Raises MixedProviders if it is not the provider of last time.
    """
    known = await facts.get(PROVIDER)
    if settings.ocm.key or settings.found["ocm.url"].origin != "default":
        if wish.scope is None:
            raise ScopeNeeded(
                "with a real provider, say what to import", next_step="waypost up --country DE,FR", parameter="country"
            )
        _refuse_mixing(known, settings.ocm.url, settings)
        return settings, wish.scope
    places = wish.places or _remembered_places(known) or _DEFAULT_PLACES
    provider = f"{SIMULATED} {places} places"
    _refuse_mixing(known, provider, settings)
    await facts.set(PROVIDER, provider)
    url = await stack.enter_async_context(simulated(places, _SEED))
    scope = wish.scope or Scope(tuple(country.code for country in COUNTRIES))
    return _pointed_at(settings, url), scope


def _pointed_at(settings: Settings, url: str) -> Settings:
    """Points the settings at our simulated provider, which need not be spared unless a budget was asked for."""
    pointed = replace(settings, ocm=replace(settings.ocm, url=url, attribution=_SIMULATED_ATTRIBUTION))
    if settings.found["budget.ocm.limit"].origin != "default":
        return pointed
    return replace(pointed, budget=settings.budget.allowing("ocm", parse_limits(_SIMULATED_BUDGET)))


def _remembered_places(known: str | None) -> int | None:
    return int(known.removeprefix(SIMULATED).split()[0]) if known and known.startswith(SIMULATED) else None


def _refuse_mixing(known: str | None, wanted: str, settings: Settings) -> None:
    if known is not None and known != wanted:
        kept = "the store" if settings.storage.store else settings.storage.folder
        other = "store with WAYPOST_STORE" if settings.storage.store else "folder with --data"
        raise MixedProviders(
            f"the places in {kept} come from another provider ({known}; asked for: {wanted})",
            next_step=f"choose another {other}, so that their ids are not mixed up",
        )
