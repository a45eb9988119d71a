"""`make bench-links`: the whole comparison, or with `--small` a quick look at whether it still runs."""

import argparse
import asyncio
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.jobs.database import SETTINGS, Server, durable_postgres
from bench.links import report
from bench.links.backends import Backend, make_backends
from bench.links.creating import Created, measure_creation
from bench.links.explanation import EXPLANATION
from bench.links.filling import Filling
from bench.links.following import check_targets, measure_following, visits_lost
from bench.links.growth import Growth, Rounds
from bench.links.phrases import measure_phrases
from bench.links.report import Results
from bench.links.scale import Scale, small, whole
from bench.links.statistics import measure_statistics
from bench.links.systems import django
from bench.links.systems.nginx import nginx
from bench.links.systems.plain import NAME as PLAIN
from bench.links.systems.plain import plain
from bench.links.systems.waypost import name_of, serve, waypost
from bench.places import picture
from bench.places.serving import Found
from bench.places.systems.starting import has_peer
from waypost.bootstrap.stores import SharingStores
from waypost.sharing.links.link import Link

_RESULTS = Path(__file__).parent / "RESULTS.md"
_PICTURE = Path(__file__).parents[2] / "docs/images/links-growth.svg"
_DRAWN = picture.Words("Costs as links become more", "looking a phrase up, drawing one, and making a link", "links")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _machine() -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    return f"{os.cpu_count()} cores, {memory:.0f} GB of memory, Python {platform.python_version()}, load before {load}"


def main() -> None:
    options = argparse.ArgumentParser(prog="bench.links", description=__doc__)
    options.add_argument("--full", action="store_true", help="also with ten million links")
    options.add_argument("--visits", type=int, default=1_000_000, help="so many of one link (10000000 take an hour)")
    options.add_argument("--small", type=int, metavar="LINKS", help="so few, for a moment, and write nothing")
    chosen = options.parse_args()
    here, cores = _machine(), sorted(os.sched_getaffinity(0))[:2]
    scale = small(cores, chosen.small) if chosen.small else whole(cores, chosen.visits, full=chosen.full)
    with TemporaryDirectory(prefix="waypost-bench-", ignore_cleanup_errors=True) as name, durable_postgres() as server:
        found = asyncio.run(_measure(scale, server, Path(name), cores[0]))
    parts = [report.aims(found), report.ratios(found), report.following(found), report.creating(found)]
    parts += [report.growing(found), report.counting(found)]
    print("\n\n".join(parts))
    if not chosen.small:
        _PICTURE.write_text(picture.draw(_one_by_one(found.growth), _DRAWN), encoding="utf-8")
        _RESULTS.write_text(_document(parts, here, scale), encoding="utf-8")
        _say(f"written to {_RESULTS} and {_PICTURE}")


async def _measure(scale: Scale, server: Server, folder: Path, core: int) -> Results:
    async with AsyncExitStack() as stack:
        backends = {
            count: await asyncio.to_thread(make_backends, server, folder, f"links_{count}") for count in scale.links
        }
        both = list(backends[scale.served].values())
        rounds, served = Rounds(), {}
        for name in backends[scale.served]:
            # One after the other: the largest stores of both together would not stay in the memory of a small machine.
            growing = {count: await _fill(made[name], count, scale, stack) for count, made in backends.items()}
            await rounds.measure(name, growing, scale.times)
            served[name] = growing[scale.served]
        for count, found in rounds.middle.items():
            _say(f"{count:,} links: " + ", ".join(f"{kind} {micros:.1f} us" for kind, micros in found.items()))
        phrases = measure_phrases(scale.phrases)
        _say("a phrase: " + ", ".join(f"{language} {micros:.1f} us" for language, micros in phrases.items()))
        samples = {name: filling.sample[: scale.followed] for name, (filling, _) in served.items()}
        followed, lost = await asyncio.to_thread(_follow, both, samples, server, folder, scale, core)
        for filling, _ in served.values():
            await filling.warm()
        created = await asyncio.to_thread(_create, both, folder, scale, core)
        counting = {}
        for name, (_, stores) in served.items():
            counting[name] = await measure_statistics(stores.visits, scale.visits)
            _say(f"counts: {name} {counting[name].per_second:,.0f} visits/s")
    return Results(followed, lost, created, phrases, rounds.middle, counting)


async def _fill(backend: Backend, count: int, scale: Scale, stack: AsyncExitStack) -> tuple[Filling, SharingStores]:
    stores = await stack.enter_async_context(backend.stores())
    filling = Filling(backend, stores, sample=scale.asked)
    await filling.fill(count)
    _say(f"{backend.name}: {count:,} links are there")
    return filling, stores


def _one_by_one(growth: Growth) -> Growth:
    """More lines than these could not be told apart."""
    return {
        count: {kind: each for kind, each in kinds.items() if "bulk" not in kind} for count, kinds in growth.items()
    }


def _follow(
    both: Sequence[Backend],
    samples: Mapping[str, Sequence[Link]],
    server: Server,
    folder: Path,
    scale: Scale,
    core: int,
) -> tuple[dict[str, Found], dict[str, int]]:
    """What was found, and how many visits Waypost's servers lost."""
    links = samples[both[0].name]
    systems = [*(waypost(backend, samples[backend.name]) for backend in both), nginx(folder / "nginx", links)]
    systems.append(plain(folder / "plain", links))
    if scale.with_peers and has_peer(django.PACKAGE):
        systems.append(django.django(server.new_database("django"), folder / "django", links))
    elif scale.with_peers:
        _say(f"{django.NAME} is left out: it is not installed; `make bench-links` does that")
    with ExitStack() as stack:
        up = {system.name: (system, stack.enter_context(system.serve(core))) for system in systems}
        check_targets(up)
        found = measure_following(up, scale.effort, _say)
        lost = {name_of(backend): visits_lost(up[name_of(backend)][1]) for backend in both}
    return found, lost


def _create(both: Sequence[Backend], folder: Path, scale: Scale, core: int) -> dict[str, Created]:
    with ExitStack() as stack:
        up = {name_of(backend): stack.enter_context(serve(backend, "links", core)) for backend in both}
        in_bulk = list(up)
        up[PLAIN] = stack.enter_context(plain(folder / "plain-too", []).serve(core))
        return measure_creation(up, scale.effort, targets=scale.targets, bulk=scale.bulk, in_bulk=in_bulk, say=_say)


def _document(parts: list[str], here: str, scale: Scale) -> str:
    arguments = " ".join(each for each in sys.argv[1:] if each != "--full")
    command = "make bench-links" + " BENCH_FULL=1" * ("--full" in sys.argv) + f' ARGS="{arguments}"' * bool(arguments)
    settings = ", ".join(f"{name} {value}" for name, value in SETTINGS.items())
    made = f"{datetime.now(UTC):%Y-%m-%d}, `{command}`, {scale.served:,} links, on {here}. PostgreSQL: {settings}."
    drawn = "![Costs as links become more](../../docs/images/links-growth.svg)"
    return "\n\n".join(["# Links, side by side", made, EXPLANATION, *parts, drawn]) + "\n"


if __name__ == "__main__":
    main()
