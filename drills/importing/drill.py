"""The drill on one store, from its first process to its verdicts."""

import asyncio
import random
import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import msgspec

from drills.importing.checks.budget import check_faults, check_rate, check_refusals
from drills.importing.checks.ending import check_imports, check_workers
from drills.importing.checks.equality import check_equality
from drills.importing.checks.events import check_events
from drills.importing.checks.waste import check_overtaking, check_waste
from drills.importing.fleet import Fleet
from drills.importing.imports import Done, import_everything
from drills.importing.mishaps import Mischief
from drills.importing.plan import Plan
from drills.importing.probes import Probes
from drills.importing.programs import run
from drills.importing.provider import Provider, provider
from drills.importing.requests import read_requests
from drills.importing.stores import STORES, workers_for
from drills.importing.talking import say
from drills.importing.verdicts import Verdict
from drills.importing.versions import read_versions
from drills.importing.view import View, view

_MOST_EVENTS = 10_000_000


@dataclass(frozen=True)
class _Scene:
    store: str
    folder: Path
    env: Mapping[str, str]
    plan: Plan
    provider: Provider
    view: View
    fleet: Fleet
    mischief: Mischief
    probes: Probes


async def drill(store: str, plan: Plan, folder: Path) -> Sequence[Verdict]:
    """Everything that it starts has ended when it returns; what it wrote is in the folder."""
    async with AsyncExitStack() as stack:
        say(f"{store}: starting its servers and a provider with {plan.places:,} places")
        stores = stack.enter_context(STORES[store](folder))
        at = await stack.enter_async_context(provider(folder, plan))
        env = {"WAYPOST_DATA": str(folder / "data"), **stores, **plan.settings(at.url)}
        await run(folder, "db", "migrate", env=env)
        fleet = Fleet(folder, env, workers_for(store, plan.workers))
        stack.callback(fleet.kill_all)
        seen = await stack.enter_async_context(view(env))
        rng = random.Random(plan.seed)  # noqa: S311 - decides who is killed, guards nothing
        mischief = Mischief(fleet, seen, plan, rng)
        scene = _Scene(store, folder, env, plan, at, seen, fleet, mischief, Probes(at.url))
        with scene.probes:
            imports = await _play(scene)
        return await _judge(scene, imports)


async def _play(scene: _Scene) -> Sequence[Done]:
    await scene.fleet.start()
    say(f"{scene.store}: {scene.fleet.size} workers are at work")
    await scene.provider.change(scene.plan.changes)
    first = await _import(scene, "first import")
    made = await scene.provider.rest()
    say(f"{scene.store}: the provider rests after " + ", ".join(f"{count:,} {what}" for what, count in made.items()))
    await scene.provider.quiet()
    second = await _import(scene, "refresh")
    await scene.provider.quiet()
    scene.fleet.end()
    return [first, second]


async def _import(scene: _Scene, title: str) -> Done:
    title = f"{scene.store}, {title}"
    return await import_everything(
        title, scene.folder, scene.env, scene.view, scene.mischief, seconds=scene.plan.seconds
    )


async def _judge(scene: _Scene, imports: Sequence[Done]) -> Sequence[Verdict]:
    say(f"{scene.store}: comparing the store with the provider")
    began = time.monotonic()
    ours, theirs = scene.folder / "places.ndjson", scene.folder / "provider.ndjson"
    await asyncio.gather(
        scene.provider.export(theirs),
        run(scene.folder, "place", "export", "--output", str(ours), env=scene.env),
    )
    requests, mishaps = read_requests(scene.provider.log), scene.mischief.mishaps
    (scene.folder / "mishaps.json").write_bytes(msgspec.json.encode(mishaps))
    events = await scene.view.stores.outbox.waiting(_MOST_EVENTS)
    verdicts = [
        check_imports(*imports),
        check_equality(theirs, ours),
        check_events(events, await read_versions(scene.view.url)),
        check_rate(requests, scene.plan.rate, scene.probes),
        check_refusals(requests, mishaps, scene.probes),
        check_waste(requests, mishaps, imports),
        check_overtaking(mishaps),
        check_faults(requests),
        check_workers(scene.fleet.logs(), scene.fleet.deserters),
    ]
    say(f"{scene.store}: compared in {time.monotonic() - began:.1f} s")
    return verdicts
