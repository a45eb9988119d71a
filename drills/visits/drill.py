"""The drill on one store, from its first process to its verdicts."""

import asyncio
import random
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from drills.importing.checks.ending import check_workers
from drills.importing.programs import Program, run
from drills.importing.talking import say
from drills.importing.verdicts import Verdict
from drills.series import TooLong
from drills.visits import checks
from drills.visits.asking import Client, Pace
from drills.visits.book import Book, Questions
from drills.visits.links import Link, make_links
from drills.visits.mishaps import Mischief
from drills.visits.plan import Plan
from drills.visits.servers import Fleet
from drills.visits.spool import SpoolFolder
from drills.visits.stores import STORES
from drills.visits.view import Counts, View, view

_SAY_SECONDS = 5.0
# Who ship together what the dead have left.
_FRESH = 2


@dataclass(frozen=True)
class _Scene:
    store: str
    folder: Path
    env: dict[str, str]
    plan: Plan
    links: Sequence[Link]
    fleet: Fleet
    spool: SpoolFolder
    book: Book
    mischief: Mischief


async def drill(store: str, plan: Plan, folder: Path) -> Sequence[Verdict]:
    """Everything that it starts has ended when it returns; what it wrote is in the folder."""
    with ExitStack() as stack:
        say(f"{store}: starting {plan.servers} servers and making {plan.links} links")
        stored = stack.enter_context(STORES[store](folder))
        # The log tells of a visit that is lost.
        env = {"WAYPOST_DATA": str(folder / "data"), "WAYPOST_LOG_LEVEL": "info", **stored}
        await run(folder, "db", "migrate", env=env)
        links = await _links(folder, env, plan.links)
        rng = random.Random(plan.seed)  # noqa: S311 - decides who is killed, guards nothing
        fleet = Fleet(folder, env)
        stack.callback(fleet.kill_all)
        spool = SpoolFolder(folder / "data" / "spool", folder / "copies")
        mischief = Mischief(fleet, spool, plan, rng)
        scene = _Scene(store, folder, env, plan, links, fleet, spool, Book(plan.redirects), mischief)
        await _play(scene, rng)
        return await _judge(scene)


async def _links(folder: Path, env: Mapping[str, str], count: int) -> list[Link]:
    maker = Program(folder, "maker", "serve", "links", "--port", "0", env=env)
    try:
        said = await maker.says(r"Waypost serves at (\S+)")
        return await asyncio.to_thread(make_links, said[1], count)
    finally:
        maker.kill()


async def _play(scene: _Scene, rng: random.Random) -> None:
    """At the end all servers are dead, the last of them killed with visits that they have not shipped."""
    plan, book = scene.plan, scene.book
    await scene.fleet.start(plan.servers)
    client = Client(book, Questions(scene.links, rng), Pace(plan.rate))
    say(f"{scene.store}: {plan.servers} servers are up; {plan.redirects:,} redirects to go")
    telling = asyncio.create_task(_tell(scene))
    try:
        async with scene.mischief.at_large(), asyncio.timeout(plan.seconds):
            await client.ask(scene.fleet, plan.connections)
            while not scene.mischief.has_tried_all:
                book.wanted += plan.rate
                await client.ask(scene.fleet, plan.connections)
    except TimeoutError:
        raise TooLong(f"after {plan.seconds:g} s only {book.answered.total():,} were answered") from None
    finally:
        telling.cancel()
    scene.fleet.kill_all()


async def _tell(scene: _Scene) -> None:
    while True:
        await asyncio.sleep(_SAY_SECONDS)
        answered, in_flight = scene.book.answered.total(), scene.book.in_flight.total()
        kills, stops = scene.mischief.kills, scene.mischief.stops
        say(f"{scene.store}: {answered:,} answered, {in_flight} in flight, {kills} killed, {stops} stopped")


async def _judge(scene: _Scene) -> Sequence[Verdict]:
    left = [path.stat().st_size for path in scene.spool.filled()]
    say(f"{scene.store}: fresh servers ship the {len(left)} segments that are left")
    await _ship(scene, scene.spool.segments())
    remaining = scene.spool.segments()
    async with view(scene.env, scene.links) as seen:
        counts, events = await seen.counts(), await seen.events()
        again = await _ship_again(scene, seen, counts)
        rebuilt = await _rebuild(scene, seen)
    return [
        checks.check_none_lost(scene.book, counts),
        checks.check_none_added(scene.book, counts, scene.mischief.kills),
        checks.check_ids(events, counts),
        again,
        rebuilt,
        checks.check_left(left, remaining),
        checks.check_answers(scene.book),
        checks.check_mishaps(scene.mischief),
        check_workers(scene.fleet.logs(), scene.fleet.deserters),
    ]


async def _ship(scene: _Scene, segments: Sequence[Path]) -> None:
    await scene.fleet.start(_FRESH)
    await scene.spool.until_gone(segments)
    scene.fleet.end()


async def _ship_again(scene: _Scene, seen: View, before: Mapping[str, Counts]) -> Verdict:
    segments = scene.spool.put_back()
    size = sum(path.stat().st_size for path in segments)
    say(f"{scene.store}: {len(segments)} segments are shipped once more")
    await _ship(scene, segments)
    found = f"{len(segments)} segments of {size:,} bytes, as they were at kills"
    return checks.check_same("what is shipped twice counts once", found, before, await seen.counts())


async def _rebuild(scene: _Scene, seen: View) -> Verdict:
    say(f"{scene.store}: all counts are made again from the visits")
    before = await seen.counts()
    await run(scene.folder, "link", "rebuild", env=scene.env)
    found = "`waypost link rebuild`, and all that can be asked for"
    return checks.check_same("counts are those that a rebuild gives", found, before, await seen.counts())
