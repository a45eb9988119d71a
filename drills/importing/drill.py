"""The drill on one store, from its first process to its verdicts."""

import asyncio
import random
import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from drills.importing.acts import Act, Stage, play
from drills.importing.checks.budget import check_rate, check_refusals
from drills.importing.checks.ending import check_imports, check_workers
from drills.importing.checks.equality import check_equality
from drills.importing.checks.events import check_events, check_removals
from drills.importing.checks.keeping_on import check_comeback, check_pace
from drills.importing.checks.stations import check_stations
from drills.importing.checks.tried import check_tried, tried
from drills.importing.checks.waste import check_waste
from drills.importing.fleet import Fleet
from drills.importing.imports import Done, Importing
from drills.importing.mishaps import Mischief
from drills.importing.plan import Plan
from drills.importing.probes import Probes
from drills.importing.programs import run
from drills.importing.provider import provider
from drills.importing.requests import read_requests
from drills.importing.stations import RATE as STATIONS_RATE
from drills.importing.stations import SOURCE, stations
from drills.importing.stores import stores, workers_for
from drills.importing.talking import say
from drills.importing.verdicts import Verdict
from drills.importing.versions import read_versions
from drills.importing.view import view
from drills.series import TooLong

_MOST_EVENTS = 10_000_000


@dataclass(frozen=True)
class _Found:
    """What there is to judge, beside the stage."""

    imports: Sequence[Done]
    changes: Mapping[str, int] = field(default_factory=dict)


async def drill(store: str, plan: Plan, folder: Path) -> Sequence[Verdict]:
    """Everything that it starts has ended when it returns; what it wrote is in the folder."""
    async with AsyncExitStack() as stack:
        say(f"{store}: starting its servers and a provider with {plan.places:,} places; budget: {plan.budget_in}")
        kept = stack.enter_context(stores(store, folder, plan.budget_in))
        at = await stack.enter_async_context(provider(folder, plan))
        other = stack.enter_context(stations(folder, plan.places, plan.seed))
        env = {
            "WAYPOST_DATA": str(folder / "data"),
            "WAYPOST_SOURCES": str(folder / "sources" / "*.toml"),
            **kept.env,
            **plan.settings(at.url),
        }
        (folder / "waypost.toml").write_text(plan.config, encoding="utf-8")
        await run(folder, "db", "migrate", env=env)
        fleet = Fleet(folder, env, workers_for(store, plan.workers))
        stack.callback(fleet.kill_all)
        seen = await stack.enter_async_context(view(env))
        rng = random.Random(plan.seed)  # noqa: S311 - decides who is killed, guards nothing
        mischief = Mischief(fleet, seen, plan, rng, kept.server)
        stage = Stage(store, plan, at, other, seen, fleet, mischief, Importing(folder, env))
        with Probes(at.url) as probes, Probes(other.url) as other_probes:
            try:
                found = await _play(stage)
            except TooLong as failure:
                return _judge_without_end(stage, failure, probes)
        return await _judge(stage, found, probes, other_probes)


async def _play(stage: Stage) -> _Found:
    await stage.fleet.start()
    say(f"{stage.store}: {stage.fleet.size} workers are at work")
    await stage.provider.change(stage.plan.changes)
    async with stage.changing_stations():
        first = await play(stage, Act(0, "first import"))
        second = await play(stage, Act(1, "refresh, with windows beside it", has_windows=True))
    made = await stage.provider.rest()
    say(f"{stage.store}: the providers rest after " + ", ".join(f"{count:,} {what}" for what, count in made.items()))
    await stage.provider.quiet()
    last = await play(stage, Act(2, "last refresh"))
    await stage.provider.quiet()
    stage.fleet.end()
    return _Found([first, second, last], made)


def _judge_without_end(stage: Stage, failure: TooLong, probes: Probes) -> Sequence[Verdict]:
    """What can be said of one that did not come to its end, which says why."""
    requests = read_requests(stage.provider.log)
    return [
        Verdict("it comes to its end", kept=False, found=str(failure)),
        check_rate(requests, stage.plan.rate, probes, stage.mischief.mishaps, stage.provider.absences),
        check_pace(requests, stage.samples, stage.plan.rate, stage.held_up(requests)),
        check_workers(stage.fleet.logs(), stage.fleet.deserters),
    ]


async def _judge(stage: Stage, found: _Found, probes: Probes, other_probes: Probes) -> Sequence[Verdict]:
    say(f"{stage.store}: comparing the store with the provider")
    began = time.monotonic()
    folder = stage.importing.folder
    ours, theirs = folder / "places.ndjson", folder / "provider.ndjson"
    await asyncio.gather(
        stage.provider.export(theirs),
        run(folder, "place", "export", "--output", str(ours), env=stage.importing.env),
    )
    requests, mishaps = read_requests(stage.provider.log), stage.mischief.mishaps
    absences, others = stage.provider.absences, stage.stations.requests
    (folder / "mishaps.json").write_bytes(msgspec.json.encode(mishaps))
    (folder / "samples.json").write_bytes(msgspec.json.encode((stage.samples, absences)))
    (folder / "stations.json").write_bytes(msgspec.json.encode(others))
    (folder / "probes.json").write_bytes(msgspec.json.encode(probes.probes))
    events = await stage.view.stores.outbox.waiting(_MOST_EVENTS)
    verdicts = [
        check_tried(tried(requests, others, mishaps, absences, found.changes, stage.stations.made), stage.plan),
        check_imports(found.imports, stage.windows),
        check_equality(theirs, ours),
        check_stations(stage.stations.records(), ours),
        check_events(events, await read_versions(stage.view.url)),
        check_removals(events, absences),
        check_rate(requests, stage.plan.rate, probes, mishaps, absences),
        check_rate(others, STATIONS_RATE, other_probes, mishaps, of=SOURCE),
        check_refusals(requests, mishaps, probes),
        check_pace(requests, stage.samples, stage.plan.rate, stage.held_up(requests)),
        check_comeback(requests, absences),
        check_waste(requests, mishaps, found.imports),
        check_workers(stage.fleet.logs(), stage.fleet.deserters),
    ]
    say(f"{stage.store}: compared in {time.monotonic() - began:.1f} s")
    return verdicts
