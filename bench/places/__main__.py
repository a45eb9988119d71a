"""`make bench-places`: the whole comparison, or with `--small` a quick look at whether it still runs."""

import argparse
import os
import platform
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.jobs.database import SETTINGS
from bench.places import picture, report
from bench.places.building import build, measure_building
from bench.places.generate import Written, write
from bench.places.growth import Growing, Growth, measure_growth
from bench.places.memory import Memory, memory_of
from bench.places.questions import Kind, Question, questions
from bench.places.readers import measure_readers
from bench.places.serving import Effort, Found, answer_sizes, check_agreement, measure
from bench.places.systems import Serving, Stock, System
from bench.places.systems.nginx import nginx
from bench.places.systems.postgis import postgis
from bench.places.systems.pygeoapi import pygeoapi
from bench.places.systems.sqlite import sqlite
from bench.places.systems.starting import has_peer
from bench.places.systems.tipg import tipg
from bench.places.systems.waypost import waypost

_RESULTS = Path(__file__).parent / "RESULTS.md"
_PICTURE = Path(__file__).parents[2] / "docs/images/places-growth.svg"
_DRAWN = picture.Words(
    "Time of an answer as places become more", "by id, in a box of about 100, and the nearest 10", "places"
)
# A place takes so much in the file, in the snapshot, and while the one is made of the other.
_BYTES_A_PLACE = 2_500
_LARGEST = 10_000_000

_EXPLANATION = """\
Invented places, clustered like cities, served by one process on one core, and asked from another core; all systems in
one run and in turns, the middle of three rounds. Read the ratios: figures change with the machine.

- *Requests/s*: the most with 4, 16 or 64 connections, each asking again as soon as it is answered (wrk). Tens of
  thousands of different questions come one after the other, so that nobody answers from a memory of earlier ones.
- *Of its core*: how much of it the server used meanwhile. With less than all, somebody else was the bottleneck: the
  one who asks, when answers are large, or the database.
- *At 70 %*: that part of each system's own peak as a fixed rate (`h2load --h1 --rps`), over up to 16 connections, so
  many that each asks a hundred times a second or more: h2load looks every 10 ms whose turn it is. By id all connections
  ask for the same places one after the other; otherwise each has questions of its own.
- *Box of 100*: with about a hundred places, all in the answer. *Text prefix*: an operator and the beginning of a
  street, the first 10. *Tile*: zoom 14, where all draw single places. Nobody compresses.
- *Waypost*: `waypost serve places`.
- *nginx*: the ceiling. One worker process, `sendfile on`, sends one static file as large as Waypost's answer is on
  average.
- *SQLite*: R*Tree and FTS5 behind FastAPI and uvicorn, with each place as ready bytes, mapped, without a thread pool.
- *tipg*, *pygeoapi*: one uvicorn process with uvloop and httptools, over PostGIS on the same machine, which may use
  both cores; places lie along a Hilbert curve, with indexes for ids, geometries and beginnings of names, vacuumed,
  without JIT and with cheap random reads. tipg has ten connections and reads its catalogue once; pygeoapi has
  SQLAlchemy's pool. Their text question is `name LIKE '…%'`. Neither can be asked for the nearest.
- All but nginx gave the same places for twenty ids, boxes and points each.
- *Build*: `waypost snapshot build --from` one GeoJSON Feature a line, with starting Python; with one process and with
  two, and in the same rounds a pure loop whose count is shared by as many processes. Memory is that of all processes
  together, a page of several counted once.
- *Open to ready*: of a fresh process whose snapshot is in the page cache: checksums, mapping, and each query once.
  *Start to ready*: from starting `waypost serve places` on one core to the first good answer of `/readyz`.
- *Copies of the pages*: the snapshot's pages in memory that all readers have together, to those that one has.
- *What misses its aim*: nginx gives the kernel a file that lies there ready. Waypost reads a question, finds a hundred
  places and puts some twenty slices of the map together; each step is a call into compiled code, but it is Python that
  calls, and all calls together take several times as long as the write itself. For a text it counts all matches, also
  where both words have tens of thousands of places, and gives the first ten. A tile is encoded when it is asked for, as
  PostGIS does it in C."""


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _machine() -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    return f"{os.cpu_count()} cores, {memory:.0f} GB of memory, Python {platform.python_version()}, load before {load}"


@dataclass(frozen=True)
class Scale:
    """How much of everything."""

    places: int
    growth: tuple[int, ...]
    sample: int
    questions: int
    effort: Effort
    times: int
    loop: int
    readers: int
    touched: int
    with_peers: bool


def _whole(cores: Sequence[int], *, full: bool) -> Scale:
    places = 1_000_000
    return Scale(
        places=places,
        growth=(places // 10, places, *([_LARGEST] if full else [])),
        sample=20_000,
        questions=40_000,
        effort=Effort(connections=(4, 16, 64), seconds=2, rounds=3, held_seconds=2, core=cores[-1], patience=20),
        times=3,
        loop=150_000_000,
        readers=10,
        touched=2_000,
        with_peers=True,
    )


def _small(cores: Sequence[int], places: int, *, with_peers: bool) -> Scale:
    return Scale(
        places=places,
        growth=(places,),
        sample=200,
        questions=500,
        effort=Effort(
            connections=(8,),
            seconds=1 if with_peers else 0.1,
            rounds=1,
            held_seconds=0.1,
            core=cores[-1],
            patience=0,
        ),
        times=1,
        loop=100_000,
        readers=2,
        touched=50,
        with_peers=with_peers,
    )


def main() -> None:
    options = argparse.ArgumentParser(prog="bench.places", description=__doc__)
    options.add_argument(
        "--full", action="store_true", help="also with ten million places, as far as the disk has room"
    )
    options.add_argument("--small", type=int, metavar="PLACES", help="so few, for a moment, and write nothing")
    options.add_argument("--peers", action="store_true", help="with --small: also those over PostGIS")
    chosen = options.parse_args()
    machine, cores = _machine(), sorted(os.sched_getaffinity(0))[:2]
    with TemporaryDirectory(prefix="waypost-bench-", ignore_cleanup_errors=True) as name:
        if chosen.small:
            scale = _small(cores, chosen.small, with_peers=chosen.peers)
        else:
            scale = _whole(cores, full=chosen.full)
        parts, growth = _compare(scale, Path(name), cores[0])
    print("\n\n".join(parts))
    if not chosen.small:
        _PICTURE.write_text(picture.draw(growth, _DRAWN), encoding="utf-8")
        _RESULTS.write_text(_document(parts, machine, scale), encoding="utf-8")
        _say(f"written to {_RESULTS} and {_PICTURE}")


def _compare(scale: Scale, folder: Path, core: int) -> tuple[list[str], Growth]:
    written = write(folder / "places.ndjson", scale.places, sample=scale.sample)
    _say(f"{scale.places:,} places, {written.path.stat().st_size / 2**20:,.0f} MiB of GeoJSON")
    stock = Stock(folder, written.path, folder / "data")
    built = measure_building(written.path, stock.snapshots, rounds=scale.times, loop=scale.loop, say=_say)
    growth = dict(_growth(scale, written, stock, folder))
    asked = questions(written, scale.questions)
    readers = measure_readers(stock, asked[: scale.touched], count=scale.readers, times=scale.times, core=core)
    served, reader = _serve(stock, asked, scale, core)
    return [
        report.aims(served, built, readers, reader),
        report.ratios(served),
        report.figures(served),
        report.building(built, scale.places),
        report.reading(readers),
        report.growing(growth),
    ], growth


def _growth(scale: Scale, written: Written, stock: Stock, folder: Path) -> Iterator[tuple[int, dict[Growing, float]]]:
    for count in scale.growth:
        if count == scale.places:
            found = measure_growth(written, stock.snapshots)
        elif shutil.disk_usage(folder).free < count * _BYTES_A_PLACE:
            _say(f"growth: {count:,} places are left out, because there is no room for them in {folder}")
            continue
        else:
            found = _growth_of(count, folder / "other")
        _say(f"growth: {count:,} places, " + ", ".join(f"{kind} {micros:.1f} us" for kind, micros in found.items()))
        yield count, found


def _growth_of(count: int, folder: Path) -> dict[Growing, float]:
    folder.mkdir()
    try:
        written = write(folder / "places.ndjson", count, sample=2_000)
        build(written.path, folder / "data", processes=2)
        return measure_growth(written, folder / "data")
    finally:
        shutil.rmtree(folder)


def _serve(
    stock: Stock, asked: Sequence[Question], scale: Scale, core: int
) -> tuple[dict[Kind, dict[str, Found]], Memory]:
    """What was found, and the memory of Waypost's server after all of it."""
    with ExitStack() as stack:
        ours = waypost(stock)
        running = stack.enter_context(ours.serve(core))
        up: dict[str, tuple[System, Serving]] = {ours.name: (ours, running)}
        sizes = answer_sizes(running.url, ours.paths, asked)
        _say("answers on average: " + ", ".join(f"{kind} {size:,} bytes" for kind, size in sizes.items()))
        others = [nginx(stock.folder / "nginx", sizes), sqlite(stock)]
        if scale.with_peers:
            others += _peers(stack, stock)
        for system in others:
            up[system.name] = system, stack.enter_context(system.serve(core))
            _say(f"{system.name} is up")
        check_agreement(up, asked)
        return measure(up, asked, scale.effort, _say), memory_of(running.pid, stock.snapshots)


def _peers(stack: ExitStack, stock: Stock) -> list[System]:
    found = [each for each in (tipg, pygeoapi) if has_peer(each.__name__)]
    for each in {tipg, pygeoapi} - set(found):
        _say(f"{each.__name__} is left out: it is not installed; `make bench-places` does that")
    if not found:
        return []
    database = stack.enter_context(postgis(stock.places))
    return [each(database, stock.folder / each.__name__) for each in found]


def _document(parts: list[str], machine: str, scale: Scale) -> str:
    command = f"make bench-places{' BENCH_FULL=1' if '--full' in sys.argv else ''}"
    settings = ", ".join(f"{name} {value}" for name, value in SETTINGS.items())
    made = f"{datetime.now(UTC):%Y-%m-%d}, `{command}`, {scale.places:,} places, on {machine}. PostgreSQL: {settings}."
    drawn = "![The time of an answer as places become more](../../docs/images/places-growth.svg)"
    return "\n\n".join(["# Places served, side by side", made, _EXPLANATION, *parts, drawn]) + "\n"


if __name__ == "__main__":
    main()
